import { SluiceError } from '@sluice/canonical';
import { isModelName } from '@sluice/catalog';
import { z } from 'zod';
import { besideSimulated } from './settings.ts';

const modelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string().min(1) })).min(1) });
/** The environment variable from which workers take the credential. */
export const upstreamKeyName = 'UPSTREAM_API_KEY';
const answerLimitMs = 5_000;

/**
 * Asks a chat-completions server for its models and writes settings that serve them beside the simulated one.
 * Rejects with one sentence when the server gives no list; `say` is told of models that can't be served.
 */
export async function createUpstreamSettings(
  baseUrl: string,
  apiKey: string | undefined,
  say: (sentence: string) => void = () => undefined,
): Promise<object> {
  const listed = await listModels(baseUrl, apiKey);
  const names = listed.filter(isModelName);
  if (names.length < listed.length) {
    const left = listed.filter((name) => !isModelName(name)).map((name) => JSON.stringify(name));
    say(`the upstream's models ${left.join(', ')} are left out: no model can have such a name here`);
  }
  // By reference: no credential is written to a file.
  const credential = { env: upstreamKeyName };
  return besideSimulated(
    'upstream',
    { engine: 'upstream', baseUrl, ...(apiKey ? { credential } : {}) },
    names,
  );
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
