import type { InferenceJob } from '@sluice/transport';

/** Lets one job of a request in. Rejects with the refusal of the request, or with `unavailable`. */
export type Enter = (job: InferenceJob) => Promise<void>;

/** Lets the jobs of a request in together, in the order in which they come: the last of them has all admitted. */
export function jointEntrance(jobs: number, admit: (jobs: InferenceJob[]) => Promise<void>): Enter {
  // Nearly every request has one job, which needs neither a list nor a promise that others share.
  if (jobs === 1) return (job) => admit([job]);
  const admitted = Promise.withResolvers<void>();
  const ready: InferenceJob[] = [];
  return (job) => {
    ready.push(job);
    // The jobs are spliced out because `ready` lives as long as the answer and would keep them in memory.
    if (ready.length === jobs) admit(ready.splice(0)).then(admitted.resolve, admitted.reject);
    return admitted.promise;
  };
}
