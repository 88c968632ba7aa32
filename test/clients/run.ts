import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { type ChatServer, startChatServer, startOwnRedis } from '@sluice/testing';
import { readCommandLine } from '../support/command-line.ts';
import { exitOnSignals } from '../support/exit-on-signals.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import {
  type Assignment,
  type CodingClient,
  codingClients,
  type Dialect,
  dialects,
} from './coding-clients.ts';
import { playTask } from './tool-loop.ts';

/** How long one client may take for its task, milliseconds. */
const limitMs = 120_000;
const run = promisify(execFile);

/** Set for the second run of this program, which has no network but loopback. */
const installedVariable = 'SLUICE_CLIENTS_FOLDER';

const help = `Installs the latest coding clients from the registry and gives each a task, without a network.
It has no flags but --help.
`;

readCommandLine(help, () => parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values);
exitOnSignals();
const installed = process.env[installedVariable];
process.exitCode = await (installed === undefined ? installAndIsolate() : tryAll(installed));

/** Installs the clients from the registry and starts this program again without a network. */
async function installAndIsolate(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clients-'));
  const children: ChildProcess[] = [];
  // Half a gigabyte, which has to go when the program is interrupted, too; the processes that write there end first.
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const names = codingClients.map(({ name }) => `${name}@latest`);
  process.stdout.write(`installing ${names.join(' ')}\n`);
  const installing = run('npm', ['install', '--no-audit', '--no-fund', ...names], { cwd: folder });
  children.push(installing.child);
  await installing;
  const shell = 'ip link set lo up && exec "$0" "$@"';
  // A user who is not root becomes root in a namespace of its own.
  const flags = process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-root-user'];
  const self = [process.execPath, fileURLToPath(import.meta.url)];
  const child = spawn('unshare', [...flags, 'sh', '-c', shell, ...self], {
    stdio: 'inherit',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, [installedVariable]: folder },
  });
  children.push(child);
  return await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/**
 * Gives every client the task once for each dialect that is not its own. Resolves to the exit code: 0 if all of them
 * finished it.
 */
async function tryAll(folder: string): Promise<number> {
  const redis = await startOwnRedis();
  const frontRedis = await startOwnRedis();
  const server = await startChatServer({ models: ['scripted'] });
  const behind = await startGateway({
    redis,
    settings: {
      pools: { scripted: { backend: { engine: 'upstream', baseUrl: server.baseUrl } } },
      models: { scripted: model('scripted') },
    },
  });
  const gateway = await startGateway({ redis: frontRedis, settings: frontSettings(server, behind) });
  try {
    let failed = 0;
    for (const client of codingClients) {
      for (const dialect of dialects) {
        if (dialect === client.format) continue;
        const complaint = await report(client, dialect, folder, gateway, server);
        if (complaint !== undefined) failed += 1;
      }
    }
    return failed === 0 ? 0 : 1;
  } finally {
    await gateway.stop();
    await behind.stop();
    await server.stop();
    await redis.stop();
    await frontRedis.stop();
  }
}

/**
 * A model for each dialect. The scripted server speaks one of them; another gateway in front of it speaks the others.
 */
function frontSettings(server: ChatServer, { baseUrl, apiKey: credential }: Gateway): object {
  const other = (dialect: Dialect) => ({ backend: { engine: 'upstream', dialect, baseUrl, credential } });
  return {
    pools: {
      openai: { backend: { engine: 'upstream', baseUrl: server.baseUrl } },
      anthropic: other('anthropic'),
      gemini: other('gemini'),
    },
    models: Object.fromEntries(dialects.map((dialect) => [modelOf(dialect), model(dialect)])),
  };
}

function modelOf(dialect: Dialect): string {
  return `scripted-${dialect}`;
}

function model(pool: string): object {
  return { pool, backendModel: 'scripted', contextTokens: 200_000, maxOutputTokens: 32_000 };
}

async function report(
  client: CodingClient,
  dialect: Dialect,
  folder: string,
  gateway: Gateway,
  server: ChatServer,
): Promise<string | undefined> {
  const before = server.exchanges.length;
  const complaint = await tryOne(client, dialect, folder, gateway, server);
  const calls = server.exchanges.length - before;
  const manifest = await readFile(join(folder, 'node_modules', client.name, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  process.stdout.write(
    `${client.name} ${version} (${client.format}) with an upstream of ${dialect}, ${calls} calls to the model: ` +
      `${complaint ?? 'finished its task'}\n`,
  );
  return complaint;
}

/** Resolves to what was wrong; absent if nothing was. */
async function tryOne(
  client: CodingClient,
  dialect: Dialect,
  folder: string,
  gateway: Gateway,
  server: ChatServer,
): Promise<string | undefined> {
  const home = join(folder, `home-${client.program}-${dialect}`);
  const workspace = join(folder, `work-${client.program}-${dialect}`);
  const path = join(workspace, 'proof.txt');
  const content = `proof ${randomUUID()}`;
  const lastWord = `finished ${randomUUID()}`;
  const assignment: Assignment = {
    baseUrl: gateway.baseUrl,
    apiKey: gateway.apiKey,
    model: modelOf(dialect),
    prompt: 'Write the proof into proof.txt.',
  };
  await mkdir(home, { recursive: true });
  await mkdir(workspace, { recursive: true });
  for (const [name, value] of Object.entries(client.files(assignment))) {
    const file = name.startsWith('~/') ? join(home, name.slice(2)) : join(workspace, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(value));
  }
  server.answerWith(playTask({ path, content, lastWord }));
  const { code, output } = await start(join(folder, 'node_modules/.bin', client.program), {
    arguments: client.arguments(assignment),
    cwd: workspace,
    environment: {
      PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
      HOME: home,
      ...client.environment(assignment),
    },
  });
  const written = await readFile(path, 'utf8').catch(() => '');
  if (code === 0 && written.trim() === content && output.includes(lastWord)) return undefined;
  return `failed with code ${code}\n${output.slice(-4_000)}`;
}

interface Start {
  arguments: readonly string[];
  cwd: string;
  environment: Record<string, string>;
}

function start(program: string, options: Start): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...options.arguments], {
      cwd: options.cwd,
      env: options.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
