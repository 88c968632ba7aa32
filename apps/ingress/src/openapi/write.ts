import { writeFileSync } from 'node:fs';
import { createOpenApiDocument } from './document.ts';
import { productVersion } from './version.ts';

const document = await createOpenApiDocument(productVersion());
writeFileSync(
  new URL('../../../../docs/openapi.json', import.meta.url),
  `${JSON.stringify(document, null, 2)}\n`,
);
