import { describe, expect, it } from 'vitest';
import { engineKinds, parseBackend } from './registry.ts';
import { quietServices } from './test-services.ts';

describe('a backend record', () => {
  it('creates an engine of its kind, with defaults', async () => {
    const { backend, problems } = parseBackend({ engine: 'simulated' }, 'pools.sim.backend', {});
    expect(problems).toEqual([]);
    expect(await backend?.createEngine(quietServices)).toMatchObject({ slots: 64, resume: 'exact' });
  });

  it('creates an upstream engine of any dialect', async () => {
    for (const [dialect, resume] of [
      ['openai', 'prefix'],
      ['anthropic', 'prefix'],
      ['gemini', 'none'],
    ]) {
      const raw = { engine: 'upstream', dialect, baseUrl: 'https://example.com/v1', resume, slots: 3 };
      const { backend, problems } = parseBackend(raw, 'b', {});
      expect(problems).toEqual([]);
      const engine = await backend?.createEngine(quietServices);
      expect(engine).toMatchObject({ slots: 3, resume });
      await engine?.stop();
    }
  });

  it('is refused with all its problems at once, and no value of it', () => {
    const raw = {
      engine: 'upstream',
      dialect: 'klingon',
      baseUrl: 'ftp://secret.example',
      credential: { env: 'MISSING' },
      slots: 0,
      slot: 'secret',
    };
    const { backend, problems } = parseBackend(raw, 'pools.main.backend', {});
    expect(backend).toBeUndefined();
    expect(problems.map((problem) => problem.path).sort()).toEqual(
      ['baseUrl', 'credential', 'dialect', 'slot', 'slots'].map((name) => `pools.main.backend.${name}`),
    );
    expect(JSON.stringify(problems)).not.toMatch(/secret|klingon/);
  });

  it('takes secrets from the environment, wherever a string may be', async () => {
    const raw = {
      engine: 'upstream',
      baseUrl: { env: 'BASE' },
      credential: { env: 'KEY' },
      headers: { 'x-a': { env: 'KEY' }, env: 'production' },
    };
    const environment = { BASE: 'http://127.0.0.1:1/v1', KEY: 'sk-1' };
    expect(parseBackend(raw, 'b', environment).problems).toEqual([]);
    expect(
      parseBackend(raw, 'b', { BASE: environment.BASE }).problems.map((problem) => problem.path),
    ).toEqual(['b.credential', 'b.headers.x-a']);
  });

  it('is told once about a variable that is not set, also where not every string is right', () => {
    const raw = { engine: 'upstream', dialect: { env: 'DIALECT' }, baseUrl: { env: 'BASE' } };
    expect(parseBackend(raw, 'b', {}).problems).toEqual([
      { path: 'b.dialect', message: 'the environment variable DIALECT is not set' },
      { path: 'b.baseUrl', message: 'the environment variable BASE is not set' },
    ]);
  });

  it('needs a known engine', () => {
    expect(parseBackend(undefined, 'b', {}).problems).toMatchObject([{ path: 'b' }]);
    expect(parseBackend({}, 'b', {}).problems).toMatchObject([{ path: 'b.engine' }]);
    const known = `must be one of ${engineKinds.map(({ kind }) => kind).join(', ')}`;
    for (const [engine, message] of [
      ['simulatd', `${known}; did you mean simulated?`],
      ['vllm', known],
    ]) {
      expect(parseBackend({ engine }, 'b', {}).problems).toEqual([{ path: 'b.engine', message }]);
    }
  });
});
