import type { GenerationEvent, InferenceRequest, Message } from '@sluice/canonical';

/** A fault between the codecs, to prove that the matrix notices it. Each fault leaves everything else alone. */
export interface SeededLoss {
  onRequest(request: InferenceRequest): InferenceRequest;
  onAnswer(events: readonly GenerationEvent[]): GenerationEvent[];
}

const nothing: SeededLoss = { onRequest: (request) => request, onAnswer: (events) => [...events] };

/** The losses that can be seeded, by name. */
export const seededLosses = {
  none: nothing,
  'tool-deltas': {
    ...nothing,
    onAnswer: (events) => events.filter(({ type }) => type !== 'tool-call-delta'),
  },
  signatures: {
    onRequest: (request) => ({ ...request, messages: request.messages.map(withoutSignatures) }),
    onAnswer: (events) => events.filter(({ type }) => type !== 'block-annotation'),
  },
  images: {
    ...nothing,
    onRequest: (request) => ({ ...request, messages: request.messages.map(withoutMedia) }),
  },
  usage: {
    ...nothing,
    onAnswer: (events) =>
      events.map((event) =>
        event.type === 'finish' && event.usage.outputTokens !== undefined
          ? { ...event, usage: { ...event.usage, outputTokens: event.usage.outputTokens * 2 } }
          : event,
      ),
  },
} satisfies Record<string, SeededLoss>;

export type SeededLossName = keyof typeof seededLosses;

/** True for the name of a loss that can be seeded. */
export function isSeededLoss(name: string): name is SeededLossName {
  return Object.hasOwn(seededLosses, name);
}

function withoutMedia(message: Message): Message {
  if (message.role !== 'user') return message;
  return { ...message, content: message.content.filter(({ type }) => type !== 'media') };
}

function withoutSignatures(message: Message): Message {
  if (message.role !== 'assistant') return message;
  const content = message.content.map((part) => {
    if (part.type === 'opaque') return part;
    const { extensions: _signature, ...plain } = part;
    return plain;
  });
  return { ...message, content };
}
