import { readFlags, refuse } from '../command-line.ts';
import { standardCorpus } from './bad-input.ts';
import { runOverHttp } from './http-run.ts';

const usage =
  'usage: npm run corpus -- --url http://127.0.0.1:8080 --key sk-… [--model sim] [--seed N] [--mutations N]\n' +
  'Sends thousands of bad requests to a running gateway; fails on a 5xx, a hang or an answer of a wrong shape.\n';

const values = readFlags(usage, {
  url: { type: 'string' },
  key: { type: 'string' },
  model: { type: 'string', default: 'sim' },
  seed: { type: 'string', default: String(standardCorpus.seed) },
  mutations: { type: 'string', default: String(standardCorpus.mutations * 2) },
  concurrency: { type: 'string', default: '16' },
});

async function run(url: string, key: string): Promise<void> {
  const report = await runOverHttp({
    url: new URL(url),
    key,
    model: values.model,
    seed: Number(values.seed),
    mutations: Number(values.mutations),
    concurrency: Number(values.concurrency),
    timeoutMs: 20_000,
  });
  const statuses = [...report.statuses].sort(([left], [right]) => left - right);
  const at = (share: number) =>
    report.refusalsMs[Math.floor((report.refusalsMs.length - 1) * share)]?.toFixed(1);
  process.stdout.write(`${report.sent} bad requests\n`);
  for (const [status, count] of statuses) process.stdout.write(`  ${nameOf(status).padEnd(10)} ${count}\n`);
  process.stdout.write(`refusals: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms\n`);
  for (const failure of report.failures) process.stdout.write(`FAILED ${failure}\n`);
  process.stdout.write(`${report.failures.length} failures\n`);
  // Kept-alive connections must not keep the command running.
  process.exit(report.failures.length === 0 ? 0 : 1);
}

function nameOf(status: number): string {
  if (status === -1) return 'no answer';
  return status === 0 ? 'cut' : String(status);
}

if (values.url === undefined || values.key === undefined) refuse(usage, '--url and --key are missing');
if (!URL.canParse(values.url)) refuse(usage, '--url takes an address as http://127.0.0.1:8080');
await run(values.url, values.key);
