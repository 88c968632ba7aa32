import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createRegistry, describeMetrics, type MetricDescription, renderMetrics } from '@sluice/runtime';
import { findFreePort, until } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { type Answer, askEveryQuery } from './prometheus-query.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../prometheus', import.meta.url));
const isInstalled = spawnSync('prometheus', ['--version']).status === 0;
const startLimitMs = 45_000;

// Where Prometheus is not installed, the other tests still hold queries and rules against the metrics by name.
describe.skipIf(!isInstalled)('a real Prometheus', { timeout: 60_000 }, () => {
  it('answers every query of the dashboard, once there was some of everything', async () => {
    const state = await mkdtemp(join(tmpdir(), 'sluice-prometheus-'));
    await using metrics = await serveMetrics();
    const port = await findFreePort();
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(folder, 'rules.yml'), join(folder, 'alerts.yml')],
      scrape_configs: [{ job_name: 'sluice-ingress', static_configs: [{ targets: [metrics.address] }] }],
    };
    await writeFile(join(state, 'prometheus.yml'), JSON.stringify(config));
    const prometheus = spawn('prometheus', [
      `--config.file=${join(state, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(state, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    const ended = once(prometheus, 'exit');
    try {
      let answers: Answer[] = [];
      const bad = () => answers.filter(({ complaint }) => complaint !== undefined);
      await until(
        async () => {
          answers = await askEveryQuery(`http://127.0.0.1:${port}`, AbortSignal.timeout(startLimitMs));
          return bad().length === 0;
        },
        { timeoutMs: startLimitMs, intervalMs: 500 },
      ).catch(() => undefined);
      expect(bad().map(({ panel, query, complaint }) => [panel, query.expression, complaint])).toEqual([]);
      expect(answers.length).toBeGreaterThan(0);
    } finally {
      prometheus.kill('SIGKILL');
      await ended;
      await rm(state, { recursive: true, force: true });
    }
  });

  it('raises the alerts of the cases in tests.yml', async () => {
    const { stdout } = await run('promtool', ['test', 'rules', 'tests.yml'], { cwd: folder });
    expect(stdout).toContain('SUCCESS');
  });
});

/** Every metric that there is, with every label; all that counts grows from scrape to scrape. */
async function serveMetrics() {
  // Those of the runtime itself, which every registry has.
  const registry = createRegistry();
  let scrapes = 0;
  const server = createServer(async (_request, response) => {
    scrapes += 1;
    const own = describeMetrics().map((metric) => printMetric(metric, scrapes));
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    const { body } = await renderMetrics(registry);
    response.end(`${body}\n${own.join('')}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return {
    address: `127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function printMetric({ name, type, labels }: MetricDescription, value: number): string {
  const series = labels.reduce<string[]>(
    (rows, label) => rows.flatMap((row) => valuesOf(label).map((one) => `${row}${label.name}="${one}",`)),
    [''],
  );
  const lines = series.flatMap((row) =>
    type === 'histogram'
      ? [
          `${name}_bucket{${row}le="0.1"} ${value}`,
          `${name}_bucket{${row}le="+Inf"} ${value}`,
          `${name}_sum{${row}} ${value * 0.05}`,
          `${name}_count{${row}} ${value}`,
        ]
      : [`${name}{${row}} ${value}`],
  );
  return [`# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

/** The listed ones; for those that come from a configuration, one. */
function valuesOf({ values }: { values: string }): string[] {
  return values.startsWith('the ') ? ['one'] : values.split(', ');
}
