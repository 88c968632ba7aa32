import { keepAllocationsYoung, type Purpose, readPurpose, yieldToMainThread } from '@sluice/runtime';
import { processSeat } from './config.ts';
import { reportSettings } from './report-settings.ts';
import { startIngress } from './start.ts';
import { startSupervisor } from './supervise.ts';

const purpose = readPurpose('ingress');
keepAllocationsYoung();
yieldToMainThread();

await run(purpose).catch((error: Error) => {
  process.stderr.write(`sluice ingress: ${error.message}\n`);
  process.exit(1);
});

function run(purpose: Purpose): Promise<void> {
  if (purpose === 'check') return reportSettings(process.env);
  // An empty value counts as unset, as it does for every setting.
  const isOneOfSeveral = Boolean(process.env[processSeat]?.trim());
  const wantsSeveral = Number(process.env.SLUICE_PROCESSES ?? 1) > 1;
  // The supervisor runs this same file once for each process under it. A single process needs no supervisor.
  return wantsSeveral && !isOneOfSeveral ? startSupervisor(process.env) : startIngress(process.env);
}
