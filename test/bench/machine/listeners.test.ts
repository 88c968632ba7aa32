import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { findListeners } from './listeners.ts';

const parent = `
  const { spawn } = require('node:child_process');
  const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    console.log(server.address().port + ' ' + child.pid);
  });
`;

test('who listens at a port is found with what it has started', async () => {
  const server = spawn(process.execPath, ['-e', parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    server.kill('SIGKILL');
  });
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  const [port, child] = String(line).split(' ').map(Number);
  onTestFinished(() => {
    process.kill(Number(child), 'SIGKILL');
  });
  expect(findListeners(Number(port)).sort()).toEqual([server.pid, child].sort());
});

test('nobody is found where nobody listens', () => {
  expect(findListeners(1)).toEqual([]);
});
