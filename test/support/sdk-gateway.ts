import { call } from './call.ts';
import { type Gateway, startGateway } from './gateway.ts';

/** Every model that the gateway of the SDK tests lists, in order. */
export const listedModels = ['sim', 'org/name:v1', 'secret'] as const;

/** A gateway for tests with SDKs: several models, and keys with restrictions. */
export interface SdkGateway {
  readonly gateway: Gateway;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** May not use the model `secret`. */
  readonly narrowKey: string;
  /** Has used up its only request of this hour. */
  readonly spentKey: string;
  /** Has rates of 50 requests and 100,000 tokens, which hardly come back while tests run. */
  readonly ratedKey: string;
  stop(): Promise<void>;
}

/** A tool with one required text, in JSON Schema. */
export const weatherSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
};

/** Starts ingress, worker and Redis; the simulated model answers at once. */
export async function startSdkGateway(): Promise<SdkGateway> {
  const gateway = await startGateway({
    settings: {
      pools: { sim: { backend: { engine: 'simulated', slots: 64, ttftMs: 0, gapMs: 0 } } },
      models: {
        sim: { pool: 'sim', displayName: 'Simulated', contextTokens: 8192, maxOutputTokens: 4096 },
        'org/name:v1': { pool: 'sim', createdAt: '2026-01-02' },
        secret: { pool: 'sim' },
      },
      aliases: { 'claude-*': 'sim', 'gpt-*': 'sim', 'gemini-*': 'sim' },
    },
  });
  const { baseUrl, apiKey } = gateway;
  const [narrow, spent, rated] = await Promise.all([
    mint(gateway, '--models', 'sim,org/*'),
    mint(gateway),
    mint(gateway),
  ]);
  await gateway.cli('limits', 'set', '--key', spent.key.id, 'request-rate=1/1h');
  await gateway.cli('limits', 'set', '--key', rated.key.id, 'request-rate=50/30d', 'token-rate=100000/30d');
  const { status, error } = await call({
    baseUrl,
    apiKey: spent.credential,
    format: 'openai',
    prompt: '[[sim tokens=1]]',
    stream: false,
  });
  if (status !== 200)
    throw new TypeError(`the only request of the hour was answered with ${status}: ${error}`);
  return {
    gateway,
    baseUrl,
    apiKey,
    narrowKey: narrow.credential,
    spentKey: spent.credential,
    ratedKey: rated.credential,
    stop: () => gateway.stop(),
  };
}

/** Makes one more key of the tests' tenant. */
async function mint(gateway: Gateway, ...flags: string[]): Promise<MintedKey> {
  // What the CLI prints with --json is its documented output.
  return JSON.parse(await gateway.cli('keys', 'mint', '--tenant', 'tests', '--json', ...flags)) as MintedKey;
}

export interface MintedKey {
  credential: string;
  key: { id: string };
}

/** What a promise was rejected with. Fails the test if it was fulfilled. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  const outcome = await Promise.resolve(promise).then(
    () => ({ isFulfilled: true, error: undefined }),
    (error: unknown) => ({ isFulfilled: false, error }),
  );
  if (outcome.isFulfilled) throw new TypeError('the call was expected to fail');
  return outcome.error;
}

/** Reads an iterable to its end or its error, keeping what came before the error. */
export async function drain<Item>(
  items: AsyncIterable<Item>,
): Promise<{ items: Item[]; error: unknown | undefined }> {
  const read: Item[] = [];
  try {
    for await (const item of items) read.push(item);
  } catch (error) {
    return { items: read, error };
  }
  return { items: read, error: undefined };
}
