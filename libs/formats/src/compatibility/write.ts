import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeCompatibility } from './document.ts';

writeFileSync(join(import.meta.dirname, '../../../../docs/compatibility.md'), await writeCompatibility());
