import { parseArgs } from 'node:util';
import { runMatrix } from './matrix.ts';
import { stateOf } from './outcome.ts';
import { renderMatrix } from './report.ts';
import { isSeededLoss, seededLosses } from './seeded-loss.ts';

const { values } = parseArgs({ options: { 'seed-loss': { type: 'string', default: 'none' } } });
const loss = values['seed-loss'];
if (isSeededLoss(loss)) {
  const cells = runMatrix(loss);
  process.stdout.write(renderMatrix(cells));
  if (cells.some((cell) => stateOf(cell) === 'lossy')) process.exitCode = 1;
} else {
  process.stderr.write(`--seed-loss takes one of ${Object.keys(seededLosses).join(', ')}\n`);
  process.exitCode = 2;
}
