import { fileURLToPath } from 'node:url';
import { SluiceError } from '@sluice/canonical';
import { systemClock } from '@sluice/runtime';
import { formatForMachines, formatForPeople } from './announcement.ts';
import { type Flags, helpText, parseFlags } from './flags.ts';
import { Installation } from './installation.ts';

const stateFolder = fileURLToPath(new URL('../../.sluice', import.meta.url));
/** One Ctrl-C arrives twice: from the terminal, and passed on by the parent. */
const sameKeypressMs = 500;
const readerHasLeft: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EIO']);

const flags = readFlags();
if (flags.help) process.stdout.write(helpText);
else await run(flags);

async function run(flags: Flags): Promise<void> {
  const installation = new Installation({
    flags,
    environment: process.env,
    stateFolder,
    clock: systemClock,
    say: complain,
  });
  const stopped = stopOnSignal(installation);
  let code = 0;
  process.stdout.on('error', ({ code: why, message }: NodeJS.ErrnoException) => {
    // A closed terminal, or a reader that has read enough, is no failure. It must not end this process before its
    // children.
    if (!readerHasLeft.has(why)) {
      code = 1;
      complain(message);
    }
    stopped.begin();
  });
  try {
    const announcement = await installation.start();
    process.stdout.write((flags.json ? formatForMachines : formatForPeople)(announcement));
  } catch (thrown) {
    // An interrupted start is not reported as a failure.
    if (!stopped.hasBegun()) {
      code = 1;
      complain(describe(thrown));
      stopped.begin();
    }
  }
  await stopped.done;
  process.exit(code);
}

/** The first signal, or the death of the parent, stops everything; a second signal kills everything. */
function stopOnSignal(installation: Installation) {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let beganAt: number | undefined;
  const begin = () => {
    if (beganAt === undefined) {
      beganAt = performance.now();
      void installation.stop().then(resolve);
    } else if (performance.now() - beganAt > sameKeypressMs) {
      void installation.kill().then(resolve);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, begin);
  process.stderr.on('error', () => undefined);
  if (process.connected) process.once('disconnect', begin);
  return { done, begin, hasBegun: () => beganAt !== undefined };
}

function readFlags(): Flags {
  try {
    return parseFlags(process.argv.slice(2), process.env);
  } catch (thrown) {
    complain(describe(thrown));
    return process.exit(2);
  }
}

function describe(thrown: unknown): string {
  // A system error names its file or folder, which is what the user needs; the stack would not help.
  if (thrown instanceof SluiceError || (thrown instanceof Error && 'syscall' in thrown))
    return thrown.message;
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : 'something was thrown that is no error';
}

function complain(sentence: string): void {
  process.stderr.write(`sluice: ${sentence}\n`);
}
