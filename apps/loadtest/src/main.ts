import { parseArgs } from 'node:util';
import { assertNever, SluiceError } from '@sluice/canonical';
import { yieldToMainThread } from '@sluice/runtime';
import { describeTrace } from './arrivals/trace.ts';
import { goals, measureCeiling } from './bench/ceiling.ts';
import { errorText } from './error-text.ts';
import { help } from './help.ts';
import { isHeld, type RunResult } from './measures/result.ts';
import { summarizeRun } from './measures/summary.ts';
import { checkOutputs, writeOutputs } from './outputs.ts';
import { Progress, redrawnColumns } from './progress.ts';
import { readResult } from './report/result-file.ts';
import { distinctNames } from './report/run-names.ts';
import { runScenario } from './run.ts';
import { type CommandName, checkCommand } from './scenario/command-flags.ts';
import { timeMs, wholeNumber } from './scenario/flag-value.ts';
import { fitDuration } from './scenario/load-length.ts';
import { parseScenario } from './scenario/scenario.ts';
import { readScenarioFile } from './scenario/scenario-file.ts';
import { pathsOf, readScenarioFiles } from './scenario/scenario-files.ts';
import { overlay, scenarioFlags } from './scenario/scenario-flags.ts';
import { searchSaturation } from './search.ts';
import { serveUpstream } from './upstream/serve.ts';

const outputFlags = {
  json: { type: 'string' },
  csv: { type: 'string' },
  html: { type: 'string' },
  quiet: { type: 'boolean', short: 'q' },
  enforce: { type: 'boolean' },
  port: { type: 'string' },
  host: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type CommandLine = ReturnType<typeof parseCommandLine>;

/** The exit code that shells report for a program ended by an interrupt. */
const interruptedCode = 130;

/** Runs the command line and sets the process's exit code. Never throws. */
export async function main(args: string[]): Promise<void> {
  // Often this program shares its machine with the server under test, which must not wait for our garbage.
  yieldToMainThread();
  // A reader of our output may end first, as `tee` does at an interrupt. Results must still be written.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    const line = parseCommandLine(args);
    const [name, ...files] = line.positionals;
    if (line.values.help === true || name === undefined) return print(help);
    const command = checkCommand(name, files, Object.keys(line.values));
    process.exitCode = await runCommand(command, files, line.values);
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = codeOf(error);
  }
}

function codeOf(error: unknown): number {
  if (!(error instanceof SluiceError)) return 2;
  if (error.kind === 'cancelled') return interruptedCode;
  return error.kind === 'invalid-request' ? 2 : 1;
}

function parseCommandLine(args: string[]) {
  return parseArgs({ args, options: { ...scenarioFlags, ...outputFlags }, allowPositionals: true });
}

function runCommand(command: CommandName, files: string[], flags: CommandLine['values']): Promise<number> {
  switch (command) {
    case 'run':
    case 'search':
      return load(command, files[0], flags);
    case 'report':
      return report(files, flags);
    case 'upstream':
      return serveUpstream({
        port: wholeNumber('port', flags.port ?? '9000', { from: 0, to: 65_535 }),
        host: flags.host ?? '127.0.0.1',
        signal: interrupts(),
        print,
      });
    case 'bench':
      return bench(flags);
    default:
      return assertNever(command);
  }
}

async function load(
  command: 'run' | 'search',
  file: string | undefined,
  flags: CommandLine['values'],
): Promise<number> {
  const asked = parseScenario(overlay(file === undefined ? {} : await readScenarioFile(file), flags));
  const write = (text: string) => flags.quiet !== true && process.stderr.write(text);
  const files = await readScenarioFiles(asked);
  const { trace } = files;
  const scenario = fitDuration(asked, trace);
  await checkOutputs(flags, [...(file === undefined ? [] : [file]), ...pathsOf(asked)]);
  if (trace) write(`${describeTrace(trace)}\n`);
  const columns = redrawnColumns(process.stderr, process.env.TERM);
  const progress = new Progress({ scenario, ...(columns && { columns }), write });
  const options = {
    files,
    signal: interrupts(),
    onInterval: (interval: RunResult['intervals'][number]) => progress.interval(interval),
  };
  const result =
    command === 'run'
      ? await runScenario(scenario, options)
      : await searchSaturation(scenario, {
          ...options,
          onPoint: (point) => progress.point(point),
          onLoad: (rate, phase) => progress.load(rate, phase),
        });
  progress.erase();
  print(summarizeRun(result));
  await writeOutputs([result], flags);
  if (result.isInterrupted) return interruptedCode;
  return result.wrongText !== undefined || (flags.enforce === true && !isHeld(result)) ? 1 : 0;
}

async function report(files: string[], flags: CommandLine['values']): Promise<number> {
  if (files.length === 0) throw new SluiceError('invalid-request', 'give the JSON results to compare');
  const outputs = { csv: flags.csv, html: flags.html };
  await checkOutputs(outputs, files);
  const results = distinctNames(await Promise.all(files.map(readResult)), files);
  if (flags.html === undefined && flags.csv === undefined)
    for (const result of results) print(summarizeRun(result));
  await writeOutputs(results, outputs);
  return 0;
}

async function bench(flags: CommandLine['values']): Promise<number> {
  const options = {
    durationMs: timeMs('duration', flags.duration ?? '5s'),
    users: wholeNumber('users', flags.users ?? '64', { from: 1, to: 10_000 }),
    processes: wholeNumber('processes', flags.processes ?? '1', { from: 1, to: 256 }),
    signal: interrupts(),
  };
  print('against a trivial server on this machine:\n');
  const ceiling = await measureCeiling(options);
  const line = (rate: number, goal: number, unit: string, cpuUs: number) => {
    const verdict = `goal ${goal.toLocaleString('en')}: ${rate >= goal ? 'reached' : 'NOT REACHED'}`;
    const cpu = `client CPU ${cpuUs.toFixed(2)} µs each`;
    return `${Math.round(rate).toLocaleString('en')} ${unit}/s (${verdict}), ${cpu}\n`;
  };
  print(`  ${line(ceiling.requestsPerSecond, goals.requestsPerSecond, 'requests', ceiling.cpuPerRequestUs)}`);
  print(`  ${line(ceiling.tokensPerSecond, goals.tokensPerSecond, 'tokens', ceiling.cpuPerTokenUs)}`);
  print(
    `  machine busy ${Math.round(ceiling.machineShare * 100)} % (this client, the server and everything else)\n`,
  );
  const isReached =
    ceiling.requestsPerSecond >= goals.requestsPerSecond && ceiling.tokensPerSecond >= goals.tokensPerSecond;
  return isReached ? 0 : 1;
}

/**
 * One interrupt, or the close of a terminal, may arrive twice: from the terminal, and passed on by a parent such as npx.
 * On a busy machine the second comes late, and must not end the program while it writes results.
 */
const sameInterruptMs = 2_000;

/** Aborts at the first interrupt. A second one after `sameInterruptMs` ends the process at once. */
function interrupts(): AbortSignal {
  const controller = new AbortController();
  let abortedAt = 0;
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const now = performance.now();
      if (!controller.signal.aborted) abortedAt = now;
      else if (now - abortedAt > sameInterruptMs) process.exit(interruptedCode);
      controller.abort();
    });
  }
  return controller.signal;
}

function print(text: string): void {
  process.stdout.write(text);
}
