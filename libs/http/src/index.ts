export type { Call, Connection, Failure } from './connection.ts';
export { attemptMs } from './dial.ts';
export { isConnectionHeader, isHeaderName, isHeaderValue } from './header.ts';
export { type Origin, originOf } from './origin.ts';
export { Pool } from './pool.ts';
export { beginRequest, completeRequest, type WireRequest } from './request.ts';
export type { ResponseHead } from './response-head.ts';
