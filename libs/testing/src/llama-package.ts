import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const version = '3.22.1';
const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = join(root, 'node_modules', '.cache', 'sluice', `node-llama-cpp-${version}`);
/** The CPU build for each platform. Builds for graphics cards are ten times as large. */
const builds: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'mac-x64',
  'darwin-arm64': 'mac-arm64-metal',
  'win32-x64': 'win-x64',
};

/**
 * The URL of the module `node-llama-cpp`. It is no dependency of ours: users who embed a model install it themselves.
 * The first call on a machine installs it (85 MB) for all later calls.
 */
export async function findLlamaPackage(): Promise<string> {
  const entry = join(folder, 'node_modules', 'node-llama-cpp', 'dist', 'index.js');
  if (!existsSync(entry)) await install();
  return pathToFileURL(entry).href;
}

async function install(): Promise<void> {
  const platform = `${process.platform}-${process.arch}`;
  const build = builds[platform];
  if (!build) throw new Error(`there is no build of node-llama-cpp for ${platform}`);
  await mkdir(dirname(folder), { recursive: true });
  // Installed elsewhere and renamed, so that a concurrent caller finds all of it or nothing.
  const draft = await mkdtemp(`${folder}-`);
  const packages = [`node-llama-cpp@${version}`, `@node-llama-cpp/${build}@${version}`];
  const flags = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await promisify(execFile)('npm', ['install', '--prefix', draft, ...flags, ...packages], { cwd: draft });
    await rename(draft, folder);
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw thrown;
  }
}
