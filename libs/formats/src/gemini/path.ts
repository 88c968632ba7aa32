import { SluiceError } from '@sluice/canonical';

export type Action = 'generateContent' | 'streamGenerateContent' | 'countTokens';

const actions: ReadonlySet<string> = new Set<Action>([
  'generateContent',
  'streamGenerateContent',
  'countTokens',
]);
const actionPath = /^\/+v1(?:beta)?\/+(?:models|tunedModels)\/+(.*)(?::|%3[Aa])([^:/]*)$/s;

/** The model and what to do with it. */
export interface Target {
  model: string;
  action: Action;
}

/**
 * Splits a raw path such as `/v1/models/org/name:v1:generateContent` at its last colon, which may be percent-encoded; the
 * rest is the model, which may hold slashes and colons, encoded or not. Throws `not-found` for an unknown action.
 */
export function parsePath(path: string): Target {
  const [, rawModel = '', action = ''] = actionPath.exec(path) ?? [];
  if (!isAction(action)) {
    throw new SluiceError(
      'not-found',
      'no such action of a model: the path ends in :generateContent, :streamGenerateContent or :countTokens',
    );
  }
  const model = decodeModel(rawModel);
  if (model === '') throw new SluiceError('not-found', 'the path names no model');
  return { model, action };
}

/** The action that a path names; absent for other paths. Who names one speaks this format whatever the method was. */
export function readAction(path: string): Action | undefined {
  const action = actionPath.exec(path)?.[2] ?? '';
  return isAction(action) ? action : undefined;
}

/** Path of an action at an upstream, whose name of the model may say which collection it is in. */
export function encodePath(model: string, stream: boolean): string {
  const name = model.split('/').map(encodeSegment).join('/');
  const collection = /^(?:models|tunedModels)\//.test(model) ? '' : 'models/';
  return `/v1beta/${collection}${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

function isAction(text: string): text is Action {
  return actions.has(text);
}

function decodeModel(raw: string): string {
  try {
    return decodeURIComponent(raw).replace(/^(?:models|tunedModels)\//, '');
  } catch (cause) {
    throw new SluiceError('invalid-request', 'the model in the path is not percent-encoded UTF-8', {
      param: 'model',
      cause,
    });
  }
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment.toWellFormed()).replaceAll('%3A', ':');
}
