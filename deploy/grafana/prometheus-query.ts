import { z } from 'zod';
import type { Query } from './panel.ts';
import { rows } from './rows.ts';

/** What Prometheus answered to the query of one panel. */
export interface Answer {
  readonly panel: string;
  readonly query: Query;
  /** Absent if the query is good and returns at least one series. */
  readonly complaint?: string;
}

const answerShape = z.looseObject({
  status: z.string(),
  error: z.string().optional(),
  data: z
    .looseObject({
      result: z.array(
        z.looseObject({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) }),
      ),
    })
    .optional(),
});

/** Asks a Prometheus every query of the dashboard, as Grafana would over the last minute. */
export async function askEveryQuery(prometheusUrl: string, signal: AbortSignal): Promise<Answer[]> {
  const asked = rows.flatMap((row) =>
    row.panels.flatMap((panel) =>
      panel.queries.map(async (query): Promise<Answer> => {
        const complaint = await ask(prometheusUrl, query, signal);
        const name = `${row.title} / ${panel.title}`;
        return { panel: name, query, ...(complaint !== undefined && { complaint }) };
      }),
    ),
  );
  return Promise.all(asked);
}

/** A query as Prometheus takes it, with Grafana's variables filled in. */
export function fillVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll('$pool', '.*');
}

async function ask(prometheusUrl: string, query: Query, signal: AbortSignal): Promise<string | undefined> {
  const parameters = new URLSearchParams({ query: fillVariables(query.expression) });
  const url = `${prometheusUrl.replace(/\/+$/, '')}/api/v1/query?${parameters}`;
  const body = await fetch(url, { signal }).then(
    (response) => response.json().catch(() => undefined),
    () => undefined,
  );
  const answer = answerShape.safeParse(body);
  if (!answer.success) return `no Prometheus answers at ${prometheusUrl}`;
  const { status, error, data } = answer.data;
  if (status !== 'success') return error ?? status;
  const series = data?.result ?? [];
  if (series.length === 0) return 'no data';
  // `NaN` is the quantile of an empty histogram.
  if (series.every(({ value }) => value[1] === 'NaN')) return 'no number';
  const labels = [...query.legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '');
  const missing = labels.filter((label) => !series.some(({ metric }) => label in metric));
  return missing.length === 0 ? undefined : `no label ${missing.join(', ')} for the legend`;
}
