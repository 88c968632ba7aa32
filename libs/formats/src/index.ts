export * from './codec.ts';
export * from './credential.ts';
export { inClientWords } from './places.ts';
export * from './registry.ts';
export * from './sse.ts';
export * from './status.ts';
