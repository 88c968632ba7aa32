export type { Backend } from './backend.ts';
export * from './engine.ts';
export { Turns } from './media/turns.ts';
export { engineKinds, parseBackend } from './registry.ts';
export { referenceText, referenceToken } from './simulated/reference.ts';
