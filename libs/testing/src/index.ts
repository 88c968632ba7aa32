export { findFreePort } from '@sluice/redis';
export * from './redis.ts';
export * from './until.ts';
