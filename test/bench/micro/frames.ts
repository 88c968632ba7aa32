import type { GenerationEvent } from '@sluice/canonical';
import { importLibrary } from './checkout.ts';
import type { Subject } from './subject.ts';

type Transport = typeof import('@sluice/transport');

const streams = 64;
const rounds = 20;
const worker = 'w0123456789abcdef';
const requestId = (stream: number) => `0123456789abcdef0123456789abcd${stream}`;
const event = (at: number): GenerationEvent => ({
  type: 'text-delta',
  block: 0,
  text: ` word${at}`,
  tokens: 1,
});

/** Checkouts of 26 and 27 November publish at a lull by default, and not after each turn. */
const withoutLull = { atLull: ({ send }: { send: () => void }) => setImmediate(send) };

/** A token of each of 64 streams as one batch, written and read. */
export const frames: Subject = {
  name: 'frame',
  unit: 'token',
  async open(root) {
    const { encodeFrame, encodeBatch, decodeBatch } = await importLibrary<Transport>(root, 'transport');
    return {
      operations: streams * rounds,
      batch() {
        for (let sequence = 0; sequence < rounds; sequence++) {
          const texts: string[] = [];
          for (let stream = 0; stream < streams; stream++) {
            const events = [event(sequence)];
            texts.push(encodeFrame({ requestId: requestId(stream), attempt: 1, sequence, events }));
          }
          decodeBatch(encodeBatch({ worker, frames: texts }));
        }
      },
    };
  },
};

/** A token of each of 64 attempts per turn of the event loop, through the publisher; nobody listens. */
export const publisher: Subject = {
  name: 'publish',
  unit: 'token',
  async open(root) {
    const { createReplyPublisher } = await importLibrary<Transport>(root, 'transport');
    let published = 0;
    let written = 0;
    let number = 0;
    const nothing = Promise.resolve(1);
    const reply = createReplyPublisher({
      bus: {
        publish: () => {
          published += 1;
          return nothing;
        },
        post: (_channel: string, text: string) => {
          published += 1;
          return text.length;
        },
        subscribe: async () => undefined,
        onResubscribed: () => undefined,
        isUp: () => true,
        isReached: () => true,
        canPublish: () => true,
      },
      worker,
      now: () => performance.now(),
      isIngressAlive: async () => true,
      ...withoutLull,
    });
    return {
      operations: streams * rounds,
      async batch() {
        number += 1;
        const claims = Array.from({ length: streams }, (_, stream) => ({
          requestId: `${requestId(stream)}-${number}`,
          attempt: 1,
        }));
        const writers = claims.map((claim) => reply.open({ ...claim, replyTo: 'i1' }));
        for (let sequence = 0; sequence < rounds; sequence++) {
          for (const writer of writers) writer?.write(event(sequence));
          written += streams;
          await new Promise((resolve) => setImmediate(resolve));
        }
        for (const claim of claims) reply.forget(claim);
      },
      facts: () => ({ 'messages per token': published / written }),
    };
  },
};
