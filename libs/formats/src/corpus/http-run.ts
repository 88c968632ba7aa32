import type { Json } from '@sluice/canonical';
import { type BadInput, createCorpus } from './bad-input.ts';
import { type ErrorShapes, isErrorBody, loadErrorShapes } from './error-shapes.ts';
import { type HttpAnswer, type HttpTarget, postText, sendBytes } from './http-call.ts';
import { httpOddities } from './http-oddities.ts';
import { readKept } from './kept.ts';
import { canary } from './oddities.ts';

/** The gateway, and how much to send to it. */
export interface HttpRunOptions extends HttpTarget {
  /** A model that the gateway serves; it replaces the model of the golden cases. */
  model: string;
  seed: number;
  mutations: number;
  concurrency: number;
}

/** What a run over HTTP found. */
export interface HttpRunReport {
  sent: number;
  /** Number of answers by status. */
  statuses: Map<number, number>;
  /** One sentence for each answer that must not happen. */
  failures: string[];
  /** How long the refusals took, in milliseconds, ascending. */
  refusalsMs: number[];
}

interface Call {
  id: string;
  format: string | undefined;
  send(): Promise<HttpAnswer>;
}

/** Sends every bad request of the corpus to a running gateway, then checks that the gateway still works. */
export async function runOverHttp(options: HttpRunOptions): Promise<HttpRunReport> {
  const report: HttpRunReport = { sent: 0, statuses: new Map(), failures: [], refusalsMs: [] };
  const shapes = await loadErrorShapes();
  const waiting = callsOf(options);
  const work = async () => {
    for (let call = waiting.pop(); call; call = waiting.pop()) note(report, call, await call.send(), shapes);
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  report.refusalsMs.sort((left, right) => left - right);
  const { status } = await postText(options, '/v1/chat/completions', goodBody(options.model));
  if (status !== 200) report.failures.push(`a good request at the end is answered with ${status}`);
  return report;
}

function goodBody(model: string): string {
  return JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 });
}

function callsOf(options: HttpRunOptions): Call[] {
  const inputs = [...readKept(), ...createCorpus(options)];
  const requests = inputs.flatMap((input) => callOf(input, options));
  const odd = httpOddities(options.url.host, options.key).map(({ id, bytes }): Call => {
    return { id, format: undefined, send: () => sendBytes(options, bytes) };
  });
  return [...requests, ...odd];
}

const anyFormat = 'any';

function callOf(input: BadInput, options: HttpRunOptions): Call[] {
  const { id } = input;
  const format = id.startsWith('path-') ? anyFormat : input.format;
  const named = (text: string) => text.replaceAll('swift-1', options.model);
  if (input.kind === 'text') {
    return [{ id, format, send: () => postText(options, named(input.path), input.text) }];
  }
  if (input.kind !== 'request') return [];
  const { path, query, body } = input.wire;
  const fields = Object.entries(query).map(([name, value]): [string, string] => [
    name.toWellFormed(),
    value ?? '',
  ]);
  const search = fields.length === 0 ? '' : `?${new URLSearchParams(fields)}`;
  const text = named(JSON.stringify(body) ?? '');
  return [
    {
      id,
      format,
      send: () => postText(options, named(path) + search, text),
    },
  ];
}

function note(report: HttpRunReport, call: Call, answer: HttpAnswer, shapes: ErrorShapes): void {
  report.sent += 1;
  report.statuses.set(answer.status, (report.statuses.get(answer.status) ?? 0) + 1);
  if (answer.status >= 400 && answer.status < 500 && call.format) report.refusalsMs.push(answer.tookMs);
  const wrong = judgeAnswer(call, answer, shapes);
  if (wrong !== undefined)
    report.failures.push(`${call.id}${call.format ? ` (${call.format})` : ''}: ${wrong}`);
}

function judgeAnswer(
  { format }: Call,
  { status, contentType, body }: HttpAnswer,
  shapes: ErrorShapes,
): string | undefined {
  if (status === -1) return 'no answer in time';
  if (status >= 500) return `answered with ${status}: ${body.slice(0, 300)}`;
  // A socket may only be cut if what came over it was not HTTP.
  if (format === undefined) return undefined;
  if (status === 0) return 'the connection was cut';
  if (status < 400) return undefined;
  if (!contentType.startsWith('application/json')) return `${status} with content type ${contentType}`;
  if (body.includes(canary)) return `${status} repeats what was sent`;
  // If no format owns the path, the other signs of the caller decide the format of the answer.
  return isErrorBody(shapes, format === anyFormat ? undefined : format, parse(body), status)
    ? undefined
    : `${status} is no error of its format: ${body.slice(0, 300)}`;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
