import { SluiceError } from '@sluice/canonical';
import { isModelName } from '@sluice/catalog';
import { z } from 'zod';
import { type BackendModel, besideSimulated } from './settings.ts';

const tokens = z.int().min(1).optional().catch(undefined);
/** vLLM and SGLang give the context beside the name, llama.cpp gives it as `n_ctx` in the file's metadata. */
const listedModel = z.looseObject({
  id: z.string().min(1),
  max_model_len: tokens,
  meta: z.looseObject({ n_ctx: tokens }).optional().catch(undefined),
});
const modelList = z.looseObject({ data: z.array(listedModel).min(1) });
/** The environment variable from which workers take the credential. */
export const upstreamKeyName = 'UPSTREAM_API_KEY';
const answerLimitMs = 5_000;

/**
 * Asks a chat-completions server for its models and makes settings that serve them beside the simulated one. They hold
 * the context that the server gives for each model: without it a limit of the answer may be more than the server takes.
 * Rejects with one sentence if the server gives no list; calls `say` for models that can't be served.
 */
export async function createUpstreamSettings(
  baseUrl: string,
  apiKey: string | undefined,
  say: (sentence: string) => void = () => undefined,
): Promise<object> {
  const listed = await listModels(baseUrl, apiKey);
  const served = listed.filter(({ id }) => isModelName(id));
  if (served.length < listed.length) {
    const left = listed.filter(({ id }) => !isModelName(id)).map(({ id }) => JSON.stringify(id));
    say(`the upstream's models ${left.join(', ')} are left out: no model can have such a name here`);
  }
  // By reference, so that no credential is written to a file.
  const credential = { env: upstreamKeyName };
  return besideSimulated('upstream', { engine: 'upstream', baseUrl, ...(apiKey && { credential }) }, served);
}

async function listModels(baseUrl: string, apiKey: string | undefined): Promise<BackendModel[]> {
  const address = `${baseUrl}/models`;
  const list = modelList.safeParse(await fetchJson(address, apiKey));
  if (!list.success) throw new SluiceError('upstream-failed', `${address} gives no list of models`);
  return list.data.data.map(({ id, max_model_len, meta }) => {
    const contextTokens = max_model_len ?? meta?.n_ctx;
    return { id, ...(contextTokens !== undefined && { contextTokens }) };
  });
}

async function fetchJson(address: string, apiKey: string | undefined): Promise<unknown> {
  const headers = apiKey ? { authorization: `Bearer ${apiKey}` } : undefined;
  let response: Response;
  try {
    response = await fetch(address, {
      ...(headers && { headers }),
      signal: AbortSignal.timeout(answerLimitMs),
    });
  } catch (cause) {
    throw new SluiceError('upstream-failed', `the upstream does not answer at ${address}`, { cause });
  }
  if (!response.ok) throw new SluiceError('upstream-failed', `${address} answers ${response.status}`);
  return response.json().catch(() => undefined);
}
