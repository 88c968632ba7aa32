export { type Admission, createAdmission, type LimitUsage, refusalNames } from './admission.ts';
export * from './claim.ts';
export { parseDurationMs } from './duration.ts';
export { MemoryGate } from './memory-gate.ts';
export { formatPolicy, limitNamed, parsePolicy } from './policy.ts';
export { limits } from './registry.ts';
export { saturationRefusal, workersRefusal } from './saturation.ts';
