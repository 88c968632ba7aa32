import { keepAllocationsYoung, refuseArguments, yieldToMainThread } from '@sluice/runtime';
import { processSeat } from './config.ts';
import { startIngress } from './start.ts';
import { startSupervisor } from './supervise.ts';

refuseArguments('ingress');
keepAllocationsYoung();
yieldToMainThread();

// An empty value counts as unset, as it does for every setting.
const isOneOfSeveral = Boolean(process.env[processSeat]?.trim());
const wantsSeveral = Number(process.env.SLUICE_PROCESSES ?? 1) > 1;

// The supervisor runs this same file once for each process under it. A single process needs no supervisor.
const start = wantsSeveral && !isOneOfSeveral ? startSupervisor : startIngress;

await start(process.env).catch((error: Error) => {
  process.stderr.write(`sluice ingress: ${error.message}\n`);
  process.exit(1);
});
