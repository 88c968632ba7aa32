import { describeEngine, type EngineSubject } from './engine-suite.ts';
import { SimulatedEngine } from './simulated/engine.ts';
import { quietServices } from './test-services.ts';
import { ChatServer } from './upstream/chat-server.ts';
import { createUpstreamEngine } from './upstream/engine.ts';
import { upstreamOptions } from './upstream/options.ts';

async function simulated(): Promise<EngineSubject> {
  return {
    engine: new SimulatedEngine({ slots: 64, ttftMs: 0, gapMs: 0 }, quietServices),
    close: async () => {},
  };
}

async function upstream(resume: 'none' | 'prefix'): Promise<EngineSubject> {
  const server = await ChatServer.open();
  const options = upstreamOptions.parse({ baseUrl: server.baseUrl, credential: 'sk-operator', resume });
  return { engine: createUpstreamEngine(options, quietServices), close: () => server.close() };
}

describeEngine('the simulated engine', simulated);
describeEngine('the upstream engine', () => upstream('none'));
describeEngine('the upstream engine with prefix resume', () => upstream('prefix'));
