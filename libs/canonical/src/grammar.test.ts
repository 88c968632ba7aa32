import { describe, expect, it } from 'vitest';
import type { GenerationEvent } from './event.ts';
import { findGrammarError, GrammarChecker } from './grammar.ts';

const start: GenerationEvent = { type: 'start', id: 'r', model: 'm', createdAt: 1 };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const error: GenerationEvent = { type: 'error', error: { kind: 'upstream-failed', message: 'it broke' } };
const text = (block: number): GenerationEvent => ({ type: 'text-delta', block, text: 'x' });
const reasoning = (block: number): GenerationEvent => ({ type: 'reasoning-delta', block, text: 'x' });
const call = (block: number): GenerationEvent => ({ type: 'tool-call-start', block, id: 'c', name: 'f' });
const argument = (block: number): GenerationEvent => ({ type: 'tool-call-delta', block, arguments: '{' });
const callEnd = (block: number): GenerationEvent => ({ type: 'tool-call-end', block });
const note = (block: number): GenerationEvent => ({ type: 'block-annotation', block, extensions: {} });
const opaque = (block?: number): GenerationEvent => ({
  type: 'opaque',
  format: 'openai',
  value: 1,
  ...(block !== undefined && { block }),
});

describe('a legal generation', () => {
  it.each<[string, GenerationEvent[]]>([
    ['says nothing', [start, finish]],
    ['fails before it starts', [error]],
    ['fails midway', [start, text(0), error]],
    ['fails in the middle of a call', [start, call(0), argument(0), error]],
    [
      'thinks, speaks and calls',
      [start, reasoning(0), text(1), text(1), call(2), argument(2), callEnd(2), finish],
    ],
    [
      'calls twice, once without arguments',
      [start, call(0), callEnd(0), call(1), argument(1), callEnd(1), finish],
    ],
    ['annotates the block that is open', [start, note(-1), text(0), note(0), text(0), finish]],
    ['annotates a call that has ended', [start, call(0), callEnd(0), note(0), finish]],
    [
      'carries opaque blocks and opaque events',
      [start, opaque(), opaque(0), text(1), opaque(), text(1), finish],
    ],
  ])('%s', (_what, events) => {
    expect(findGrammarError(events)).toBeUndefined();
  });
});

describe('a generation breaks a rule when', () => {
  it.each<[string, GenerationEvent[], string]>([
    ['it has no end', [start, text(0)], 'no terminal event'],
    ['it is empty', [], 'no terminal event'],
    ['something follows the end', [start, finish, text(0)], 'event 2: text-delta after the terminal event'],
    ['it ends twice', [start, error, finish], 'event 2: finish after the terminal event'],
    ['it starts twice', [start, text(0), start], 'event 2: a second start'],
    ['it speaks before it starts', [text(0)], 'event 0: text-delta before start'],
    ['it finishes before it starts', [finish], 'event 0: finish before start'],
    ['it does not begin with block 0', [start, text(1)], 'event 1: block 1 after block -1'],
    ['it leaves a block out', [start, text(0), text(2)], 'event 2: block 2 after block 0'],
    ['it goes back', [start, text(0), text(1), text(0)], 'event 3: block 0 after block 1'],
    [
      'a block changes its kind',
      [start, text(0), reasoning(0)],
      'event 2: block 0 holds text, not reasoning',
    ],
    ['a call stands in a block of text', [start, text(0), call(0)], 'event 2: block 0 already holds text'],
    [
      'two calls share a block',
      [start, call(0), callEnd(0), call(0)],
      'event 3: block 0 already holds closed-call',
    ],
    [
      'a block opens inside a call',
      [start, call(0), text(1)],
      'event 2: block 1 opens while a tool call is open',
    ],
    ['it finishes inside a call', [start, call(0), finish], 'event 2: finish while a tool call is open'],
    ['arguments come without a call', [start, argument(0)], 'event 1: tool-call-delta outside its call'],
    [
      'arguments come after the call',
      [start, call(0), callEnd(0), argument(0)],
      'event 3: tool-call-delta outside its call',
    ],
    [
      'a call ends twice',
      [start, call(0), callEnd(0), callEnd(0)],
      'event 3: tool-call-end outside its call',
    ],
    ['another call is ended', [start, call(0), callEnd(1)], 'event 2: tool-call-end outside its call'],
    [
      'another block is annotated',
      [start, text(0), note(1)],
      'event 2: block-annotation for block 1, open is 0',
    ],
    ['an opaque block is doubled', [start, opaque(0), opaque(0)], 'event 2: block 0 already holds opaque'],
  ])('%s', (_what, events, broken) => {
    expect(findGrammarError(events)).toBe(broken);
  });

  it('and is named at the event itself', () => {
    const checker = new GrammarChecker();
    expect(checker.check(start)).toBeUndefined();
    expect(checker.end()).toBe('no terminal event');
    expect(checker.check(text(4))).toBe('block 4 after block -1');
    expect(checker.check(finish)).toBeUndefined();
    expect(checker.end()).toBeUndefined();
  });
});
