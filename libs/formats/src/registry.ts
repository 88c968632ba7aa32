import { anthropic } from './anthropic/index.ts';
import type { ClientCodec, Format, HttpFacts, ServerCodec } from './codec.ts';
import { gemini } from './gemini/index.ts';
import { openai } from './openai/index.ts';
import { withWholeCharacters } from './whole-characters.ts';

/**
 * The only list of formats. Its order matters for shared paths (`GET /v1/models`, unknown paths): the first format that
 * recognizes the caller answers. Chat completions recognizes everybody and therefore stands last.
 */
export const formats: readonly Format[] = [gemini, anthropic, openai].map((format) => ({
  ...format,
  client: withWholeCharacters(format.client),
}));

/** The server halves of all formats, in the same order. */
export const serverCodecs: readonly ServerCodec[] = formats.map((format) => format.server);

/** The format that a caller of a shared or unknown path speaks. */
export function recognizeFormat(http: HttpFacts): ServerCodec {
  return serverCodecs.find((codec) => codec.recognizes(http)) ?? openai.server;
}

/** The dialect of an upstream, by its name; absent if there is none of that name. */
export function findClientCodec(format: string): ClientCodec | undefined {
  return formats.find((candidate) => candidate.client.format === format)?.client;
}
