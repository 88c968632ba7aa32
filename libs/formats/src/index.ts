export { inClientWords } from './client-words.ts';
export * from './codec.ts';
export * from './credential.ts';
export * from './registry.ts';
export * from './sse.ts';
export * from './status.ts';
export { saysTooStrict } from './upstream-words.ts';
