import type { GenerationEvent } from '@sluice/canonical';
import fc from 'fast-check';

const json = fc.jsonValue({ maxDepth: 2 }).map((value): never => value as never);
const block = fc.nat({ max: 3 });
const tokens = fc.option(fc.nat({ max: 5 }), { nil: undefined });
const text = fc.string({ unit: 'binary', maxLength: 12 });
const extensions = fc.dictionary(fc.constantFrom('openai', 'anthropic'), fc.dictionary(fc.string(), json));

/** Leaves out fields that are `undefined`, because our types distinguish absent from undefined. */
function compact<Value extends object>(value: Value): GenerationEvent {
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  // Each record below has the fields of one event.
  return Object.fromEntries(entries) as unknown as GenerationEvent;
}

const delta = { block, tokens };
const usage = fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat() }, { requiredKeys: [] });

/** For tests: any event at all, in no legal order. */
export const anyEvent: fc.Arbitrary<GenerationEvent> = fc
  .oneof(
    fc.record({ type: fc.constant('start'), id: text, model: text, createdAt: fc.nat() }),
    fc.record({
      type: fc.constant('start'),
      ...{ id: text, model: text, createdAt: fc.nat(), inputTokens: fc.nat(), cacheReadTokens: fc.nat() },
      ...{ cacheWriteTokens: fc.nat(), usageExtensions: extensions },
    }),
    { weight: 4, arbitrary: fc.record({ type: fc.constant('text-delta'), text, ...delta }) },
    fc.record({ type: fc.constant('text-delta'), text, ...delta, logprobs: fc.array(json) }),
    fc.record({ type: fc.constant('reasoning-delta'), text, ...delta }),
    fc.record({ type: fc.constant('tool-call-start'), block, id: text, name: text }),
    fc.record({ type: fc.constant('tool-call-delta'), arguments: text, ...delta }),
    fc.record({ type: fc.constant('tool-call-end'), block }),
    fc.record({ type: fc.constant('block-annotation'), block, extensions }),
    fc.record({
      type: fc.constant('opaque'),
      format: text,
      value: json,
      block: fc.option(block, { nil: undefined }),
      isContent: fc.option(fc.constant(true), { nil: undefined }),
      tokens,
    }),
    fc.record({ type: fc.constant('finish'), reason: fc.constant('stop'), usage }),
    fc.record({
      type: fc.constant('error'),
      error: fc.record({ kind: fc.constant('internal'), message: text }),
    }),
  )
  .map(compact);

/** Events of a generation that has not ended. */
export const openEvent = anyEvent.filter(({ type }) => type !== 'finish' && type !== 'error');
