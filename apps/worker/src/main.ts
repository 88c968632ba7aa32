import { keepAllocationsYoung, type Purpose, readPurpose, yieldToMainThread } from '@sluice/runtime';
import { startProcess } from './process.ts';
import { reportSettings } from './report-settings.ts';
import { startSupervisor } from './supervise.ts';

const purpose = readPurpose('worker');
keepAllocationsYoung();
yieldToMainThread();

await run(purpose).catch((error: Error) => {
  process.stderr.write(`sluice worker: ${error.message}\n`);
  process.exit(1);
});

function run(purpose: Purpose): Promise<void> {
  if (purpose === 'check') return reportSettings(process.env);
  // The supervisor runs this same file for each process under it. An empty value counts as unset, as for every setting.
  const worker = process.env.SLUICE_WORKER_ID?.trim();
  return worker ? startProcess(worker, process.env) : startSupervisor(process.env);
}
