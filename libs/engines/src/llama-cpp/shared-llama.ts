import { setImmediate } from 'node:timers/promises';
import type { Llama, LlamaLibrary } from './library.ts';

type Gpu = Parameters<LlamaLibrary['getLlama']>[0]['gpu'];

/** By library, which only tests have several of, and by what evaluates the models. */
const shared = new WeakMap<LlamaLibrary, Map<Gpu, Promise<SharedLlama>>>();

/**
 * The llama.cpp of this process, which all its models share and which is never closed: whenever another one is opened
 * after it, the library loses both loggers, and llama.cpp writes why a model does not load to the console alone.
 */
export class SharedLlama {
  readonly llama: Llama;
  private readonly complaints: Complaints;
  private lastLoad: Promise<unknown> = Promise.resolve();

  private constructor(llama: Llama, complaints: Complaints) {
    this.llama = llama;
    this.complaints = complaints;
  }

  /** Opens it, or gives the one that is open. Rejects if llama.cpp does not run here, and may be called again then. */
  static of(library: LlamaLibrary, gpu: Gpu): Promise<SharedLlama> {
    const byGpu = shared.get(library) ?? new Map<Gpu, Promise<SharedLlama>>();
    shared.set(library, byGpu);
    const known = byGpu.get(gpu);
    if (known) return known;
    const opening = SharedLlama.open(library, gpu);
    byGpu.set(gpu, opening);
    opening.catch(() => byGpu.delete(gpu));
    return opening;
  }

  private static async open(library: LlamaLibrary, gpu: Gpu): Promise<SharedLlama> {
    const complaints: Complaints = { first: '' };
    const llama = await library.getLlama({
      gpu,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      logger: (level, message) => {
        if (level === 'error' || level === 'fatal') complaints.first ||= message.trim();
      },
    });
    return new SharedLlama(llama, complaints);
  }

  /**
   * Loads one model at a time, so that what llama.cpp complains of is about that one. Rejects with a message that holds
   * its first complaint: everything else, even the library's own error, says only that loading failed.
   */
  load<T>(work: () => Promise<T>): Promise<T> {
    const load = this.lastLoad.then(async () => {
      this.complaints.first = '';
      try {
        return await work();
      } catch (cause) {
        // Complaints of llama.cpp's own threads may come right after the end of the load.
        await setImmediate();
        const reasons = [cause instanceof Error ? cause.message : '', this.complaints.first];
        throw new Error(reasons.filter(Boolean).join(': '), { cause });
      }
    });
    this.lastLoad = load.catch(() => undefined);
    return load;
  }
}

interface Complaints {
  /** Of the load that runs; empty if there was none. */
  first: string;
}
