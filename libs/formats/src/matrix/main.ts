import { readFlags, refuse } from '../command-line.ts';
import { runMatrix } from './matrix.ts';
import { stateOf } from './outcome.ts';
import { renderMatrix } from './report.ts';
import { isSeededLoss, seededLosses } from './seeded-loss.ts';

const usage =
  'usage: npm run matrix -- [--seed-loss LOSS]\n' +
  'Sends every golden case from every format through every dialect; fails where something is lost on the way.\n';

const values = readFlags(usage, { 'seed-loss': { type: 'string', default: 'none' } });
const loss = values['seed-loss'];
if (isSeededLoss(loss)) {
  const cells = [...runMatrix(loss)];
  process.stdout.write(renderMatrix(cells));
  if (cells.some((cell) => stateOf(cell) === 'lossy')) process.exitCode = 1;
} else refuse(usage, `--seed-loss takes one of ${Object.keys(seededLosses).join(', ')}`);
