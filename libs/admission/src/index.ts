export { type Admission, createAdmission, type LimitUsage, refusalNames } from './admission.ts';
export * from './claim.ts';
export * from './duration.ts';
export * from './memory-gate.ts';
export { formatPolicy, limitNamed, parsePolicy } from './policy.ts';
export { limits } from './registry.ts';
