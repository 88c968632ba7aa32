export * from './codec.ts';
export * from './credential.ts';
export { inClientWords } from './failures/client-words.ts';
export { isUnreadable } from './failures/unreadable.ts';
export {
  largestLimit,
  saysLimitReached,
  saysLimitTooLarge,
  saysTooStrict,
  shortened,
} from './failures/upstream-words.ts';
export { isForeign } from './foreign-client.ts';
export { valueLimit } from './json/text-values.ts';
export { imageTypeOf } from './media/image-type.ts';
export * from './registry.ts';
export type { ServerTraits } from './server-traits.ts';
export { SseParser } from './sse.ts';
export { statusOf } from './status.ts';
