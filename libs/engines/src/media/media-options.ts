import { z } from 'zod';
import { isHostEntry } from './host-list.ts';

const mebibyte = 1024 * 1024;
const hostEntries = z.array(
  z.string().refine(isHostEntry, {
    message:
      'must be a host such as cdn.example.com or *.example.com, an IP address or a network such as 10.1.0.0/16',
  }),
);

/** How a backend treats images and documents that a request names by URL. */
export const mediaOptions = z.strictObject({
  fetch: z
    .enum(['never', 'when-needed', 'always'])
    .default('never')
    .describe(
      'Whether workers fetch images and documents that a request names by URL. never: the URL is passed on, or refused if the ' +
        'dialect has no field for it. when-needed: fetched if the server might not fetch the URL itself. always: fetched, ' +
        'so that the server needs no way out. What only the server can reach (its own file store) is always passed on.',
    ),
  hosts: hostEntries
    .optional()
    .describe(
      'Only these hosts and those of `internal`. Absent: every public one. `*.example.com` means names below it.',
    ),
  internal: hostEntries
    .default([])
    .describe(
      'Hosts that may be fetched from although they are not public. A name may lead to private addresses; loopback, link-local ' +
        'and metadata addresses must be listed themselves. Names are looked up in DNS only.',
    ),
  denied: hostEntries
    .default([])
    .describe('Hosts and networks that are never fetched from, whatever the other settings say.'),
  allowHttp: z
    .boolean()
    .default(false)
    .describe('Whether http is allowed besides https. A redirect from https to http is never followed.'),
  ports: z
    .array(z.int().min(1).max(65_535))
    .min(1)
    .optional()
    .describe('Ports that may be fetched from. Absent: 443, and 80 if http is allowed.'),
  maxBytes: z
    .int()
    .min(1)
    .max(256 * mebibyte)
    .default(20 * mebibyte)
    .describe('Largest image or document.'),
  maxRequestBytes: z
    .int()
    .min(1)
    .max(256 * mebibyte)
    .default(48 * mebibyte)
    .describe(
      'Most bytes that are fetched for one request. Their base64, a third longer, stays in memory until the answer ends.',
    ),
  maxPerRequest: z.int().min(1).max(1000).default(16).describe('Most URLs that are fetched for one request.'),
  maxConcurrent: z
    .int()
    .min(1)
    .max(10_000)
    .default(16)
    .describe(
      'Most concurrent fetches of a worker process for this backend; others wait for their turn. A tenant has at ' +
        'most three times as many of them as it leaves free, so a worker that serves one tenant fetches 12 of 16.',
    ),
  timeoutMs: z
    .int()
    .min(1)
    .max(3_600_000)
    .default(10_000)
    .describe('Longest time for one image or document, redirects included.'),
});
export type MediaOptions = z.output<typeof mediaOptions>;
