import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaFetchOutcome } from '@sluice/runtime';
import { isEncoded } from '../content-coding.ts';
import { type AddressRules, allowsAddress, allowsHost } from './address-guard.ts';
import { download, type WebAnswer } from './download.ts';
import { parseHostList } from './host-list.ts';
import { type LookUp, lookUpByDns } from './look-up.ts';
import type { MediaOptions } from './media-options.ts';
import { type MediaTarget, parseTarget, type TargetRules } from './media-target.ts';
import { mayBe, typeOf } from './media-type.ts';
import { SharedTurns } from './shared-turns.ts';

const maxRedirects = 3;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/**
 * Failures are reported on this time grid, so that their duration does not tell a refused address from a closed port.
 */
const failureGridMs = 1_000;

/** One file to fetch. */
export interface MediaOrder {
  url: string;
  /** The media type that the request gives; `image/*` if it gives none. */
  mediaType: string;
  /** The bytes left for the request. Its fetches share the budget and subtract from it. */
  budget: { bytes: number };
  /** Whose file it is: tenants share the concurrent fetches. Absent: all those of whom it is not known are one. */
  tenant?: string;
  /**
   * Asked before a file is read, with the most bytes that it can have. If it returns false, the fetch stops. Absent:
   * every file is read.
   */
  admit?(bytes: number): boolean;
  signal: AbortSignal;
}

/** A fetched file, or what a client may hear about why there is none. */
export type MediaFetch =
  | { outcome: 'ok'; mediaType: string; data: string }
  | { outcome: Exclude<MediaFetchOutcome, 'ok'>; fact: string };
type Failure = Exclude<MediaFetch, { outcome: 'ok' }>;
/** Where an answer redirects the fetch, or how the fetch ends. */
type Step = MediaFetch | { outcome: 'redirected'; location: string };

/** What a fetcher needs from its surroundings. */
export interface MediaFetcherServices {
  /** Monotonic milliseconds. */
  now(): number;
  onFetched(outcome: MediaFetchOutcome, durationMs: number): void;
  /** Absent: DNS. */
  lookUp?: LookUp;
  /** Waits this long or until the signal aborts; never rejects. Absent: a timer. */
  wait?(durationMs: number, signal: AbortSignal): Promise<void>;
  /** PEM certificates that are trusted instead of the system's. */
  certificateAuthority?: string;
}

/**
 * A refused address and one where nobody answers must look the same, or the fetcher would be a scanner of our network.
 */
const unreachable = 'the URL cannot be fetched';
const failed = (outcome: Failure['outcome'], fact: string): Failure => ({ outcome, fact });

/** What a client hears whose files have more bytes than a request may have. */
export function tooLargeTogether(maxRequestBytes: number): string {
  return `the files of the request are larger than ${maxRequestBytes} bytes together`;
}

/** Fetches files by URL for strangers. It reaches nothing that the options do not allow. */
export class MediaFetcher {
  private readonly options: MediaOptions;
  private readonly services: MediaFetcherServices;
  private readonly targetRules: TargetRules;
  private readonly addressRules: AddressRules;
  private readonly turns: SharedTurns;
  private readonly closing = new AbortController();

  constructor(options: MediaOptions, services: MediaFetcherServices) {
    const { hosts, internal, denied, allowHttp, ports, maxConcurrent } = options;
    this.options = options;
    this.services = services;
    this.targetRules = { allowsHttp: allowHttp, ports: ports ?? (allowHttp ? [443, 80] : [443]) };
    this.addressRules = {
      ...(hosts && { hosts: parseHostList(hosts) }),
      internal: parseHostList(internal),
      denied: parseHostList(denied),
    };
    this.turns = new SharedTurns(maxConcurrent);
  }

  /** Fetches one file when its turn comes. Never rejects; ends soon after the signal aborts or `close` is called. */
  async fetch(order: MediaOrder): Promise<MediaFetch> {
    const { now, onFetched, wait = sleepUnlessAborted } = this.services;
    const target = parseTarget(order.url, this.targetRules);
    if (typeof target === 'string') {
      onFetched('refused', 0);
      return failed('refused', target);
    }
    const stop = AbortSignal.any([order.signal, this.closing.signal]);
    const { tenant = '' } = order;
    if (!(await this.turns.begin(tenant, stop))) return failed('stopped', unreachable);
    const startedAt = now();
    const result = await this.follow(target, order, stop).finally(() => this.turns.end(tenant));
    const durationMs = now() - startedAt;
    onFetched(result.outcome, durationMs);
    if (result.outcome !== 'ok') await wait(failureGridMs - (durationMs % failureGridMs), stop);
    return result;
  }

  /** Ends all fetches in flight. */
  close(): void {
    this.closing.abort();
  }

  private async follow(first: MediaTarget, order: MediaOrder, stop: AbortSignal): Promise<MediaFetch> {
    const timeout = AbortSignal.timeout(this.options.timeoutMs);
    const signal = AbortSignal.any([stop, timeout]);
    let target = first;
    for (let count = 0; count <= maxRedirects; count += 1) {
      const step = await this.visit(target, order, signal).catch(() => failed('unreachable', unreachable));
      if (stop.aborted) return failed('stopped', unreachable);
      if (step.outcome !== 'ok' && timeout.aborted)
        return failed('timed-out', 'the URL was not fetched in time');
      if (step.outcome !== 'redirected') return step;
      const next = parseTarget(step.location, this.targetRules, target.url);
      if (typeof next === 'string') return failed('refused', unreachable);
      target = next;
    }
    return failed('bad-status', 'the URL redirects too often');
  }

  /** One hop: looks the name up and checks it anew. */
  private async visit({ url, host }: MediaTarget, order: MediaOrder, signal: AbortSignal): Promise<Step> {
    const { lookUp = lookUpByDns, certificateAuthority } = this.services;
    if (!allowsHost(host, this.addressRules)) return failed('refused', unreachable);
    const addresses = isIP(host) > 0 ? [host] : await unlessAborted(lookUp(host, signal), signal);
    if (addresses.length === 0) return failed('unreachable', unreachable);
    // A bad address among good ones is no accident.
    if (!addresses.every((address) => allowsAddress(host, address, this.addressRules))) {
      return failed('refused', unreachable);
    }
    const request = {
      url,
      addresses,
      accept: acceptFor(order.mediaType),
      connectTimeoutMs: this.options.timeoutMs,
      signal,
      ...(certificateAuthority !== undefined && { certificateAuthority }),
    };
    return download(request, (answer) => this.read(answer, order));
  }

  private async read({ status, header, body }: WebAnswer, order: MediaOrder): Promise<Step> {
    const location = header('location');
    if (redirects.has(status) && location !== '') return { outcome: 'redirected', location };
    if (status !== 200) return failed('bad-status', `the server of the URL answered ${status}`);
    const wrongType = failed(
      'wrong-type',
      'the URL does not lead to a file of the type that the request says',
    );
    if (!mayBe(order.mediaType, header('content-type'))) return wrongType;
    if (isEncoded(header('content-encoding'))) {
      return failed('wrong-type', 'the server of the URL compressed its answer unasked');
    }
    const bytes = await this.collect(body, Number(header('content-length')), order);
    if (!Buffer.isBuffer(bytes)) return bytes;
    const mediaType = typeOf(order.mediaType, bytes);
    return mediaType === undefined ? wrongType : { outcome: 'ok', mediaType, data: bytes.toString('base64') };
  }

  /** `announced`: the size that the server gave in advance; 0 if it gave none. */
  private async collect(
    body: AsyncIterable<Buffer>,
    announced: number,
    { budget, admit }: MediaOrder,
  ): Promise<Buffer | Failure> {
    const { maxBytes, maxRequestBytes } = this.options;
    const tooLarge = failed('too-large', `the file is larger than ${maxBytes} bytes`);
    if (announced > maxBytes) return tooLarge;
    if (admit?.(announced > 0 ? announced : maxBytes) === false) return failed('stopped', unreachable);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) return tooLarge;
      budget.bytes -= chunk.length;
      if (budget.bytes < 0) {
        return failed('too-large', tooLargeTogether(maxRequestBytes));
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
}

function acceptFor(mediaType: string): string {
  return mediaType.startsWith('image/') ? 'image/*' : mediaType;
}

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

async function sleepUnlessAborted(durationMs: number, signal: AbortSignal): Promise<void> {
  await sleep(durationMs, undefined, { signal }).catch(() => undefined);
}
