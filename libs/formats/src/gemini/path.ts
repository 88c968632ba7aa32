import { SluiceError } from '@sluice/canonical';

/** What a path asks a model to do. */
export type Action = 'generateContent' | 'streamGenerateContent' | 'countTokens';

const beginning = /^\/+v1(?:beta)?\/+(?:models|tunedModels)\/+/;
/**
 * The actions are listed by name. With a general pattern, each of thousands of colons would be tried as the last one,
 * with a scan to the end of the path each time.
 */
const ending = /(?::|%3[Aa])(generateContent|streamGenerateContent|countTokens)$/;

/** The model and what to do with it. */
export interface Target {
  model: string;
  action: Action;
}

/**
 * Splits a raw path such as `/v1/models/org/name:v1:generateContent` at its last colon, which may be percent-encoded.
 * What is before it is the model, which may hold slashes and colons, encoded or not. Throws `not-found` for an unknown
 * action.
 */
export function parsePath(path: string): Target {
  const call = splitPath(path);
  if (!call) {
    throw new SluiceError(
      'not-found',
      'no such action of a model: the path ends in :generateContent, :streamGenerateContent or :countTokens',
    );
  }
  const model = decodeModel(call.model);
  if (model === '') throw new SluiceError('not-found', 'the path names no model');
  return { model, action: call.action };
}

/**
 * The action that a path names; absent for other paths. A caller who names one speaks this format, whatever the HTTP
 * method.
 */
export function readAction(path: string): Action | undefined {
  return splitPath(path)?.action;
}

/** The path of an action at an upstream. The model's name may include its collection. */
export function encodePath(model: string, stream: boolean): string {
  const name = model.split('/').map(encodeSegment).join('/');
  const collection = /^(?:models|tunedModels)\//.test(model) ? '' : 'models/';
  return `/v1beta/${collection}${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

/** The model is still encoded as in the path. Absent if the path ends in no action. */
function splitPath(path: string): Target | undefined {
  const [start] = beginning.exec(path) ?? [];
  const found = start === undefined ? null : ending.exec(path);
  if (start === undefined || !found) return undefined;
  // Safe to cast: the pattern matches only these three.
  return { model: path.slice(start.length, found.index), action: found[1] as Action };
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
