import { startProcess } from './process.ts';
import { startSupervisor } from './supervise.ts';

// The supervisor runs this same file again for each process under it.
const start = process.env.SLUICE_WORKER_ID === undefined ? startSupervisor : startProcess;

await start(process.env).catch((error: Error) => {
  process.stderr.write(`sluice worker: ${error.message}\n`);
  process.exit(1);
});
