#!/usr/bin/env node
// Runs on any Node: one that can't strip types hands over to the Node that the repository installs.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 23 || (major === 23 && minor >= 6)) {
  const { main } = await import('../src/main.ts');
  await main(process.argv.slice(2));
} else {
  const installed = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url));
  if (!existsSync(installed)) {
    console.error(`node ${process.versions.node} is too old: install dependencies first, or use Node 24`);
    process.exit(1);
  }
  const child = spawn(installed, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}
