import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '@sluice/canonical';
import { referenceToken } from '@sluice/engines';
import { type ChatExchange, type ChatServer, startChatServer } from '@sluice/testing';
import type { UpstreamRun } from '../observation.ts';
import type { UpstreamFault } from '../plan.ts';

/** A mock model server that answers with the reference text, or fails as the prompt tells it to. */
export interface MockUpstream {
  readonly server: ChatServer;
  readonly port: number;
  /** Every call, in order of arrival. */
  readonly runs: readonly UpstreamRun[];
  stop(): Promise<void>;
}

interface Order {
  index: number;
  tokens: number;
  ttftMs: number;
  gapMs: number;
  fault?: UpstreamFault;
}

/** The input tokens that the mock reports for every prompt. */
const inputTokens = 25;

export async function startMockUpstream(): Promise<MockUpstream> {
  const runs: UpstreamRun[] = [];
  const server = await startChatServer({
    models: ['up'],
    script: async (exchange) => {
      const order = readOrder(exchange.request.body.messages);
      const run: UpstreamRun = { index: order.index, startedAt: Date.now(), wasAborted: false };
      runs.push(run);
      void exchange.closed.then(() => {
        run.closedAt = Date.now();
        run.wasAborted = exchange.wasAborted;
      });
      await play(exchange, order);
    },
  });
  const port = Number(new URL(server.baseUrl).port);
  return { server, port, runs, stop: () => server.stop() };
}

function readOrder(messages: Json | undefined): Order {
  const prompt = JSON.stringify(messages ?? '');
  const number = (name: string): number => Number(new RegExp(`${name}=(\\d+)`).exec(prompt)?.[1] ?? 0);
  const fault = /\[\[up (\{.*?\})\]\]/.exec(prompt)?.[1];
  return {
    index: number('seed'),
    tokens: number('tokens'),
    ttftMs: number('ttft'),
    gapMs: number('gap'),
    // Inside a JSON string its quotes are escaped; the runner's own plan wrote it.
    ...(fault !== undefined && { fault: JSON.parse(fault.replaceAll('\\"', '"')) as UpstreamFault }),
  };
}

async function play(exchange: ChatExchange, { index, tokens, ttftMs, gapMs, fault }: Order): Promise<void> {
  if (fault?.kind === 'status') {
    await exchange.fail(fault.status, { error: { message: 'the mock was told to', type: 'server_error' } });
    return;
  }
  const gone = exchange.closed.then(() => true);
  const pause = (ms: number): Promise<boolean> => Promise.race([gone, sleep(ms, false)]);
  if (await pause(ttftMs)) return;
  for (let position = 0; position < tokens; position += 1) {
    if (fault?.at === position) return misbehave(exchange, fault.kind);
    await exchange.text(referenceToken(index, position));
    if (await pause(gapMs)) return;
  }
  await exchange.finish('stop', {
    prompt_tokens: inputTokens,
    completion_tokens: tokens,
    total_tokens: inputTokens + tokens,
  });
}

async function misbehave(
  exchange: ChatExchange,
  kind: 'cut' | 'stall' | 'garbage' | 'half-close',
): Promise<void> {
  if (kind === 'cut') exchange.cut();
  else if (kind === 'stall') await exchange.closed;
  else if (kind === 'half-close') await exchange.end();
  else {
    await exchange.raw('data: {"choices":[{"delta":{"content":"\u0000\n\ndata: <html>\n\n');
    await exchange.end();
  }
}
