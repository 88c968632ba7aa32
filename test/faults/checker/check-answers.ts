import { referenceText } from '@sluice/engines';
import type { Observation, RunLog } from '../observation.ts';
import { expectedText, needsStandIn } from '../plan.ts';
import { faultsDuring, isExplained } from './explain.ts';
import { type LoggedRequest, requestsLogged } from './request-lines.ts';
import type { Violation, ViolationKind } from './violation.ts';

/** Slack on the deadline: the ingress checks it four times a second. */
const deadlineSlackMs = 1_000;

/** After this time an answer begins with a keep-alive, before it is known who answers. */
const keepAliveMs = 10_000;

/** Checks invariants 1, 2 and 3 on each client's observation. */
export function checkAnswers(log: RunLog): Violation[] {
  const logged = requestsLogged(log.lines);
  return log.observations.flatMap((observation) => [
    ...checkOutcome(observation, log),
    ...checkText(observation),
    ...checkShape(observation),
    ...checkModel(observation, logged.get(observation.requestId ?? '')),
  ]);
}

/** Whether the client has the whole answer. */
export function isComplete({ status, answer, end }: Observation): boolean {
  return status === 200 && end === 'clean' && answer.endMarks === 1 && answer.error === undefined;
}

function checkOutcome(observation: Observation, log: RunLog): Violation[] {
  const { plan, end, status, answer, startedAt, endedAt } = observation;
  const found: Violation[] = [];
  const report = (kind: ViolationKind, detail: string): void => {
    found.push({ invariant: 1, kind, request: plan.index, detail });
  };
  const tookMs = endedAt - startedAt;
  const faults = faultsDuring(observation, log);
  if (end === 'hung') report('hung', `nothing ended it in ${tookMs} ms`);
  else if (tookMs > log.deadlineMs + deadlineSlackMs && !isExplained('late', observation, faults))
    report('late', `${tookMs} ms`);
  if ((end === 'cut' || end === 'refused') && !isExplained('cut', observation, faults))
    report('cut-unexplained', `${end} with ${faults.length} faults around`);
  const isFailure = end === 'clean' && !isComplete(observation);
  if (isFailure && !answer.error) {
    if (status === 200) return [...found, truncated(observation)];
    report('error-unexplained', `status ${status} without an error`);
  }
  if (isFailure && answer.error && (status === 500 || /internal/.test(answer.error.message)))
    report('internal-error', answer.error.message);
  if (isFailure && answer.error && !isExplained('error', observation, faults))
    report('error-unexplained', `status ${status}: ${answer.error.message}`);
  return found;
}

function truncated({ plan, answer, body }: Observation): Violation {
  const detail = `a clean end after ${answer.text.length} letters and no word of the end: …${body.slice(-60)}`;
  return { invariant: 2, kind: 'truncated', request: plan.index, detail };
}

function checkText(observation: Observation): Violation[] {
  const { plan, answer } = observation;
  const expected = expectedText(plan);
  const { text } = answer;
  const report = (kind: ViolationKind, detail: string, invariant: 2 | 7 = 2): Violation[] => [
    { invariant, kind, request: plan.index, detail },
  ];
  if (expected.startsWith(text)) {
    if (isComplete(observation) && text !== expected)
      return report('truncated', `complete with ${text.length} of ${expected.length} letters`);
    return [];
  }
  const common = commonLength(expected, text);
  const rest = text.slice(common).split(' ').slice(0, 4).join(' ');
  const where = `after ${common} letters: "${rest}"`;
  if (common === expected.length) return report('too-long', where);
  const [sample = ''] = /(\S+ \S+)/.exec(rest.slice(rest.indexOf(' ') + 1)) ?? [rest];
  const at = expected.indexOf(sample);
  if (at === -1) return report('foreign', where, isOlderText(sample, plan.index) ? 7 : 2);
  return at < common ? report('duplicated', where) : report('gap', where);
}

/** Whether another request of this run has this text: frames then went to the wrong request. */
function isOlderText(sample: string, index: number): boolean {
  for (let seed = Math.max(0, index - 50); seed < index; seed += 1)
    if (referenceText(seed, 0, 300).includes(sample)) return true;
  return false;
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function checkShape(observation: Observation): Violation[] {
  const { plan, answer, status, end } = observation;
  const found: Violation[] = [];
  const report = (invariant: 2 | 3, kind: ViolationKind, detail: string): void => {
    found.push({ invariant, kind, request: plan.index, detail });
  };
  if (answer.finishes > 1 || answer.endMarks > 1)
    report(2, 'second-terminal', `${answer.finishes} finishes, ${answer.endMarks} end marks`);
  if (answer.eventsAfterEnd > 0) report(2, 'event-after-end', `${answer.eventsAfterEnd} events`);
  if (answer.error && answer.endMarks > 0) report(2, 'second-terminal', 'an error and an end mark');
  if (end === 'clean')
    for (const what of answer.malformed) report(3, 'malformed', `status ${status}: ${what}`);
  if (isComplete(observation) && answer.finishes !== 1)
    report(3, 'malformed', 'an end mark without a finish reason');
  if (isComplete(observation) && answer.usage?.outputTokens !== plan.tokens)
    report(2, 'usage-wrong', `${answer.usage?.outputTokens} output tokens of ${plan.tokens}`);
  return found;
}

/** The header, the log and the plan must agree on who answered. */
function checkModel(observation: Observation, line: LoggedRequest | undefined): Violation[] {
  const { plan, standIn, startedAt, arrivedAt } = observation;
  const isAllowed =
    plan.model === 'either' ? standIn === undefined || standIn === 'sim' : standIn === undefined;
  const isLogged =
    standIn === undefined || !line || (line.model === standIn && line.askedModel === plan.model);
  const isHeadInTime = (arrivedAt[0] ?? startedAt) < startedAt + keepAliveMs;
  const isNamed = standIn !== undefined || !needsStandIn(plan) || !isComplete(observation) || !isHeadInTime;
  if (isAllowed && isLogged && isNamed) return [];
  const named = (model: string | undefined): string => model ?? 'none';
  const detail = `${plan.model} was asked, the header names ${named(standIn)}, the log ${named(line?.model)}`;
  return [{ invariant: 2, kind: 'wrong-model', request: plan.index, detail }];
}
