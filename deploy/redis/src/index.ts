export { findFreePort } from './free-port.ts';
export * from './open.ts';
export * from './server.ts';
