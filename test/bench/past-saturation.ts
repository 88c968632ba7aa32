import { join } from 'node:path';
import { openTemporaryFolder } from '../support/temporary-folder.ts';
import type { Contender } from './contenders/contender.ts';
import { type RedisWay, startGateway } from './contenders/gateway.ts';
import { startUpstream } from './contenders/upstream.ts';
import { clientFindings, type LoadResult, runLoadtest } from './load.ts';

export interface PastSaturationOptions {
  quick: boolean;
  redis: RedisWay;
  /** Folder for results. */
  output: string;
  say(sentence: string): void;
  print(text: string): void;
}

/** A generation takes 125 ms in one of 32 slots: the model can do 256 requests/s. */
const model = 'paced-t50-n16-g5';
const slots = 32;
/** A request may wait for as long as its first token still meets the objective. */
const waitBudgetMs = 250;
const slo = ['--slo', 'ttft=500ms,tpot=20ms', '--attainment', '0.99'];
const factors = [1.5, 3];
const refusalLimitMs = 50;
const goodputShare = 0.9;

/**
 * Finds the highest load that meets the objective and offers 1.5 and 3 times as much. Goodput must stay, admitted
 * requests must be served in time, the others refused at once. Returns the exit code.
 */
export async function runPastSaturation(options: PastSaturationOptions): Promise<number> {
  const { quick, redis, output, say, print } = options;
  const upstream = await startUpstream();
  const folder = openTemporaryFolder('saturation');
  try {
    const gateway = await startGateway({
      upstream: upstream.url,
      redis,
      slots,
      waitBudgetMs,
      models: [model],
    });
    try {
      const duration = quick ? '5s' : '15s';
      const html = join(output, 'past-saturation.html');
      const search = await runLoadtest(
        gateway,
        [
          ...['search', '-m', model, '-d', duration, '--warmup', '2s', ...slo, '--search-from', '100'],
          ...['--beyond', '1.25,1.5,2,3', '--html', html, '--name', 'past saturation'],
        ],
        join(folder.path, 'search.json'),
      );
      const saturation = search.search?.saturationRate ?? 0;
      say(`capacity: ${saturation.toFixed(0)} requests/s meet the objective`);
      for (const finding of clientFindings(search)) say(finding);
      const best = Math.max(0, ...(search.search?.points ?? []).map(({ goodRate }) => goodRate));
      let isHeld = saturation > 0;
      for (const factor of factors) {
        const result = await offer(
          gateway,
          join(folder.path, `offer-${factor}.json`),
          saturation * factor,
          duration,
        );
        const verdict = judge(result, best);
        isHeld &&= verdict.isHeld;
        print(`${factor} × capacity: ${verdict.text}\n`);
        for (const finding of clientFindings(result)) say(finding);
      }
      print(`The plot is in ${html}.\n`);
      return isHeld ? 0 : 1;
    } finally {
      await gateway.stop();
    }
  } finally {
    await upstream.stop();
    folder.remove();
  }
}

function offer(gateway: Contender, path: string, rate: number, duration: string): Promise<LoadResult> {
  const words = ['run', '-m', model, '-r', rate.toFixed(1), '-d', duration, '--warmup', '2s', ...slo];
  return runLoadtest(gateway, words, path);
}

function judge({ rates, totals, metrics }: LoadResult, best: number) {
  const share = rates.good / best;
  const admitted = totals.ok + totals.failed;
  const attainment = totals.good / admitted;
  const refusalMs = metrics.refusal.percentiles.p99;
  const isHeld = share >= goodputShare && attainment >= 0.99 && refusalMs <= refusalLimitMs;
  return {
    isHeld,
    text:
      `${rates.offered.toFixed(0)} offered/s, goodput ${rates.good.toFixed(0)}/s = ${percent(share)} of its maximum, ` +
      `${percent(attainment)} of the admitted met the objective (TTFT p99 ${metrics.ttft.percentiles.p99.toFixed(0)} ms), ` +
      `${totals.refused} × 429 in ${refusalMs.toFixed(1)} ms p99, ${totals.failed} failed: ${isHeld ? 'held' : 'MISSED'}`,
  };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
