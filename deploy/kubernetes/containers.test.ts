import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ingressEnvironment } from '@sluice/ingress';
import { describeEnvironment, threadOptions } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Service {
  image?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  healthcheck?: { test?: string[]; start_period?: string };
  volumes?: (string | { target: string; bind?: { create_host_path?: boolean } })[];
}
const services: Record<string, Service> = parse(read('docker-compose.yml'), { merge: true }).services;

describe('the services of docker compose', () => {
  it.each(['ingress', 'worker', 'sluice', 'redis', 'prometheus'])(
    'confine %s as the cluster does',
    (name) => {
      expect(services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    },
  );

  it.each(['ingress', 'worker'])('leave %s the time to drain', (name) => {
    const limit = describeEnvironment(ingressEnvironment).find(
      (setting) => setting.name === 'SLUICE_DRAIN_LIMIT_MS',
    );
    const graceMs = Number.parseInt(services[name]?.stop_grace_period ?? '', 10) * 1000;
    expect(graceMs).toBeGreaterThanOrEqual(Number(limit?.defaultValue) + 10_000);
  });

  it.each(['ingress', 'worker'])('make no folder where %s finds no settings file', (name) => {
    const settings = { target: '/etc/sluice/settings.yaml', bind: { create_host_path: false } };
    expect(services[name]?.volumes).toEqual([expect.objectContaining(settings)]);
  });

  it('take Redis for healthy when it has read its log back, however long that takes', () => {
    // Without -e the program ends well whatever Redis says, as LOADING.
    expect(services.redis?.healthcheck).toMatchObject({
      test: ['CMD', 'redis-cli', '-e', 'ping'],
      start_period: '300s',
    });
  });
});

describe('the image', () => {
  it('lacks no source that a source in it imports', () => {
    const exclude = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !/^[#!]/.test(line));
    const held = new Set(globSync('{libs/*,apps/{ingress,worker,cli}}/src/**/*.ts', { cwd: root, exclude }));
    expect(held).toContain('apps/ingress/src/main.ts');
    const imports = [...held].flatMap((path) =>
      [...read(path).matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, target = '']) => ({
        path,
        target: join(dirname(path), target),
      })),
    );
    expect(imports.filter(({ target }) => !held.has(target))).toEqual([]);
  });
});

describe('the start of the image', () => {
  it('gives Node the options of a process that serves', () => {
    const [, words = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(read('deploy/docker/Dockerfile')) ?? [];
    expect(JSON.parse(words)).toEqual(['node', ...threadOptions, 'app/src/main.ts']);
  });
});

describe('the health check of the image', () => {
  const [, words = '[]'] =
    /^HEALTHCHECK [^\n]*\\\n\s*CMD (\[.*\])$/m.exec(read('deploy/docker/Dockerfile')) ?? [];
  const [program = '', ...rest]: string[] = JSON.parse(words);

  const exitCode = (port: number) =>
    new Promise<number>((resolve) => {
      const env = { ...process.env, SLUICE_OPS_PORT: String(port) };
      const child = execFile(program, rest, { env }, () => resolve(child.exitCode ?? -1));
    });

  it.each([
    ['well where the process is ready', 200, 0],
    ['ill where it is not', 503, 1],
    ['ill where it knows no such question', 404, 1],
  ])('is %s', async (_what, status, expected) => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/readyz' ? status : 500).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await exitCode(port)).toBe(expected);
    await new Promise((resolve) => server.close(resolve));
    // And where nobody listens any more.
    expect(await exitCode(port)).toBe(1);
  });
});
