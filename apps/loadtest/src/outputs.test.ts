import { link, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyMetrics, emptyTotals } from './measures/recorder.ts';
import { metricResult, type RunResult } from './measures/result.ts';
import { checkOutputs, writeOutputs } from './outputs.ts';
import { parseScenario } from './scenario/scenario.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outputs-'));
});
afterEach(() => rm(folder, { recursive: true }));

const inFolder = (...path: string[]) => join(folder, ...path);

function result(): RunResult {
  const metrics = Object.entries(emptyMetrics()).map(([name, histogram]) => [name, metricResult(histogram)]);
  return {
    version: 1,
    name: 'a',
    startedAt: '2026-11-21T09:00:00.000Z',
    scenario: { ...parseScenario({}), keys: 0 },
    measuredMs: 0,
    totals: emptyTotals(),
    rates: { offered: 0, ok: 0, good: 0, refused: 0, failed: 0, tokens: 0 },
    attainment: 0,
    meetsSlo: false,
    metrics: Object.fromEntries(metrics),
    correction: { by: 'intended-instant' },
    errors: {},
    intervals: [],
    client: { processes: [], connectionsOpened: 0, requestsRepeated: 0, isBottleneck: false, findings: [] },
  };
}

describe('the files of a run', () => {
  it('are looked at before it, all at once', async () => {
    await checkOutputs({ json: inFolder('a.json'), csv: inFolder('a.csv') }, []);
    const refused = checkOutputs(
      { json: inFolder('no', 'a.json'), csv: folder, html: inFolder('a.html') },
      [],
    );
    await expect(refused).rejects.toThrow(/a\.json can't be written: ENOENT[\s\S]* is a folder/);
    await expect(checkOutputs({ json: inFolder('new/') }, [])).rejects.toThrow(/new\/ is a folder/);
    expect(await readdir(folder)).toEqual([]);
  });

  it('are not one file', async () => {
    const outputs = { json: inFolder('a'), html: inFolder('no', '..', 'a') };
    await expect(checkOutputs(outputs, [])).rejects.toThrow("two results can't be in one file");
  });

  it.each(['json', 'csv', 'html'])(
    'have a name, which an unset variable of a shell is not: %s',
    async (name) => {
      await expect(checkOutputs({ [name]: '' }, [])).rejects.toThrow(`--${name} names no file: it is empty`);
    },
  );

  it('are not one file by links, which may lead to what is not there yet', async () => {
    await symlink(inFolder('linked'), inFolder('link'));
    await symlink('link', inFolder('link of it'));
    const outputs = { json: inFolder('linked'), csv: inFolder('link of it') };
    await expect(checkOutputs(outputs, [])).rejects.toThrow("two results can't be in one file");
    await symlink('round', inFolder('round'));
    await expect(checkOutputs({ json: inFolder('round') }, [])).rejects.toThrow("round can't be written");
  });

  it('are none that the command reads, by whatever name', async () => {
    await writeFile(inFolder('read.json'), '{}');
    await symlink('read.json', inFolder('soft'));
    await link(inFolder('read.json'), inFolder('hard'));
    for (const name of ['read.json', 'soft', 'hard']) {
      const refused = checkOutputs({ csv: inFolder(name) }, [inFolder('other'), inFolder('read.json')]);
      await expect(refused).rejects.toThrow(`${name} is read: a result would be written over it`);
      await checkOutputs({ csv: inFolder(name) }, [inFolder('other')]);
    }
  });

  it('may be a device that is read as well: its text is not lost', async () => {
    await checkOutputs({ csv: '/dev/null' }, ['/dev/null']);
  });

  it('are written without the one that can not be', async () => {
    const outputs = { json: inFolder('no', 'a.json'), csv: inFolder('a.csv'), html: inFolder('a.html') };
    await expect(writeOutputs([result()], outputs)).rejects.toThrow(/a\.json is not whole: ENOENT/);
    expect((await readdir(folder)).sort()).toEqual(['a.csv', 'a.html']);
  });
});
