export * from './caller.ts';
export type { RandomBytes } from './credential.ts';
export { Directory, type DirectoryOptions, type LimitChanges, type MintOptions } from './directory.ts';
export * from './key-store.ts';
export * from './model-pattern.ts';
export type { Key, Limits, Tenant } from './record.ts';
