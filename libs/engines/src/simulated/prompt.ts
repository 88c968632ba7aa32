import type { InferenceRequest, Message } from '@sluice/canonical';

/** What the simulated model reads of a conversation. */
export interface Prompt {
  /** Text of the last user message; empty if there is none. */
  text: string;
  /** Whether the last message is a tool's. */
  endsWithToolResult: boolean;
}

/** Reads a conversation as the simulated model does: its last user message, and who spoke last. */
export function readPrompt(request: InferenceRequest): Prompt {
  const last = request.messages.at(-1);
  const user = request.messages.findLast((message) => message.role === 'user');
  return { text: user ? textOf(user) : '', endsWithToolResult: last?.role === 'tool' };
}

function textOf(message: Message): string {
  let text = '';
  for (const part of message.content) if (part.type === 'text') text += part.text;
  return text;
}
