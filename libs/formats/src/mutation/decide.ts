import { collect, errorInfoOf, type Json } from '@sluice/canonical';
import { createCorpus } from '../corpus/bad-input.ts';
import { judge } from '../corpus/judge.ts';
import { type GoldenCase, goldenCases, goldenFormats, writeEvents } from '../golden-case.ts';
import {
  callOf,
  contextOf,
  decodeCase,
  decodeStream,
  encodeStream,
  formatNamed,
  targetOf,
} from '../golden-run.ts';
import { runAnswerLeg } from '../matrix/answer-leg.ts';
import { canonicalText } from '../matrix/fact.ts';
import { runRequestLeg } from '../matrix/request-leg.ts';
import { seededLosses } from '../matrix/seeded-loss.ts';
import { formats } from '../registry.ts';

/** One question of the golden tests, of the matrix or of the corpus: true where the answer is as it should be. */
export type Question = () => boolean;

/** What the tests ask of one format, cheapest first. */
export function questionsAbout(format: string): Question[] {
  const own = goldenCases(format);
  const all = goldenFormats().flatMap(goldenCases);
  const crossing = all.flatMap((golden) =>
    formats
      .map(({ client }) => client.format)
      .filter((dialect) => dialect === format || golden.format === format)
      .flatMap((dialect) => crossingQuestions(golden, dialect)),
  );
  const bad = createCorpus({ seed: 1, mutations: 400 }).filter((input) => input.format === format);
  return [
    ...own.flatMap(goldenQuestions),
    ...crossing,
    ...bad.map((input) => () => judge(input) === undefined),
  ];
}

function goldenQuestions(golden: GoldenCase): Question[] {
  const questions = golden.wire ? [() => asksRight(golden)] : [];
  const { client } = formatNamed(golden.format);
  const [first = []] = golden.events;
  const context = contextOf(first);
  const events = golden.read('events.jsonl');
  const [stream, body] = [golden.read('upstream.txt'), golden.readJson('upstream.json')];
  if (stream !== undefined) {
    questions.push(() => writeEvents(decodeStream(client.createStreamDecoder(context), [stream])) === events);
  }
  if (body !== undefined) questions.push(() => writeEvents(client.decodeResponse(body, context)) === events);
  return golden.events.length > 0 ? [...questions, () => answersRight(golden)] : questions;
}

function asksRight(golden: GoldenCase): boolean {
  const { refused } = golden.facts;
  try {
    const { request } = decodeCase(golden);
    const { body, dropped } = formatNamed(golden.format).client.encodeRequest(
      request,
      targetOf(request.model),
    );
    return (
      !refused &&
      isSame(request, golden.readJson('canonical.json')) &&
      isSame(body, golden.readJson('encoded.json')) &&
      dropped.length === 0
    );
  } catch (thrown) {
    const info = errorInfoOf(thrown);
    return (
      refused !== undefined && refused.kind === info.kind && (refused.param ?? info.param) === info.param
    );
  }
}

function answersRight(golden: GoldenCase): boolean {
  const format = formatNamed(golden.format);
  const call = callOf(golden);
  const stream = encodeStream(format, call, golden.events);
  if (stream !== golden.read('stream.txt')) return false;
  const failure = golden.events.flat().find((event) => event.type === 'error');
  if (failure?.type === 'error') {
    return isSame(
      format.server.encodeError(failure.error, { requestId: call.requestId }),
      golden.readJson('error.json'),
    );
  }
  const body = format.server.encodeResponse(golden.events.map(collect), call);
  if (!isSame(body, golden.readJson('response.json'))) return false;
  if (golden.facts.lossy !== undefined || golden.events.length > 1) return true;
  const [first = []] = golden.events;
  const context = contextOf(first);
  const wanted = collect(first);
  return (
    isSame(collect(decodeStream(format.client.createStreamDecoder(context), [stream])), wanted) &&
    isSame(collect(format.client.decodeResponse(plain(body), context)), wanted)
  );
}

function crossingQuestions(golden: GoldenCase, dialect: string): Question[] {
  const loss = seededLosses.none;
  return (['stream', 'single'] as const).flatMap((mode) => [
    ...(golden.wire ? [() => runRequestLeg(golden, dialect, mode, loss).state !== 'lossy'] : []),
    ...(golden.events.length > 0 ? [() => runAnswerLeg(golden, dialect, mode, loss).state !== 'lossy'] : []),
  ]);
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}

function isSame(left: unknown, right: unknown): boolean {
  return canonicalText(plain(left)) === canonicalText(plain(right));
}

/** Whether any question is answered wrongly, a crash being the worst of answers. */
export function isNoticed(questions: readonly Question[]): boolean {
  for (const question of questions) {
    try {
      if (!question()) return true;
    } catch {
      return true;
    }
  }
  return false;
}
