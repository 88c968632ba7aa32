import { keepAllocationsYoung, refuseArguments, yieldToMainThread } from '@sluice/runtime';
import { startProcess } from './process.ts';
import { startSupervisor } from './supervise.ts';

refuseArguments('worker');
keepAllocationsYoung();
yieldToMainThread();

// The supervisor runs this same file for each process under it. An empty value counts as unset, as for every setting.
const worker = process.env.SLUICE_WORKER_ID?.trim();
const started = worker ? startProcess(worker, process.env) : startSupervisor(process.env);

await started.catch((error: Error) => {
  process.stderr.write(`sluice worker: ${error.message}\n`);
  process.exit(1);
});
