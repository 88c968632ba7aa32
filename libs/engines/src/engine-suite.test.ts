import { expect, test } from 'vitest';
import { describeEngine, type EngineSubject, scriptedTale } from './engine-suite.ts';
import { greedy, TestModels } from './llama-cpp/test-models.ts';
import { engineKinds } from './registry.ts';
import { SimulatedEngine } from './simulated/engine.ts';
import { askFor } from './test-runs.ts';
import { quietServices } from './test-services.ts';
import { createUpstreamEngine } from './upstream/engine.ts';
import { upstreamOptions } from './upstream/options.ts';
import { ChatServer } from './upstream/test-chat-server.ts';

async function simulated(): Promise<EngineSubject> {
  return {
    engine: new SimulatedEngine({ slots: 64, ttftMs: 0, gapMs: 0 }, quietServices),
    tale: scriptedTale,
    close: async () => {},
  };
}

async function upstream(resume: 'none' | 'prefix'): Promise<EngineSubject> {
  const server = await ChatServer.open();
  const options = upstreamOptions.parse({ baseUrl: server.baseUrl, credential: 'sk-operator', resume });
  const engine = createUpstreamEngine(options, quietServices);
  return { engine, tale: scriptedTale, close: () => server.close() };
}

const models = new TestModels();

async function embedded(): Promise<EngineSubject> {
  const words = Array.from({ length: 70 }, (_value, index) => `${index === 0 ? '' : ' '}word${index}`);
  return {
    engine: models.create({ modelPath: models.write(words) }),
    tale: {
      ask: (tokens, sampling = {}) =>
        askFor('Tell me.', { sampling: { maxOutputTokens: tokens, ...greedy, ...sampling } }),
      text: (tokens) => words.slice(0, tokens).join(''),
    },
    close: async () => {},
  };
}

/** By the kind in the registry. */
const suites: Readonly<Record<string, () => void>> = {
  simulated: () => describeEngine('the simulated engine', simulated, { isScripted: true }),
  upstream: () => {
    const server = { isScripted: true, namesStops: false };
    describeEngine('the upstream engine', () => upstream('none'), server);
    describeEngine('the upstream engine with prefix resume', () => upstream('prefix'), server);
  },
  'llama-cpp': () => describeEngine('the embedded engine', embedded, { isScripted: false }),
};

for (const describeKind of Object.values(suites)) describeKind();

test.each(engineKinds.map(({ kind }) => kind))('the engine %s keeps the contract', (kind) => {
  expect(Object.keys(suites)).toContain(kind);
});
