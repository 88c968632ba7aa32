import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describeMetrics } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { buildDashboard, formatDashboard } from './dashboard.ts';
import { askEveryQuery, fillVariables } from './prometheus-query.ts';
import { rows } from './rows.ts';

const queries = rows.flatMap((row) => row.panels.flatMap((panel) => panel.queries));
const metrics = new Map(describeMetrics().map((metric) => [metric.name, metric]));
const rules = readFileSync(new URL('../prometheus/rules.yml', import.meta.url), 'utf8');
const alerts = readFileSync(new URL('../prometheus/alerts.yml', import.meta.url), 'utf8');

function metricsIn(text: string): string[] {
  const names = [...text.matchAll(/\bsluice_[a-z_]+/g)].map(([name]) => name.replace(/_(bucket|count)$/, ''));
  return [...new Set(names)];
}

describe('the dashboard', () => {
  it('is committed as it is built: npm run dashboards -w @sluice/grafana', () => {
    expect(readFileSync(new URL('./dashboards/sluice.json', import.meta.url), 'utf8')).toBe(
      formatDashboard(),
    );
  });

  it('shows every panel once, without overlaps', () => {
    const taken = new Set<string>();
    for (const { gridPos } of buildDashboard().panels ?? []) {
      if (!gridPos) throw new Error('a panel without a place');
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken).not.toContain(`${x},${y}`);
          taken.add(`${x},${y}`);
        }
      }
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    }
  });

  it('is red where something is wrong, and not where much is going on', () => {
    const colours = (title: string, value: number) => {
      const panel = buildDashboard().panels?.find((each) => each.title === title);
      const steps =
        (panel && 'fieldConfig' in panel && panel.fieldConfig?.defaults?.thresholds?.steps) || undefined;
      return steps?.findLast((step) => step.value === null || step.value <= value)?.color;
    };
    expect([0, 1].map((value) => colours('Redis', value))).toEqual(['red', 'green']);
    expect([0, 0.04, 0.05, 1].map((value) => colours('Failures', value))).toEqual([
      ...['green', 'green', 'red', 'red'],
    ]);
    expect([0.5, 1].map((value) => colours('Slots in use', value))).toEqual(['green', 'red']);
    for (const title of ['Requests', 'Output tokens', 'Time to first token, p99'])
      expect([0, 1_000].map((value) => colours(title, value))).toEqual(['text', 'text']);
  });

  it('asks the Prometheus that its reader chooses, the default one at first', () => {
    const { panels = [], templating } = buildDashboard();
    const asked = panels.flatMap((panel) => ('datasource' in panel ? [panel.datasource?.uid] : []));
    expect(asked.length).toBeGreaterThan(20);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own variable.
    expect(new Set(asked)).toEqual(new Set(['${datasource}']));
    const [first] = templating?.list ?? [];
    expect(first).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(first?.current?.value).toBe('default');
  });

  it('asks only for metrics that there are', () => {
    const unknown = queries
      .flatMap(({ expression }) => metricsIn(expression))
      .filter((name) => !metrics.has(name));
    expect(unknown).toEqual([]);
  });

  it('shows every metric that there is', () => {
    const shown = new Set(metricsIn(`${queries.map(({ expression }) => expression).join(' ')} ${rules}`));
    const missing = [...metrics.keys()].filter((name) => !shown.has(name));
    expect(missing).toEqual([]);
  });

  it('draws no line without a label that its legend names', () => {
    const nameless = queries.filter(
      ({ expression, legend }) => legend.includes('{{') && expression.includes('vector('),
    );
    expect(nameless).toEqual([]);
  });

  it('shows no processes of others: their runtimes have metrics of the same names', () => {
    const shared = queries.filter(({ expression }) => /\b(up|process_\w+|nodejs_\w+)\b/.test(expression));
    expect(shared.length).toBeGreaterThan(0);
    expect(
      shared.filter(({ expression }) => !expression.includes('job=~"sluice-ingress|sluice-worker"')),
    ).toEqual([]);
  });

  it('counts frames as mended only where something was lost, not where a client left or reads slowly', () => {
    const shown = queries.filter(({ expression }) => expression.includes('sluice_frames_dropped_total'));
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.filter(({ expression }) => !expression.includes('{reason!~"unknown|paused"}'))).toEqual([]);
  });

  it('asks only for recorded sums that there are', () => {
    const asked = queries.flatMap(({ expression }) => expression.match(/\bsluice:[a-z0-9_:]+/g) ?? []);
    expect(asked.filter((name) => !rules.includes(`record: ${name}\n`))).toEqual([]);
  });
});

describe('rules and alerts', () => {
  it('ask only for metrics that there are', () => {
    expect(metricsIn(`${rules} ${alerts}`).filter((name) => !metrics.has(name))).toEqual([]);
  });

  it('tell apart what calls for workers, for a larger Redis and for ingresses', () => {
    const selectors = ['="saturation"', '="memory"', '="overload"', '=~"prompts|bodies"'];
    for (const selector of selectors) {
      expect(alerts.split('- alert:').filter((rule) => rule.includes(`{limit${selector}}`))).toHaveLength(1);
    }
  });
});

describe('askEveryQuery', () => {
  it('complains of refusals, of emptiness, of quantiles of nothing and of legends without a label, and of nothing else', async () => {
    const bodies = [
      { status: 'error', error: 'parse error' },
      { status: 'success', data: { result: [] } },
      { status: 'success', data: { result: [{ metric: {}, value: [0, 'NaN'] }] } },
      { status: 'success', data: { result: [{ metric: {}, value: [0, '1'] }] } },
    ];
    const complaints = await Promise.all(
      bodies.map(async (body) => (await askAgainst(body)).map((it) => it.complaint)),
    );
    expect(new Set(complaints[0])).toEqual(new Set(['parse error']));
    expect(new Set(complaints[1])).toEqual(new Set(['no data']));
    expect(new Set(complaints[2])).toEqual(new Set(['no number']));
    expect(complaints[3]).toContain(undefined);
    expect(complaints[3]).toContain('no label outcome for the legend');
  });

  it('fills in what Grafana would', () => {
    expect(fillVariables('rate(a{pool=~"$pool"}[$__rate_interval])')).toBe('rate(a{pool=~".*"}[1m])');
    expect(
      queries.map(({ expression }) => fillVariables(expression)).filter((text) => text.includes('$')),
    ).toEqual([]);
  });
});

async function askAgainst(body: object) {
  const server = createServer((_request, response) => response.end(JSON.stringify(body)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  try {
    return await askEveryQuery(`http://127.0.0.1:${address.port}/`, new AbortController().signal);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
