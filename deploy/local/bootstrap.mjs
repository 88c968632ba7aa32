// The first lines of `npm start` and `npm test`. They run on any Node from 20 on, before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = join(root, 'node_modules', '.bin');
const node = join(bin, 'node');
const stamp = join(root, 'node_modules', '.sluice-installed');
const stateFolder = join(root, '.sluice');
const lock = join(stateFolder, 'installing');
const environment = {
  // What a start compiles is kept for the next, which then takes half the CPU time.
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node-compile'),
  ...process.env,
  PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
  NX_DAEMON: 'false',
};

const parentPollMs = 500;
const lockPollMs = 200;
const emptyLockMs = 5_000;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

const commands = { start, test };
const [command = '', ...words] = process.argv.slice(2);
if (!Object.hasOwn(commands, command)) {
  console.error('usage: node deploy/local/bootstrap.mjs start|test [arguments]');
  process.exit(2);
}
process.exit(await commands[command](words));

async function start(flags) {
  for (const step of [install, ...(existsSync(modelFileOf(flags)) ? [installLlamaCpp] : [])]) {
    const code = await step();
    if (code !== 0) return code;
  }
  return run(
    node,
    [join(root, 'deploy', 'local', 'start.ts'), ...flags],
    ['inherit', 'inherit', 'inherit', 'ipc'],
  );
}

async function test(flags) {
  const steps = [
    install,
    () => runNpm(['run', '--silent', 'typecheck'], 'inherit'),
    () => run(join(bin, 'biome'), ['check', '.']),
    () => run(node, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...flags]),
  ];
  for (const step of steps) {
    const code = await step();
    if (code !== 0) return code;
  }
  return 0;
}

/** Installs when nothing is installed yet, or when the lock file or a manifest has changed since. */
async function install() {
  return onlyOne(isInstalled, async () => {
    console.error('installing packages');
    const code = await npmInstall([]);
    if (code === 0) writeFileSync(stamp, fingerprint());
    return code;
  });
}

/** The model file of --gguf; empty if there is none. That a file is missing is reported when the flags are parsed. */
function modelFileOf(flags) {
  if (flags.includes('--help') || flags.includes('-h')) return '';
  const index = flags.findIndex((flag) => flag === '--gguf' || flag.startsWith('--gguf='));
  if (index < 0) return '';
  return flags[index].slice('--gguf='.length) || (flags[index + 1] ?? '');
}

/** Installs node-llama-cpp. It is no dependency of ours, so each `npm install` removes it. */
async function installLlamaCpp() {
  const isThere = () => existsSync(join(root, 'node_modules', 'node-llama-cpp'));
  return onlyOne(isThere, () => {
    console.error('installing node-llama-cpp with its builds for graphics cards (up to 900 MB)');
    return npmInstall(['node-llama-cpp@3']);
  });
}

/** Installs what is missing, in one process at a time. Resolves to an exit code. */
async function onlyOne(isThere, installIt) {
  if (isThere()) return 0;
  await takeLock();
  try {
    // Another process may have done it while this one waited.
    return isThere() ? 0 : await installIt();
  } finally {
    rmSync(lock, { force: true });
  }
}

function isInstalled() {
  return existsSync(node) && existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint();
}

function fingerprint() {
  const hash = createHash('sha256');
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folders = workspaces.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    return readdirSync(join(root, parent)).map((name) => `${parent}/${name}`);
  });
  const manifests = folders.sort().map((folder) => `${folder}/package.json`);
  for (const name of ['package-lock.json', 'package.json', ...manifests]) {
    const path = join(root, name);
    if (existsSync(path)) hash.update(name).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/**
 * Takes the lock of installing: two installs into one folder would break each other. A lock that its owner has left
 * behind is void.
 */
async function takeLock() {
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  let isWaiting = false;
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isOwnerGone()) {
      rmSync(lock, { force: true });
      continue;
    }
    if (!isWaiting) console.error('waiting for another process, which installs packages');
    isWaiting = true;
    await sleep(lockPollMs);
  }
}

/**
 * Whether nobody holds the lock any more. That a process of its number lives is no proof: a container gives the same
 * numbers again, even our own. Where the system does not show what that process is, it counts as the owner.
 */
function isOwnerGone() {
  try {
    const owner = readFileSync(lock, 'utf8');
    // Its owner has just made it and is about to write its number. If it is older, a full disk has left it so.
    if (owner === '') return Date.now() - statSync(lock).mtimeMs > emptyLockMs;
    if (owner === String(process.pid)) return true;
    process.kill(Number(owner), 0);
    const program = readProcess(owner, 'cmdline');
    return program !== '' && !program.includes('bootstrap.mjs');
  } catch (error) {
    return error.code === 'ESRCH' || error.code === 'ENOENT';
  }
}

/** `npm install` and not `npm ci`, which first deletes everything, including the package for model files. */
function npmInstall(packages) {
  const npmWords = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', ...packages];
  // npm's output goes to stderr: a program may read our stdout.
  return runNpm(npmWords, 2);
}

function runNpm(npmWords, stdout) {
  const script = process.env.npm_execpath;
  const stdio = ['inherit', stdout, 'inherit'];
  // The npm that started this run, if there is one.
  return script?.endsWith('.js') || script?.endsWith('.cjs')
    ? run(process.execPath, [script, ...npmWords], stdio)
    : run('npm', npmWords, stdio);
}

/** Runs a program to its end and passes on every signal. Resolves to its exit code, as a shell would report it. */
function run(program, programWords, stdio = 'inherit') {
  return new Promise((resolve) => {
    const child = spawn(program, programWords, { cwd: root, env: environment, stdio });
    const forward = (signal) => child.kill(signal);
    for (const signal of signals) process.on(signal, forward);
    const parent = watchParent(() => child.kill('SIGTERM'));
    child.once('error', (error) => {
      console.error(`${program} does not run: ${error.message}`);
      resolve(127);
    });
    child.once('exit', (code, signal) => {
      for (const name of signals) process.off(name, forward);
      clearInterval(parent);
      resolve(code ?? 128 + (signalNumbers[signal] ?? 0));
    });
  });
}

/**
 * npm has no channel to its scripts: a killed npm shows only by a change of the parent process. If npm's shell stays
 * between, the shell's parent is watched, too.
 */
function watchParent(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  const isShell = /^(ba|da|a|z|k)?sh$/.test(readProcess(parent, 'comm').trim());
  const grandparent = isShell ? parentOf(parent) : undefined;
  return setInterval(() => {
    const isOrphan = process.ppid !== parent || (isShell && parentOf(parent) !== grandparent);
    if (isOrphan) onGone();
  }, parentPollMs);
}

function parentOf(pid) {
  // The second field is a name in parentheses that may hold anything; the parent is the second field after it.
  const stat = readProcess(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
}

/** A file of a process in /proc; empty if the system has none. */
function readProcess(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
