export {
  type Admission,
  type AdmissionOptions,
  createAdmission,
  type Inspection,
  type LimitUsage,
  refusalNames,
} from './admission.ts';
export * from './claim.ts';
export * from './duration.ts';
export type { Limit, Scope } from './limit.ts';
export * from './memory-gate.ts';
export { formatPolicy, limitNamed, parsePolicy } from './policy.ts';
export { limits } from './registry.ts';
