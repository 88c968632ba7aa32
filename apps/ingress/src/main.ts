import { startIngress } from './start.ts';

await startIngress(process.env).catch((error: Error) => {
  process.stderr.write(`sluice ingress: ${error.message}\n`);
  process.exit(1);
});
