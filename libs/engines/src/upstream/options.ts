import { findClientCodec, formats } from '@sluice/formats';
import { isConnectionHeader, isHeaderName, isHeaderValue } from '@sluice/http';
import { z } from 'zod';
import { mediaOptions } from '../media/media-options.ts';

const headerValue = z.string().refine(isHeaderValue, 'holds a character that is not allowed in a header');
const headerName = z
  .string()
  .refine(isHeaderName, 'is not the name of a header')
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
        "The server's base address, as the SDKs of its dialect expect it: with /v1 for openai, without for the others.",
      ),
    credential: headerValue
      .min(1)
      .optional()
      .describe('Sent as the dialect demands. Absent: the server needs none.'),
    headers: z
      .record(headerName, headerValue)
      .default({})
      .describe('Additional headers for every request; they replace ours.'),
    slots: z
      .int()
      .min(1)
      .max(100_000)
      .default(64)
      .describe('Concurrent generations, each on its own connection.'),
    connectTimeoutMs: timeoutMs
      .default(5000)
      .describe(
        'Longest wait for a connection, TLS included. If a name has several addresses, each but the last gets a quarter of it.',
      ),
    firstEventTimeoutMs: timeoutMs
      .default(120_000)
      .describe(
        'Longest wait for the first content of an answer, unless a piece without content came within the last idleTimeoutMs. Pings and comments are no such pieces.',
      ),
    idleTimeoutMs: timeoutMs
      .default(60_000)
      .describe('Longest silence in an answer. Pings and comments do not end it.'),
    startTimeoutMs: timeoutMs.default(60_000).describe('How long a starting worker waits for the server.'),
    probeIntervalMs: timeoutMs
      .default(10_000)
      .describe('How often the server is probed while there are no calls.'),
    probePath: z
      .string()
      .optional()
      .describe('Path below baseUrl for probes. Absent: the model list of the dialect.'),
    media: mediaOptions.prefault({}),
    resume: z
      .enum(['none', 'prefix'])
      .default('none')
      .describe(
        'prefix: a generation that was lost in mid-stream continues after its delivered text, and so does one that a messages ' +
          'client began with a last assistant turn (plain text only). Needs a server that continues an assistant message: ' +
          'vLLM, SGLang, llama.cpp for openai.',
      ),
  })
  .refine(({ resume, dialect }) => resume === 'none' || continuing.includes(dialect), {
    path: ['resume'],
    message: `prefix needs one of the dialects ${continuing.join(', ')}`,
  });
export type UpstreamOptions = z.infer<typeof upstreamOptions>;
