export { inClientWords } from './client-words.ts';
export * from './codec.ts';
export * from './credential.ts';
export { isForeign } from './foreign-client.ts';
export * from './registry.ts';
export { SseParser } from './sse.ts';
export { statusOf } from './status.ts';
export { isUnreadable } from './unreadable.ts';
export { largestLimit, saysLimitTooLarge, saysTooStrict } from './upstream-words.ts';
