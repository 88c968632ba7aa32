import { SluiceError } from '@sluice/canonical';
import { defaultCatalogSettings } from '@sluice/catalog';
import { z } from 'zod';

const modelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string().min(1) })).min(1) });
/** The environment variable from which workers take the credential. */
export const upstreamKeyName = 'UPSTREAM_API_KEY';
const answerLimitMs = 5_000;

/**
 * Asks a chat-completions server for its models and writes settings that serve them beside the simulated one.
 * Rejects with one sentence when the server gives no list.
 */
export async function createUpstreamSettings(baseUrl: string, apiKey: string | undefined): Promise<object> {
  const names = await listModels(baseUrl, apiKey);
  const { pools, models, aliases } = defaultCatalogSettings;
  // By reference: no credential is written to a file.
  const credential = { env: upstreamKeyName };
  const served = names.filter((name) => !Object.hasOwn(models, name));
  return {
    pools: {
      ...pools,
      upstream: { backend: { engine: 'upstream', baseUrl, ...(apiKey ? { credential } : {}) } },
    },
    models: { ...models, ...Object.fromEntries(served.map((name) => [name, { pool: 'upstream' }])) },
    aliases: Object.fromEntries(Object.entries(aliases).filter(([name]) => !served.includes(name))),
  };
}

async function listModels(baseUrl: string, apiKey: string | undefined): Promise<string[]> {
  const address = `${baseUrl}/models`;
  const list = modelList.safeParse(await fetchJson(address, apiKey));
  if (!list.success) throw new SluiceError('upstream-failed', `${address} gives no list of models`);
  return list.data.data.map(({ id }) => id);
}

async function fetchJson(address: string, apiKey: string | undefined): Promise<unknown> {
  const headers = apiKey ? { authorization: `Bearer ${apiKey}` } : undefined;
  let response: Response;
  try {
    response = await fetch(address, {
      ...(headers ? { headers } : {}),
      signal: AbortSignal.timeout(answerLimitMs),
    });
  } catch (cause) {
    throw new SluiceError('upstream-failed', `the upstream does not answer at ${address}`, { cause });
  }
  if (!response.ok) throw new SluiceError('upstream-failed', `${address} answers ${response.status}`);
  return response.json().catch(() => undefined);
}
