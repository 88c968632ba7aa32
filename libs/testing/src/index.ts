export { findFreePort } from '@sluice/redis';
export { ChatExchange, type RecordedRequest, type ScriptedToolCall } from './chat-exchange.ts';
export * from './chat-server.ts';
export * from './cluster.ts';
export * from './process.ts';
export * from './redis.ts';
export * from './topology.ts';
export * from './until.ts';
