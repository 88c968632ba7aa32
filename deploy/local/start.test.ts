import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import {
  findFreePort,
  startChatServer,
  startOwnRedis,
  startSentinel,
  startSocket,
  until,
} from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { Announcement, RunningProcess } from './announcement.ts';

const entry = fileURLToPath(new URL('./start.ts', import.meta.url));
const bootstrap = fileURLToPath(new URL('./bootstrap.mjs', import.meta.url));
const startLimitMs = 30_000;
const children: Started[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill('SIGTERM');
    await child.exited;
  }
}, startLimitMs);

describe('npm start', { timeout: 60_000 }, () => {
  it('says on one line what serves, and all of it serves', async () => {
    const { announcement } = await start(['--ingresses', '2'], 2);
    expect(announcement.models).toEqual(['sim']);
    expect(announcement.baseUrls).toHaveLength(2);
    expect(announcement.processes.map(({ role }) => role)).toEqual([
      'supervisor',
      'redis',
      'ingress',
      'ingress',
      'supervisor',
      'worker',
    ]);
    for (const baseUrl of announcement.baseUrls) {
      expect(await ask(baseUrl, announcement.apiKey)).toMatchObject({
        choices: [{ message: { content: expect.any(String) } }],
      });
    }
    for (const url of announcement.metricsUrls) {
      expect(await (await fetch(url)).text()).toMatch(/^sluice_build_info\{version="[\d.]+"\} 1$/m);
    }
  });

  it('names every process of an ingress and a worker that have several, and where each is watched', async () => {
    const { announcement } = await start(['--processes', '2']);
    const member = (name: string, role: string) => ({ name, role, pid: expect.any(Number) });
    expect(announcement.processes.slice(2)).toEqual([
      member('ingress 1', 'supervisor'),
      member('ingress 1', 'ingress'),
      member('ingress 1', 'ingress'),
      member('worker 1', 'supervisor'),
      member('worker 1', 'worker'),
      member('worker 1', 'worker'),
    ]);
    const ports = announcement.metricsUrls.map((url) => Number(new URL(url).port));
    expect(ports).toHaveLength(4);
    expect([ports[1], ports[3]]).toEqual([Number(ports[0]) + 1, Number(ports[2]) + 1]);
    for (const url of announcement.metricsUrls) {
      expect(await (await fetch(url)).text()).toMatch(/^sluice_build_info\{version="[\d.]+"\} 1$/m);
    }
  });

  it('stops everything when it is told to', async () => {
    const { child, announcement } = await start();
    child.process.kill('SIGINT');
    expect(await child.exited).toBe(0);
    await areGone(announcement.processes);
  });

  it('removes what its Redis has made when it is stopped while Redis starts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-'));
    const child = spawnStart(['--port', String(await findFreePort())], { environment: { TMPDIR: folder } });
    await until(() => readdirSync(folder).length > 0, { what: 'the folder of Redis', intervalMs: 1 });
    child.process.kill('SIGINT');
    expect(await child.exited).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
    expect(child.complaints().filter((line) => !line.startsWith('sluice: started Redis'))).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it('says in one sentence which folder it can not use', async () => {
    const child = spawnStart(['--port', String(await findFreePort())], {
      environment: { TMPDIR: join(entry, 'tmp') },
    });
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([`sluice: ENOTDIR: not a directory, mkdir '${join(entry, 'tmp')}'`]);
  });

  it.runIf(existsSync('/dev/full'))('fails where nobody can be told what serves', async () => {
    const { REDIS_URL: _shared, SLUICE_REDIS_URL: _configured, ...environment } = process.env;
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [entry, '--json', '--port', String(await findFreePort())], {
      env: environment,
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    if (!child.stderr) throw new TypeError('stderr is a pipe');
    const complaints = text(child.stderr);
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(await complaints).toContain('sluice: ENOSPC: no space left on device, write\n');
  });

  it('leaves nothing behind when it is killed', async () => {
    const { child, announcement } = await start();
    child.process.kill('SIGKILL');
    await areGone(announcement.processes);
  });

  it('stops everything when its parent is gone', async () => {
    const { child, announcement } = await start();
    child.process.disconnect();
    expect(await child.exited).toBe(0);
    await areGone(announcement.processes);
  });

  it('starts a killed ingress and a killed Redis again, and the key still holds', async () => {
    const { child, announcement } = await start();
    for (const role of ['ingress', 'redis']) {
      process.kill(announcement.processes.find((it) => it.role === role)?.pid ?? 0, 'SIGKILL');
    }
    await child.said(/Redis serves again/);
    await child.said(/ingress 1 serves again/);
    const [baseUrl = ''] = announcement.baseUrls;
    const answer = await until(() => ask(baseUrl, announcement.apiKey), {
      timeoutMs: 20_000,
      what: 'an answer',
    });
    expect(answer).toMatchObject({ choices: [{ message: { content: expect.any(String) } }] });
  });

  it('prints calls and commands that work when they are pasted', async () => {
    const child = spawnStart(['--port', String(await findFreePort())]);
    await child.printed(/Ctrl-C stops everything/);
    const commands = child.text().match(/^(export|npx) .*$/gm) ?? [];
    expect(commands).toHaveLength(3);
    const mint = 'npx sluice keys mint --tenant local';
    expect(await run([...commands, mint].join('\n'))).toMatch(
      /^LIMIT +POLICY[\s\S]+^request-rate +600\/1m[\s\S]+^sk-/m,
    );
    const calls = child.text().match(/^curl .*\\\n.*\\\n.*$/gm) ?? [];
    expect(calls).toHaveLength(3);
    for (const call of calls) expect(await paste(call)).toMatch(/"(stop|end_turn|max_tokens|STOP)"/);
  });

  it('prints commands that work on a given Redis with a given secret, and shows neither', async () => {
    await using redis = await startOwnRedis({ arguments: ['--requirepass', 'hunter2'] });
    const given = {
      SLUICE_REDIS_URL: `redis://:hunter2@127.0.0.1:${redis.port}/3`,
      SLUICE_KEY_SECRET: 'a secret that was given',
    };
    const child = spawnStart(['--port', String(await findFreePort())], { environment: given });
    await child.printed(/Ctrl-C stops everything/);
    expect(child.text()).not.toMatch(/hunter2|a secret that was given/);
    const commands = child.text().match(/^(export|npx) .*$/gm) ?? [];
    expect(commands).toHaveLength(3);
    const pasted = [...commands, 'npx sluice keys mint --tenant local', 'npx sluice keys list'].join('\n');
    // The other terminal may have the same environment, or not.
    for (const printed of await Promise.all([run(pasted), run(pasted, { ...process.env, ...given })]))
      expect(printed).toMatch(/^request-rate +600\/1m[\s\S]+^sk-[\s\S]+^key_.* npm start /m);
    const files = [...(commands[0]?.matchAll(/_FILE='([^']+)'/g) ?? [])].map(([, path = '']) => path);
    expect(files.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(files.filter((path) => existsSync(path))).toEqual([]);
  });

  it("serves an upstream's models beside the simulated one", async () => {
    await using upstream = await startChatServer({ models: ['fake-model'] });
    const { announcement } = await start(['--upstream', upstream.baseUrl, '--upstream-key', 'sk-up']);
    expect(announcement.models.sort()).toEqual(['fake-model', 'sim']);
    const [baseUrl = ''] = announcement.baseUrls;
    expect(await ask(baseUrl, announcement.apiKey, 'fake-model')).toMatchObject({
      choices: [{ message: { content: 'Hello there.' } }],
    });
    expect(upstream.exchanges.at(-1)?.request.headers.authorization).toBe('Bearer sk-up');
  });

  it('says in one sentence that the port is taken', async () => {
    const port = await findFreePort();
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    const child = spawnStart(['--port', String(port)]);
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([
      expect.stringMatching(`^sluice: port ${port} is taken; choose another with: npm start -- --port`),
    ]);
    server.close();
  });

  it('says in one sentence that an operations port is taken, before it starts anything', async () => {
    const port = await findFreePort(3);
    const server = createServer().listen(port + 2, '127.0.0.1');
    await once(server, 'listening');
    const child = spawnStart(['--port', String(port)], {
      environment: { SLUICE_OPS_PORT: String(port + 1) },
    });
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([
      `sluice: port ${port + 2} is taken; SLUICE_OPS_PORT means ports ${port + 1} to ${port + 2}`,
    ]);
    server.close();
  });

  it('says in one sentence that it can not listen at such an address', async () => {
    const environment = { SLUICE_HOST: '192.0.2.1' };
    const child = spawnStart(['--port', String(await findFreePort())], { environment });
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual(['sluice: SLUICE_HOST=192.0.2.1 is no address of this machine']);
  });

  it('takes from the environment, and from files that it names, what no flag says', async () => {
    await using redis = await startOwnRedis();
    const folder = await mkdtemp(join(tmpdir(), 'sluice-start-'));
    const [redisUrl, keySecret] = [join(folder, 'redis'), join(folder, 'secret')];
    await writeFile(redisUrl, `${redis.url}\n`);
    await writeFile(keySecret, 'a secret of the tests, in a file\n');
    const port = await findFreePort(5);
    const child = spawnStart(['--json'], {
      environment: {
        SLUICE_REDIS_URL_FILE: redisUrl,
        SLUICE_KEY_SECRET_FILE: keySecret,
        SLUICE_HOST: '::1',
        SLUICE_PORT: String(port),
        SLUICE_OPS_HOST: '::1',
        SLUICE_OPS_PORT: String(port + 1),
        SLUICE_PROCESSES: '2',
      },
    });
    const announcement: Announcement = JSON.parse(await child.printed(/^\{/));
    expect(announcement).toMatchObject({
      redisUrl: redis.url,
      baseUrls: [`http://[::1]:${port}`],
      metricsUrls: [1, 2, 3, 4].map((next) => `http://[::1]:${port + next}/metrics`),
    });
    const [baseUrl = ''] = announcement.baseUrls;
    expect(await ask(baseUrl, announcement.apiKey)).toMatchObject({ choices: [{}] });
    await rm(folder, { recursive: true });
  });

  it('says in one sentence that a flag is unknown, and exits with 2', async () => {
    const child = spawnStart(['--prot', '1']);
    expect(await child.exited).toBe(2);
    expect(child.complaints()).toEqual([expect.stringMatching(/^sluice: Unknown option '--prot'/)]);
  });

  it('says every mistake in the settings, those of engines too, and says them once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-start-'));
    const config = join(folder, 'sluice.json');
    const backend = { engine: 'upstream', dialect: 'cohere', baseUrl: 'nowhere', colour: 'red' };
    const settings = { pools: { local: { backend, waitBudgetMs: 'soon' } }, models: { m: { pool: 'far' } } };
    await writeFile(config, JSON.stringify(settings));
    const flags = ['--config', config, '--ingresses', '2', '--workers', '2'];
    const child = spawnStart(['--port', String(await findFreePort(2)), ...flags]);
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([
      expect.stringMatching(/^sluice: started Redis/),
      `sluice worker: ${config}: 5 mistakes`,
      '  pools.local.waitBudgetMs: expected a number, got text',
      '  models.m.pool: there is no pool "far"; known: local',
      expect.stringMatching(/^ {2}pools\.local\.backend\.dialect: must be one of/),
      expect.stringMatching(/^ {2}pools\.local\.backend\.baseUrl: /),
      expect.stringMatching(/^ {2}pools\.local\.backend\.colour: unknown name/),
      'sluice: worker 1 ended before it served (code 1)',
    ]);
    await rm(folder, { recursive: true });
  });

  it('does not serve beside a model file that does not load', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-gguf-'));
    const file = join(folder, 'letter.gguf');
    await writeFile(file, 'Dear Sir or Madam');
    const child = spawnStart(['--port', String(await findFreePort()), '--gguf', file]);
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([
      expect.stringMatching(/^sluice: started Redis/),
      `sluice: worker 1 can't serve ${file}; its log says why`,
    ]);
    await rm(folder, { recursive: true });
  });

  it('says in one sentence that the given Redis does not answer', async () => {
    const child = await spawnStartOn(`redis://:hush@127.0.0.1:${await findFreePort()}`);
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([
      expect.stringMatching(/^sluice: redis at 127\.0\.0\.1:\d+ is not reachable: connect ECONNREFUSED/),
    ]);
  });

  it('says in one sentence that the given Redis would evict requests', async () => {
    await using redis = await startOwnRedis({ arguments: ['--maxmemory-policy', 'allkeys-lru'] });
    const child = await spawnStartOn(redis.url);
    expect(await child.exited).toBe(1);
    expect(child.complaints()).toEqual([
      expect.stringMatching(/^sluice: Redis has maxmemory-policy allkeys/),
    ]);
  });

  it.each([
    ['one behind a socket', startSocket],
    ['one behind a sentinel', startSentinel],
  ])('uses the Redis that it is given: %s', async (_which, startTopology) => {
    const topology = await startTopology();
    const { child, announcement } = await start(['--redis', topology.url]);
    expect(announcement.redisUrl).toBe(topology.url);
    expect(child.complaints()).toEqual([expect.stringMatching(/^sluice: using the Redis at /)]);
    const [baseUrl = ''] = announcement.baseUrls;
    expect(await ask(baseUrl, announcement.apiKey)).toMatchObject({ choices: [{}] });
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    await topology.stop();
  });

  it('makes its key again in a given Redis that comes back empty', async () => {
    await using redis = await startOwnRedis();
    const { announcement } = await start(['--redis', redis.url]);
    await redis.restart();
    const [baseUrl = ''] = announcement.baseUrls;
    const answer = await until(() => ask(baseUrl, announcement.apiKey), {
      timeoutMs: 20_000,
      what: 'an answer',
    });
    expect(answer).toMatchObject({ choices: [{}] });
  });

  it('reaches a Redis of its own by a socket, which it removes in the end', async () => {
    const { child, announcement } = await start();
    const folder = dirname(fileURLToPath(announcement.redisUrl.replace('unix:', 'file:')));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(existsSync(folder)).toBe(false);
  });
});

describe('the bootstrap', { timeout: 60_000 }, () => {
  it('passes flags on, and the exit code back', async () => {
    const child = spawnStart(['start', '--port', '0'], { program: bootstrap });
    expect(await child.exited).toBe(2);
    expect(child.complaints()).toContain('sluice: --port must be a whole number from 1 to 65535');
  });

  it('installs what evaluates model files once at a time, and not to print its help', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-npm-'));
    const [log, npm, gguf] = [join(folder, 'log'), join(folder, 'npm.cjs'), join(folder, 'model.gguf')];
    await writeFile(gguf, '');
    // Fails, so that nobody believes that anything was installed.
    const write = (line: string) => `require('node:fs').appendFileSync(${JSON.stringify(log)}, '${line} ');`;
    await writeFile(npm, `${write('begin')} setTimeout(() => { ${write('end')} process.exit(1); }, 500);`);
    const run = (...flags: string[]) =>
      spawnStart(['start', '--gguf', gguf, '--port', '0', ...flags], {
        program: bootstrap,
        environment: { npm_execpath: npm },
      });
    await run('--help').exited;
    expect(existsSync(log)).toBe(false);
    await Promise.all([run(), run()].map(({ exited }) => exited));
    // Nothing where the package is there already.
    expect(existsSync(log) ? await readFile(log, 'utf8') : '').toMatch(/^(begin end )*$/);
    await rm(folder, { recursive: true });
  });

  // A container gives the same few process ids again and again.
  it.runIf(process.platform === 'linux').each([
    ['that a full disk has left empty', ''],
    ['of a process that installs nothing', String(process.pid)],
  ])('is not held up by a lock %s', async (_whose, owner) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-root-'));
    const [own, state, npm] = [
      join(folder, 'deploy/local'),
      join(folder, '.sluice'),
      join(folder, 'npm.cjs'),
    ];
    await mkdir(own, { recursive: true });
    await mkdir(state);
    await copyFile(bootstrap, join(own, 'bootstrap.mjs'));
    await writeFile(join(folder, 'package.json'), '{"workspaces":[]}');
    await writeFile(npm, 'process.exit(3);');
    await writeFile(join(state, 'installing'), owner);
    await utimes(join(state, 'installing'), 0, 0);
    const child = spawnStart(['start'], {
      program: join(own, 'bootstrap.mjs'),
      environment: { npm_execpath: npm },
    });
    expect(await child.exited).toBe(3);
    expect(child.complaints()).toEqual(['installing packages']);
    expect(await readdir(state)).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it('knows only its own commands', async () => {
    const child = spawnStart(['stop'], { program: bootstrap });
    expect(await child.exited).toBe(2);
    expect(child.complaints()).toEqual([expect.stringMatching(/^usage:/)]);
  });
});

interface Started {
  process: ChildProcess;
  /** The exit code, when every line was read. */
  exited: Promise<number | null>;
  text(): string;
  /** What it wrote on stderr, log lines aside. */
  complaints(): string[];
  printed(pattern: RegExp): Promise<string>;
  said(pattern: RegExp): Promise<string>;
}

async function spawnStartOn(redis: string): Promise<Started> {
  return spawnStart(['--port', String(await findFreePort()), '--redis', redis]);
}

function spawnStart(
  words: readonly string[],
  { program = entry, environment: more = {} }: { program?: string; environment?: NodeJS.ProcessEnv } = {},
): Started {
  const { REDIS_URL: _shared, SLUICE_REDIS_URL: _configured, ...environment } = process.env;
  const child = fork(program, [...words], {
    env: { ...environment, ...more },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const output: string[] = [];
  const errors: string[] = [];
  const reading = [
    { stream: child.stdout, lines: output },
    { stream: child.stderr, lines: errors },
  ].map(({ stream, lines }) => {
    if (!stream) throw new TypeError('both streams are pipes');
    const reader = createInterface({ input: stream }).on('line', (line) => lines.push(line));
    return once(reader, 'close');
  });
  let code: number | null | undefined;
  // Not `close`: it never comes once the channel was closed from this side.
  const exited = Promise.all([once(child, 'exit'), ...reading]).then(([ended]) => {
    const [value]: (number | null)[] = ended;
    code = value ?? null;
    return code;
  });
  const find = (lines: string[], pattern: RegExp) =>
    until(
      () => {
        const found = lines.find((line) => pattern.test(line));
        if (found === undefined && code !== undefined) throw new Error(`ended: ${errors.join('\n')}`);
        return found;
      },
      { timeoutMs: startLimitMs, what: String(pattern) },
    );
  const started = {
    process: child,
    exited,
    text: () => output.join('\n'),
    complaints: () => errors.filter((line) => !line.startsWith('{')),
    printed: (pattern: RegExp) => find(output, pattern),
    said: (pattern: RegExp) => find(errors, pattern),
  };
  children.push(started);
  return started;
}

async function start(words: readonly string[] = [], ports = 1) {
  const flags = ['--json', '--port', String(await findFreePort(ports)), ...words];
  const child = spawnStart(flags);
  const announcement: Announcement = JSON.parse(await child.printed(/^\{/));
  return { child, announcement };
}

async function ask(baseUrl: string, apiKey: string, model = 'sim'): Promise<unknown> {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 }),
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

async function paste(call: string): Promise<string> {
  return run(`${call} --silent --show-error --fail-with-body`);
}

/** What a shell in the folder of the repository prints. */
async function run(commands: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const cwd = join(import.meta.dirname, '../..');
  return new Promise((resolve, reject) => {
    execFile('sh', ['-ec', commands], { cwd, env }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
}

async function areGone(processes: readonly RunningProcess[]): Promise<void> {
  for (const { role, pid } of processes) {
    await until(() => !isAlive(pid), { timeoutMs: 15_000, what: `the end of ${role} ${pid}` });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
