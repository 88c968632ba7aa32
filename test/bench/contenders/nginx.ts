import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '@sluice/testing';
import { openTemporaryFolder } from '../../support/temporary-folder.ts';
import { killWithUs } from '../machine/kill-with-us.ts';
import { openFilesLimit } from '../machine/machine.ts';
import { childrenOf } from '../machine/processes.ts';
import type { Contender } from './contender.ts';

const startLimitMs = 5_000;
const pauseMs = 20;

/** Starts nginx as a bare, unbuffered proxy with one worker; undefined if it is not installed. */
export async function startNginx(upstream: string): Promise<Contender | undefined> {
  if (spawnSync('nginx', ['-v']).status !== 0) return undefined;
  const temporary = openTemporaryFolder('nginx');
  const folder = temporary.path;
  const port = await findFreePort();
  const config = join(folder, 'nginx.conf');
  await writeFile(config, settings({ folder, port, upstream: new URL(upstream).host }));
  const child = spawn('nginx', ['-c', config, '-p', folder, '-e', join(folder, 'error.log')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  // SIGTERM, since SIGKILL would leave its worker behind.
  killWithUs(child, 'SIGTERM');
  const url = `http://127.0.0.1:${port}`;
  await awaitAnswer(`${url}/stats`);
  const pids = child.pid === undefined ? [] : childrenOf(child.pid);
  return {
    kind: 'proxy',
    name: 'nginx',
    url,
    roles: pids.map((pid) => ({ role: 'proxy', pid })),
    async startAnother() {
      const another = await startNginx(upstream);
      if (!another) throw new Error('nginx is gone');
      return another;
    },
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      temporary.remove();
    },
  };
}

function settings(options: { folder: string; port: number; upstream: string }): string {
  const { folder, port, upstream } = options;
  const files = Math.min(60_000, openFilesLimit());
  return `
daemon off;
worker_processes 1;
worker_rlimit_nofile ${files};
pid ${folder}/nginx.pid;
error_log ${folder}/error.log crit;
events { worker_connections ${files - 100}; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 100000000;
  upstream model { server ${upstream}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`;
}

async function awaitAnswer(url: string): Promise<void> {
  const endAt = performance.now() + startLimitMs;
  for (;;) {
    const isUp = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return;
    if (performance.now() > endAt) throw new Error('nginx does not serve');
    await sleep(pauseMs);
  }
}
