import { fileURLToPath } from 'node:url';
import { writeConfiguration } from './configuration.ts';
import { writeMetrics } from './metrics.ts';

const folder = new URL('../../docs/', import.meta.url);

/** A generated document and where it is written. */
export interface GeneratedDocument {
  path: string;
  text: string;
}

/** All documents that this package writes. */
export function generateDocuments(): GeneratedDocument[] {
  const place = (name: string) => fileURLToPath(new URL(name, folder));
  return [
    { path: place('configuration.md'), text: writeConfiguration() },
    { path: place('metrics.md'), text: writeMetrics() },
  ];
}
