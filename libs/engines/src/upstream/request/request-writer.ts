import type { ClientCodec, EncodedRequest } from '@sluice/formats';
import { beginRequest, completeRequest, type WireRequest } from '@sluice/http';
import type { GenerationRun } from '../../engine.ts';
import type { UpstreamOptions } from '../options.ts';
import type { Address } from './address.ts';
import { bodyText } from './body-text.ts';
import { traceHeaders } from './trace-headers.ts';

/** Writes the requests to one server as HTTP. */
export class RequestWriter {
  private readonly options: UpstreamOptions;
  private readonly codec: ClientCodec;
  private readonly address: Address;
  /** Names of the headers that the settings give. */
  private readonly given: ReadonlySet<string>;
  private last: { path: string; headers: EncodedRequest['headers']; head: string } | undefined;

  constructor(options: UpstreamOptions, codec: ClientCodec, address: Address) {
    this.options = options;
    this.codec = codec;
    this.address = address;
    this.given = new Set(Object.keys(options.headers).map((name) => name.toLowerCase()));
  }

  write({ path, headers, body }: EncodedRequest, run: GenerationRun): WireRequest {
    const ofThisCall = traceHeaders(run, (name) => this.given.has(name));
    return completeRequest(this.head(path, headers), bodyText(body), ofThisCall);
  }

  /** The headers of every request, besides those that are `encoded` for this one. */
  headers(encoded: EncodedRequest['headers'] = {}): Record<string, string> {
    const ours = {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
    };
    const all = {
      ...ours,
      ...encoded,
      ...this.codec.authorize(this.options.credential),
      ...this.options.headers,
    };
    // Keyed by lower-case name, so that a configured header replaces ours instead of adding to it.
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]));
  }

  /** Most requests differ only in their body, so the last head is kept. */
  private head(path: string, headers: EncodedRequest['headers']): string {
    if (this.last?.path !== path || this.last.headers !== headers) {
      const facts = {
        path: this.address.pathTo(path),
        authority: this.address.server.authority,
        headers: this.headers(headers),
      };
      this.last = { path, headers, head: beginRequest(facts) };
    }
    return this.last.head;
  }
}
