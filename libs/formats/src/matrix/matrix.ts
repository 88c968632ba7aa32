import { type GoldenCase, goldenCases, goldenFormats } from '../golden-case.ts';
import { formats } from '../registry.ts';
import { runAnswerLeg } from './answer-leg.ts';
import type { CellOutcome, Mode } from './outcome.ts';
import { runRequestLeg } from './request-leg.ts';
import { type SeededLossName, seededLosses } from './seeded-loss.ts';

const modes: readonly Mode[] = ['stream', 'single'];

/** Runs every golden case of every format towards every dialect, as a stream and as a single body. */
export function* runMatrix(lossName: SeededLossName = 'none'): Generator<CellOutcome> {
  for (const golden of goldenFormats().flatMap(goldenCases)) {
    for (const { client } of formats) {
      for (const mode of modes) yield runCell(golden, client.format, mode, lossName);
    }
  }
}

function runCell(golden: GoldenCase, dialect: string, mode: Mode, lossName: SeededLossName): CellOutcome {
  const loss = seededLosses[lossName];
  const { format, name } = golden;
  return {
    format,
    name,
    dialect,
    mode,
    ...(golden.wire && { request: runRequestLeg(golden, dialect, mode, loss) }),
    ...(golden.events.length > 0 && { answer: runAnswerLeg(golden, dialect, mode, loss) }),
  };
}
