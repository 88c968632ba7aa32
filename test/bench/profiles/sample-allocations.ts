import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { allocationsFile, allocationsFolder, type Lifetime } from './allocation-profile.ts';

/**
 * Loaded into the processes whose allocations are profiled. The first `SIGUSR2` begins to sample all of them, the
 * second ends that; the third and fourth do the same for those that outlive a collection of the young generation.
 */
const folder = process.env[allocationsFolder] ?? '.';
const bytesPerSample = 4096;
const session = new Session();
session.connect();
const steps = [() => start('all'), () => stop('all'), () => start('old'), () => stop('old')];
process.on('SIGUSR2', () => steps.shift()?.());

function start(lifetime: Lifetime): void {
  session.post('HeapProfiler.startSampling', {
    samplingInterval: bytesPerSample,
    // What a full collection frees has outlived those of the young generation.
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: lifetime === 'all',
  });
}

function stop(lifetime: Lifetime): void {
  session.post('HeapProfiler.stopSampling', (error, result) => {
    if (error) throw error;
    const file = allocationsFile(folder, process.pid, lifetime);
    // Whoever waits for the file must not see half of it.
    writeFileSync(`${file}.part`, JSON.stringify(result.profile));
    renameSync(`${file}.part`, file);
  });
}
