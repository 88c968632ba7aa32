// Usage: npm run check -w @sluice/grafana -- http://127.0.0.1:9090
// Runs the query of every panel and fails if one is refused or returns nothing. Send traffic first.
import { askEveryQuery } from './prometheus-query.ts';

const limitMs = 30_000;
const [prometheusUrl] = process.argv.slice(2);
if (prometheusUrl === undefined || !URL.canParse(prometheusUrl)) {
  console.error('usage: npm run check -w @sluice/grafana -- PROMETHEUS_URL');
  process.exit(2);
}
const answers = await askEveryQuery(prometheusUrl, AbortSignal.timeout(limitMs));
const bad = answers.filter(({ complaint }) => complaint !== undefined);
for (const { panel, query, complaint } of bad) {
  console.error(`${panel}: ${complaint}\n  ${query.expression}`);
}
console.log(`${answers.length - bad.length} of ${answers.length} queries give data`);
process.exitCode = bad.length === 0 ? 0 : 1;
