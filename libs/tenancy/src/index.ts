export type { Caller, ScopedLimits } from './caller.ts';
export type { RandomBytes } from './credential.ts';
export { Directory, type KnownKeys, type LimitChanges } from './directory.ts';
export * from './key-store.ts';
export type { Key, Limits } from './record.ts';
