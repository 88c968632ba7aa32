import { describe, expect, test } from 'vitest';
import { goldenCases, goldenFormats } from '../golden-case.ts';
import { formatNamed } from '../golden-run.ts';
import { objectOf } from '../json/json-object.ts';
import { formats } from '../registry.ts';
import { answerRules } from './answer-rules.ts';
import { runMatrix } from './matrix.ts';
import { stateOf } from './outcome.ts';
import { refusals } from './refusals.ts';
import { renderMatrix } from './report.ts';
import { requestRules } from './request-rules.ts';
import { type SeededLossName, seededLosses } from './seeded-loss.ts';

const cells = [...runMatrix()];

describe('the matrix of formats and dialects', () => {
  test('has a cell for every golden case, dialect and mode', () => {
    const cases = goldenFormats().flatMap(goldenCases).length;
    expect(cells).toHaveLength(cases * formats.length * 2);
  });

  test('loses nothing silently', () => {
    const lossy = cells.filter((cell) => stateOf(cell) === 'lossy');
    expect(lossy, renderMatrix(lossy)).toEqual([]);
  });

  test('is printed with blanks between all cells of a row', () => {
    const [, ...lines] = renderMatrix(cells).split('\n');
    for (const row of lines.slice(0, lines.indexOf('')))
      expect(row.split(/ {2,}/)).toHaveLength(1 + 2 * formats.length);
  });

  test('refuses nothing for a server of the same dialect but what the format itself refuses', () => {
    for (const { format, dialect, request } of cells) {
      if (format === dialect && request?.state === 'refused') expect(request.rule).toBe(`${format} says so`);
    }
  });

  test('needs every rule on the list', () => {
    const asked = new Set(
      cells
        .flatMap(({ request }) => (request?.state === 'equal' ? request.used : []))
        .map(({ rule }) => rule),
    );
    const answered = new Set(
      cells.flatMap(({ answer }) => (answer?.state === 'equal' ? answer.used : [])).map(({ rule }) => rule),
    );
    expect(requestRules.map(({ id }) => id).filter((id) => !asked.has(id))).toEqual([]);
    expect(answerRules.map(({ id }) => id).filter((id) => !answered.has(id))).toEqual([]);
  });

  test('meets every refusal on the list', () => {
    const met = new Set(
      cells.flatMap(({ dialect, request }) =>
        request?.state === 'refused' ? [`${dialect} ${request.rule}`] : [],
      ),
    );
    expect(refusals.map(({ dialect, id }) => `${dialect} ${id}`).filter((name) => !met.has(name))).toEqual(
      [],
    );
  });

  test('calls every refused setting what its client calls it', () => {
    const refused = cells.flatMap(({ format, name, request }) =>
      request?.state === 'refused' && request.rule !== `${format} says so`
        ? [{ format, name, param: request.param }]
        : [],
    );
    const settings = refused.filter(({ param }) => !/^(?:messages|tools)\[/.test(param));
    expect(settings).not.toEqual([]);
    const strange = settings.filter(({ format, name, param }) => {
      const word = formatNamed(format).server.words.get(param) ?? param;
      const body = goldenCases(format).find((golden) => golden.name === name)?.wire?.body;
      return word.split('.').reduce((found, step) => objectOf(found)[step], body) === undefined;
    });
    expect(strange).toEqual([]);
  });
});

const losses = Object.keys(seededLosses).filter((name) => name !== 'none') as SeededLossName[];

describe('a seeded loss turns the matrix red:', () => {
  test.each(losses)('%s', (name) => {
    expect(runMatrix(name).some((cell) => stateOf(cell) === 'lossy')).toBe(true);
  });
});
