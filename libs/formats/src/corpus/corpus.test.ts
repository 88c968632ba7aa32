import { describe, expect, test } from 'vitest';
import { createCorpus, standardCorpus } from './bad-input.ts';
import { judge, verdictOf } from './judge.ts';
import { readKept } from './kept.ts';

describe('bad input', () => {
  const corpus = createCorpus(standardCorpus);

  test('is at least three thousand cases, of every kind, and the same in every run', () => {
    expect(corpus.length).toBeGreaterThan(3_000);
    const again = createCorpus(standardCorpus);
    expect(again.map(({ id }) => id)).toEqual(corpus.map(({ id }) => id));
    expect(JSON.stringify(again[2_000])).toBe(JSON.stringify(corpus[2_000]));
    for (const kind of ['request', 'text', 'body', 'stream']) {
      expect(corpus.filter((input) => input.kind === kind).length).toBeGreaterThan(200);
    }
  });

  test('is refused far more often than it is accepted', () => {
    const requests = corpus.filter(({ kind }) => kind === 'request').map(verdictOf);
    const refused = requests.filter((verdict) => verdict === 'invalid-request').length;
    expect(refused).toBeGreaterThan(requests.length / 2);
  });

  test('ends in an answer or in the right kind of refusal, and changes no prototype', () => {
    const broken = corpus.flatMap((input) => {
      const wrong = judge(input);
      return wrong === undefined ? [] : [`${input.id} (${input.format} ${input.kind}): ${wrong}`];
    });
    expect(broken).toEqual([]);
  });
});

describe('what once broke something works:', () => {
  test.each(readKept().map((input) => [input.id, input] as const))('%s', (_id, input) => {
    expect(judge(input)).toBeUndefined();
  });
});
