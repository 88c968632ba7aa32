import type { ProcessLine } from '../observation.ts';

/** Attempts by request id, as the ingresses logged them. */
export function attemptsByRequest(lines: readonly ProcessLine[]): Map<string, number> {
  const attempts = new Map<string, number>();
  for (const { text } of lines) {
    const id = /"requestId":"(\w+)"/.exec(text)?.[1];
    const count = /"attempts":(\d+)/.exec(text)?.[1];
    if (id !== undefined && count !== undefined) attempts.set(id, Number(count));
  }
  return attempts;
}

/** What an ingress logged of a request that ended there. */
export interface LoggedRequest {
  /** 0 if it was refused before the queue. */
  attempts: number;
  model?: string;
  /** The model that was asked for, if another one stood in. */
  askedModel?: string;
  inputTokens?: number;
  outputTokens?: number;
}

/** The ingresses' lines by request id. A request whose ingress was killed has none. */
export function requestsLogged(lines: readonly ProcessLine[]): Map<string, LoggedRequest> {
  const requests = new Map<string, LoggedRequest>();
  const number = (text: string, name: string): number | undefined => {
    const found = new RegExp(`"${name}":(\\d+)`).exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const word = (text: string, name: string): string | undefined =>
    new RegExp(`"${name}":"(\\w+)"`).exec(text)?.[1];
  for (const { text } of lines) {
    const id = word(text, 'requestId');
    if (id === undefined || !text.includes('"msg":"request"')) continue;
    const [model, askedModel] = [word(text, 'model'), word(text, 'askedModel')];
    const [inputTokens, outputTokens] = [number(text, 'inputTokens'), number(text, 'outputTokens')];
    requests.set(id, {
      attempts: number(text, 'attempts') ?? 0,
      ...(model !== undefined && { model }),
      ...(askedModel !== undefined && { askedModel }),
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
    });
  }
  return requests;
}
