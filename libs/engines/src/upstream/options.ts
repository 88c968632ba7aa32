import { findClientCodec, formats } from '@sluice/formats';
import { isConnectionHeader, isHeaderName, isHeaderValue } from '@sluice/http';
import { z } from 'zod';
import { mediaOptions } from '../media/media-options.ts';

const headerValue = z.string().refine(isHeaderValue, 'holds a character that no header may');
const headerName = z
  .string()
  .refine(isHeaderName, 'is no name of a header')
  .refine((name) => !isConnectionHeader(name.toLowerCase()), 'is set by the connection itself');
/** User and password would be left out, and the server asked without them. */
const isWithoutUser = (url: string) =>
  !URL.canParse(url) || new URL(url).username + new URL(url).password === '';
const timeoutMs = z.int().min(1).max(3_600_000);
/** Dialects whose servers continue an assistant message that stands last. */
const continuing = formats.flatMap(({ client }) => (client.servers.continuation ? client.format : []));

/** Configuration of the upstream engine. Any string may be `{ env: "NAME" }` instead. */
export const upstreamOptions = z
  .strictObject({
    dialect: z
      .string()
      .refine((name) => findClientCodec(name) !== undefined, {
        message: `must be one of ${formats.map((format) => format.client.format).join(', ')}`,
      })
      .default('openai')
      .describe('The format that the server speaks.'),
    baseUrl: z
      .url({ protocol: /^https?$/ })
      .refine(isWithoutUser, 'holds a user or a password: put them into credential or headers')
      .describe(
        "The server's base address as the SDKs of its dialect take it: with /v1 for openai, without for the others.",
      ),
    credential: headerValue
      .min(1)
      .optional()
      .describe('Sent as the dialect demands. Absent: the server wants none.'),
    headers: z
      .record(headerName, headerValue)
      .default({})
      .describe('More headers for every request; they win over ours.'),
    slots: z
      .int()
      .min(1)
      .max(100_000)
      .default(64)
      .describe('Concurrent generations, each a connection of its own.'),
    connectTimeoutMs: timeoutMs
      .default(5000)
      .describe(
        'Longest wait for a connection, TLS included. Of several addresses, each but the last has a quarter of it.',
      ),
    firstEventTimeoutMs: timeoutMs
      .default(120_000)
      .describe('Longest wait for the first content of an answer. Pings and comments are none.'),
    idleTimeoutMs: timeoutMs
      .default(60_000)
      .describe('Longest silence in an answer. Pings and comments do not end it.'),
    startTimeoutMs: timeoutMs
      .default(60_000)
      .describe('How long a worker that starts waits for the server to be there.'),
    probeIntervalMs: timeoutMs
      .default(10_000)
      .describe('How often the server is asked whether it lives while nobody calls it.'),
    probePath: z
      .string()
      .optional()
      .describe('Path below baseUrl for that question. Absent: the model list of the dialect.'),
    media: mediaOptions.prefault({}),
    resume: z
      .enum(['none', 'prefix'])
      .default('none')
      .describe(
        'prefix: a generation lost midway goes on after its delivered text, and one that a messages client began with a last ' +
          'assistant turn after that (plain text only). Needs a server that continues an assistant message: vLLM, SGLang, ' +
          'llama.cpp for openai.',
      ),
  })
  .refine(({ resume, dialect }) => resume === 'none' || continuing.includes(dialect), {
    path: ['resume'],
    message: `prefix needs one of the dialects ${continuing.join(', ')}`,
  });
export type UpstreamOptions = z.infer<typeof upstreamOptions>;
