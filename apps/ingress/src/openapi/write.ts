import { writeFileSync } from 'node:fs';
import { productVersion } from '@sluice/runtime';
import { createOpenApiDocument } from './document.ts';

const document = await createOpenApiDocument(productVersion());
writeFileSync(
  new URL('../../../../docs/openapi.json', import.meta.url),
  `${JSON.stringify(document, null, 2)}\n`,
);
