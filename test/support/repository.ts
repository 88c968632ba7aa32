import { fileURLToPath } from 'node:url';

/** The root of this checkout, with a slash at its end. */
export const repository = fileURLToPath(new URL('../../', import.meta.url));
