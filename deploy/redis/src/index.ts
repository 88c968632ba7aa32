export * from './free-port.ts';
export * from './open.ts';
export * from './policy.ts';
export * from './server.ts';
