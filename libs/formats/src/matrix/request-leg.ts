import { errorInfoOf, type InferenceRequest, SluiceError } from '@sluice/canonical';
import type { GoldenCase } from '../golden-case.ts';
import { decodeCase, formatNamed, targetOf, wireOf } from '../golden-run.ts';
import { canonicalText } from './fact.ts';
import type { LegOutcome, Mode } from './outcome.ts';
import { findRefusal } from './refusals.ts';
import { countForeign, featuresAt, requestFacts } from './request-facts.ts';
import { requestRules } from './request-rules.ts';
import { applyRules, type Crossing, firstDifference } from './rule.ts';
import type { SeededLoss } from './seeded-loss.ts';
import { sortSettings } from './setting-rules.ts';

/** The leg of a request: decoded, encoded for a server of `dialect`, and decoded again as that server would. */
export function runRequestLeg(golden: GoldenCase, dialect: string, mode: Mode, loss: SeededLoss): LegOutcome {
  let request: InferenceRequest;
  let wire: Crossing['wire'];
  try {
    const decoded = decodeCase(golden);
    ({ request } = decoded);
    wire = decoded.call.wire;
  } catch (thrown) {
    return refusedByFormat(thrown, golden);
  }
  const features = [...new Set(requestFacts(request, golden.format).map(({ feature }) => feature))];
  const crossing: Crossing = {
    format: golden.format,
    dialect,
    wire,
    stream: mode === 'stream',
    isUpstreamStream: mode === 'stream',
    hasLostCall: false,
  };
  const { client, server } = formatNamed(dialect);
  try {
    const { path, body, headers, dropped } = client.encodeRequest(loss.onRequest(request), {
      ...targetOf(request.model, crossing.stream),
      clientFormat: golden.format,
    });
    const foreign = countForeign(request, dialect);
    if (dropped.length !== foreign) {
      const difference = `${foreign} things carry fields of other formats, ${dropped.length} are counted`;
      return { state: 'lossy', difference, features };
    }
    const { request: again } = server.decodeRequest({ ...wireOf(dialect, path, body), headers });
    return compare(golden, request, again, crossing, features);
  } catch (thrown) {
    return refusedByDialect(thrown, dialect, golden, request);
  }
}

function compare(
  golden: GoldenCase,
  request: InferenceRequest,
  again: InferenceRequest,
  crossing: Crossing,
  features: string[],
): LegOutcome {
  if (crossing.format === crossing.dialect && golden.facts.notRepeatable === undefined) {
    const isSame = canonicalText(plain(request)) === canonicalText(plain(again));
    if (!isSame) return { state: 'lossy', difference: 'the canonical forms differ', features };
    return { state: 'equal', used: [], features };
  }
  const own = crossing.format === crossing.dialect ? crossing.format : '';
  const wanted = applyRules(requestRules, requestFacts(request, own), crossing);
  const found = applyRules(requestRules, requestFacts(again, own), crossing);
  const difference = firstDifference(sortSettings(wanted.facts), sortSettings(found.facts));
  if (difference !== undefined) return { state: 'lossy', difference, features };
  return { state: 'equal', used: wanted.used, features };
}

/** As JSON, so that a property that holds undefined makes no difference. */
function plain(request: InferenceRequest) {
  return JSON.parse(JSON.stringify(request));
}

function refusedByFormat(thrown: unknown, { format, facts }: GoldenCase): LegOutcome {
  const { kind, param = '' } = errorInfoOf(thrown);
  if (facts.refused === undefined) {
    return {
      state: 'lossy',
      difference: `${format} refuses the request as ${kind} at ${param}`,
      features: [],
    };
  }
  return { state: 'refused', rule: `${format} says so`, param: param || kind, features: [] };
}

function refusedByDialect(
  thrown: unknown,
  dialect: string,
  { format }: GoldenCase,
  request: InferenceRequest,
): LegOutcome {
  if (!(thrown instanceof SluiceError)) throw thrown;
  const { kind, param } = thrown.info;
  const refusal = kind === 'invalid-request' && param !== undefined ? findRefusal(dialect, param) : undefined;
  if (!refusal || param === undefined || dialect === format) {
    return { state: 'lossy', difference: `refused without a rule: ${thrown.message}`, features: [] };
  }
  return { state: 'refused', rule: refusal.id, param, features: featuresAt(request, param, format) };
}
