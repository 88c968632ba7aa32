import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InferenceRequest } from '@sluice/canonical';
import { findLlamaPackage, writeTinyModel } from '@sluice/testing';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { askFor } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { LlamaCppEngine } from './engine.ts';
import type { LlamaLibrary } from './library.ts';
import { llamaCppOptions } from './options.ts';

/** Engines with models that say what a test wants. */
export class TestModels {
  /** The folder of the model files. */
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-llama-'));
  private readonly engines: LlamaCppEngine[] = [];
  private library: LlamaLibrary | undefined;
  private files = 0;

  /** Create it once per test file. */
  constructor() {
    beforeAll(async () => {
      this.library = (await import(await findLlamaPackage())) as LlamaLibrary;
    });
    afterEach(() => this.stop());
    afterAll(async () => {
      await this.stop();
      rmSync(this.folder, { recursive: true });
    });
  }

  /** Creates an engine without starting it. Its default options suit a small machine. */
  create(options: object): LlamaCppEngine {
    const parsed = llamaCppOptions.parse({ gpu: 'none', threads: 1, contextTokens: 2048, ...options });
    return new LlamaCppEngine(parsed, quietServices, async () => {
      if (!this.library) throw new Error('the package is not loaded yet');
      return this.library;
    });
  }

  /** Writes a model that says these pieces, with its own chat template if given. Returns its path. */
  write(pieces: readonly string[], template?: string): string {
    this.files += 1;
    const path = join(this.folder, `model-${this.files}.gguf`);
    writeTinyModel(path, pieces, template);
    return path;
  }

  /** Starts an engine with a model that says these pieces. It is stopped after the test. */
  async start(pieces: readonly string[], options: object = {}, template?: string): Promise<LlamaCppEngine> {
    const engine = this.create({ modelPath: this.write(pieces, template), ...options });
    this.engines.push(engine);
    await engine.start(new AbortController().signal);
    return engine;
  }

  private async stop(): Promise<void> {
    await Promise.all(this.engines.splice(0).map((engine) => engine.stop()));
  }
}

/** Always the likeliest token. */
export const greedy = { temperature: 0 };
export const story = ['Once', ' upon', ' a', ' time', ' there', ' was', ' one', ' token', '.'];
export const told = story.join('');

/** A request for the story. */
export function ask(rest: Partial<InferenceRequest> = {}): InferenceRequest {
  return askFor('Tell me a story.', { sampling: greedy, ...rest });
}

/** A request for this many tokens of it. */
export function upTo(maxOutputTokens: number): InferenceRequest {
  return ask({ sampling: { ...greedy, maxOutputTokens } });
}
