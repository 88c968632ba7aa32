import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHostClock } from './clock.ts';
import { readResult } from './report/result-file.ts';
import { createFakeUpstream } from './upstream/server.ts';

const bin = fileURLToPath(new URL('../bin/sluice-loadtest.mjs', import.meta.url));
const example = fileURLToPath(new URL('../example.yaml', import.meta.url));
const tsconfig = fileURLToPath(new URL('../tsconfig.json', import.meta.url));
const { server } = createFakeUpstream({ clock: createHostClock(), random: () => 0 });
let target = '';
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'loadtest-'));
  target = await listen(server);
});

afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await rm(folder, { recursive: true });
});

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

function call(...args: string[]): Promise<{ code: number; output: string; errors: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [bin, ...args], (_, output, errors) =>
      resolve({ code: child.exitCode ?? -1, output, errors }),
    );
  });
}

const file = (name: string) => join(folder, name);

describe('the command line', () => {
  it('explains itself', async () => {
    const { code, output } = await call('--help');
    expect(code).toBe(0);
    for (const command of ['run', 'search', 'report', 'upstream', 'bench'])
      expect(output).toContain(`sluice-loadtest ${command}`);
  });

  it('runs the example against any target and writes all its outputs', async () => {
    const outputs = ['--json', file('a.json'), '--csv', file('a.csv'), '--html', file('a.html')];
    const { code, output, errors } = await call(
      'run',
      example,
      '-t',
      target,
      '-n',
      '30',
      '-r',
      '100',
      '--warmup',
      '0',
      ...outputs,
    );
    expect(errors).toContain('/s offered');
    expect(code).toBe(0);
    expect(output).toContain('mixed traffic');
    const result = await readResult(file('a.json'));
    expect(result.totals.offered).toBe(30);
    expect(result.totals.failed + result.totals.refused).toBe(0);
    expect(await readFile(file('a.json'), 'utf8')).not.toContain('sk-one');
    expect(await readFile(file('a.html'), 'utf8')).toContain('<h2>Latency by percentile</h2>');
    expect(await readFile(file('a.csv'), 'utf8')).toContain('mixed traffic,offered,count,,30');
  });

  it('searches, and compares results in one page', async () => {
    const flags = [
      '-m',
      'paced-t5-n2-q2',
      '--single',
      '-d',
      '300ms',
      '--settle',
      '1ms',
      '--precision',
      '0.5',
    ];
    const first = await call(
      'search',
      '-t',
      target,
      ...flags,
      '--beyond',
      '4',
      '--attainment',
      '0.9',
      '-q',
      '--json',
      file('s.json'),
    );
    expect(first.output).toContain('is the highest rate that met');
    const { search } = await readResult(file('s.json'));
    expect(search?.points.some((point) => point.phase === 'beyond')).toBe(true);
    const { code } = await call('report', file('s.json'), file('s.json'), '--html', file('c.html'));
    expect(code).toBe(0);
    const page = await readFile(file('c.html'), 'utf8');
    expect(page).toContain('2 load tests compared');
    expect(page).toMatch(/, #2<\/th>/);
  }, 60_000);

  // One key in a terminal is two signals where npx passes it on, too.
  it.each([[['SIGINT'] as const], [['SIGHUP'] as const], [['SIGINT', 'SIGTERM'] as const]])(
    'writes what it has when it is interrupted by %j, and says so',
    async (signals) => {
      const args = ['run', '-t', target, '-d', '1h', '-m', 'paced-n3', '--json', file('i.json')];
      const child = execFile(process.execPath, [bin, ...args]);
      let output = '';
      child.stdout?.on('data', (text) => {
        output += text;
      });
      // Its first line of progress.
      if (child.stderr) await once(child.stderr, 'data');
      for (const signal of signals) child.kill(signal);
      const [code] = await once(child, 'close');
      expect(code).toBe(130);
      expect(output).toContain('interrupted: ');
      expect(await readResult(file('i.json'))).toMatchObject({ isInterrupted: true });
    },
  );

  it('writes its files when those who read what it prints have left', async () => {
    const args = ['run', '-t', target, '-d', '1h', '-m', 'paced-n3', '--json', file('e.json')];
    const child = execFile(process.execPath, [bin, ...args]);
    if (child.stderr) await once(child.stderr, 'data');
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    expect(code).toBe(130);
    expect(await readResult(file('e.json'))).toMatchObject({ isInterrupted: true });
  });

  it('gives no half figure of the client itself', async () => {
    const child = execFile(process.execPath, [bin, 'bench', '--duration', '1h']);
    let output = '';
    child.stdout?.on('data', (text) => {
      output += text;
    });
    if (child.stdout) await once(child.stdout, 'data');
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
    expect(output).toBe('against a trivial server on this machine:\n');
  });

  // Prompts of several entries, and the text that every load of a search must bring.
  it.each([
    ['run -r 100 -f openai,gemini --prompt-file /dev/stdin', 'one\ntwo\n'],
    ['search --search-from 100 --search-max 200 --beyond 1.5 --settle 1ms --expect-text /dev/stdin', 'tok0 '],
  ])('takes a pipe for a file of a scenario: %s', async (command, text) => {
    const args = [bin, ...command.split(' '), '-t', target, '-m', 'paced-n1', '-n', '5'];
    // A shell, since Node gives its children sockets, which no path opens.
    const piped = ['-c', 'printf %s "$0" | "$@"', text, process.execPath, ...args, '--json', file('p.json')];
    const child = execFile('sh', piped);
    expect(await once(child, 'close')).toEqual([0, null]);
    const { totals, search } = await readResult(file('p.json'));
    expect(totals).toMatchObject({ ok: 5, failed: 0 });
    expect(search?.points.every((point) => point.meetsSlo) ?? true).toBe(true);
  });

  it('writes over none of its inputs: results, a scenario, and what that names', async () => {
    const input = file('input');
    const text = JSON.stringify({ target, requests: 1 });
    await writeFile(input, text);
    for (const args of [
      ['report', input, '--csv', input],
      ['run', input, '--json', input],
      ['run', '-t', target, '-n', '1', '--expect-text', input, '--html', input],
      ['run', '-t', target, '-n', '1', '--prompt-file', input, '--json', input],
      ['run', '-t', target, '-n', '1', '--keys-file', input, '--json', input],
    ]) {
      const { code, errors } = await call(...args);
      expect(errors).toContain('input is read: a result would be written over it');
      expect(code).toBe(2);
    }
    expect(await readFile(input, 'utf8')).toBe(text);
  });

  it('exits with 1 for a missed objective that is enforced, and for wrong text', async () => {
    const run = ['run', '-t', target, '-n', '3', '-r', '100', '-q'];
    expect((await call(...run, '-m', 'paced-e503')).code).toBe(0);
    expect((await call(...run, '-m', 'paced-e503', '--enforce')).code).toBe(1);
    const different = await call(...run, '-m', 'paced-n3', '--expect-text', example);
    expect(different.code).toBe(1);
    expect(different.output).toContain('the expected text ends in a newline');
    const inWarmup = await call(
      ...run,
      '-d',
      '1h',
      '--warmup',
      '59m',
      '-m',
      'paced-n3',
      '--expect-text',
      example,
    );
    expect(inWarmup.code).toBe(1);
    expect(inWarmup.output).toContain('in the warm-up, which is not measured: wrong text: mismatch 3');
    expect(inWarmup.output).toContain('the expected text ends in a newline');
  });

  it('exits with 1 for wrong text at any load of a search, and says where', async () => {
    let requests = 0;
    const word = (text: string) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
    // Only the first load, of ten requests, is answered well.
    const wrong = createServer((_, response) => {
      requests += 1;
      response.setHeader('content-type', 'text/event-stream');
      response.end(`${word('tok0 ')}${word(requests > 10 ? 'tok2 ' : 'tok1 ')}data: [DONE]\n\n`);
    });
    const at = await listen(wrong);
    const flags = [
      '-n',
      '10',
      '--search-from',
      '100',
      '--precision',
      '0.5',
      '--settle',
      '1ms',
      '--arrivals',
      'constant',
    ];
    const outputs = ['--json', file('w.json'), '--csv', file('w.csv'), '--html', file('w.html')];
    const found = await call('search', '-t', at, '--verify', 'tokens', '--beyond', '4', ...flags, ...outputs);
    wrong.close();
    expect(found.code).toBe(1);
    // A busy machine makes the client the bottleneck, which the line says behind it.
    expect(found.errors).toMatch(/missed .* failed \d+\/s \(wrong text: gap\)(?: {2}client was|\n)/);
    expect(found.output).toMatch(/failed at 200\/s +\d+\/s {3}wrong text: gap 10\n/);
    expect(found.output).toMatch(
      /answered wrong: 200\/s \(wrong text: gap 10\), .*, 400\/s \(wrong text: gap 10\)/,
    );
    const { errors, search, wrongText } = await readResult(file('w.json'));
    expect(errors).toEqual({});
    expect(search?.points.map((point) => point.errors?.['wrong text: gap'])).toEqual([undefined, 10, 10, 10]);
    // A load may have been tried twice.
    expect(wrongText?.['wrong text: gap']).toBeGreaterThanOrEqual(30);
    expect(await readFile(file('w.csv'), 'utf8')).toContain(',at 200.00/s,error: wrong text: gap,,10\n');
    const page = await readFile(file('w.html'), 'utf8');
    expect(page).toContain('<h2>Errors by load</h2>');
    expect(page).toContain('<th scope="row">at 200/s</th><td>10</td>');
  });

  it.each([
    [['run', '-p', '2', '-t', 'http://u:secret@127.0.0.1'], 'the target holds credentials'],
    [['fly'], 'no command is named fly'],
    [['run', '--rate', 'x'], 'load.profile.rate'],
    [['run', '-p', '2', '-d', '1s', '-k', 'sk 1'], 'a key holds a character that is not allowed in a header'],
    [['run', '-d', '1s', '-k', ''], 'a key is empty'],
    [['run', '-d', '1s', '--keys-file', '/dev/null'], 'no keys in /dev/null'],
    [['run', '--speed', '9'], 'speed'],
    [['run', 'missing.yaml'], "the scenario missing.yaml can't be read: ENOENT"],
    [['run', '-d', '1h', '--json', join(example, 'a.json')], "a.json can't be written"],
    [['report', example], 'is not a result of this load test: Unexpected token'],
    [['report', tsconfig], 'is not a result of this load test: version: Invalid input'],
    [['report', 'a.json', '--json', 'b.json'], '--json goes with run and search'],
    [['report', 'a.json', '--csv', 'b', '--html', './b'], "two results can't be in one file"],
    [['search', '--ramp', '1..5'], '--ramp goes with run'],
    [['upstream', '--port', 'abc'], '--port is a whole number'],
  ])('exits with 2 and a reason for %j', async (args, reason) => {
    const { code, errors } = await call(...args);
    expect(code).toBe(2);
    expect(errors).toContain(reason);
    expect(errors).not.toContain('secret');
  });
});
