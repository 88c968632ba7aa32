export type { Backend } from './backend.ts';
export * from './engine.ts';
export { engineKinds, optionNames, parseBackend } from './registry.ts';
export { referenceText, referenceToken } from './simulated/reference.ts';
