import { writeFileSync } from 'node:fs';
import { generateDocuments } from './documents.ts';

for (const { path, text } of generateDocuments()) writeFileSync(path, text);
