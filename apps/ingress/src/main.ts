import { processSeat } from './config.ts';
import { startIngress } from './start.ts';
import { startSupervisor } from './supervise.ts';

const isOneOfSeveral = process.env[processSeat] !== undefined;
const wantsSeveral = Number(process.env.SLUICE_PROCESSES ?? 1) > 1;

// The supervisor runs this same file again for each process under it; a single process needs none.
const start = wantsSeveral && !isOneOfSeveral ? startSupervisor : startIngress;

await start(process.env).catch((error: Error) => {
  process.stderr.write(`sluice ingress: ${error.message}\n`);
  process.exit(1);
});
