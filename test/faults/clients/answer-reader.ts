import { isJsonObject, type JsonObject } from '@sluice/canonical';
import { SseParser } from '@sluice/formats';
import type { Format } from '../../support/call.ts';
import type { ReadAnswer } from '../observation.ts';

/** Reads the part of a body that arrived, as strictly as its format allows. */
export function readAnswer(format: Format, isStream: boolean, status: number, body: string): ReadAnswer {
  const answer: ReadAnswer = { text: '', finishes: 0, endMarks: 0, eventsAfterEnd: 0, malformed: [] };
  if (status === 200 && isStream) readStream(format, body, answer);
  else readBody(format, status, body, answer);
  return answer;
}

function readBody(format: Format, status: number, body: string, answer: ReadAnswer): void {
  const json = parse(body);
  if (!json) {
    answer.malformed.push('a body that is no JSON object');
    return;
  }
  if (status !== 200) {
    readError(json, answer, status);
    if (!answer.error) answer.malformed.push('an error status without an error object');
    return;
  }
  bodies[format](json, answer);
  answer.endMarks = answer.finishes;
}

function readStream(format: Format, body: string, answer: ReadAnswer): void {
  for (const { event, data } of new SseParser().push(body)) {
    if (answer.endMarks > 0 || answer.error) answer.eventsAfterEnd += 1;
    if (format === 'openai' && data === '[DONE]') {
      answer.endMarks += 1;
      continue;
    }
    const json = parse(data);
    if (!json) {
      answer.malformed.push('an event that is no JSON object');
      continue;
    }
    if (format === 'anthropic' && event !== json.type)
      answer.malformed.push(`event ${event} holds the type ${String(json.type)}`);
    if (json.error) readError(json, answer);
    else events[format](json, answer);
  }
}

function readError({ error }: JsonObject, answer: ReadAnswer, status?: number): void {
  if (!isJsonObject(error)) return;
  answer.error = { message: String(error.message), ...(status !== undefined && { status }) };
}

type Reader = (json: JsonObject, answer: ReadAnswer) => void;

const events: Readonly<Record<Format, Reader>> = {
  openai: (json, answer) => {
    for (const choice of objects(json.choices)) {
      answer.text += textOf(object(choice.delta).content);
      if (choice.finish_reason) answer.finishes += 1;
    }
    readUsage(json.usage, 'prompt_tokens', 'completion_tokens', answer);
  },
  anthropic: (json, answer) => {
    const delta = object(json.delta);
    if (json.type === 'content_block_delta') answer.text += textOf(delta.text);
    if (json.type === 'message_delta' && delta.stop_reason) {
      answer.finishes += 1;
      readUsage(json.usage, 'input_tokens', 'output_tokens', answer);
    }
    if (json.type === 'message_stop') answer.endMarks += 1;
  },
  gemini: (json, answer) => {
    readCandidates(json, answer);
    answer.endMarks = answer.finishes;
  },
};

const bodies: Readonly<Record<Format, Reader>> = {
  openai: (json, answer) => {
    for (const choice of objects(json.choices)) {
      answer.text += textOf(object(choice.message).content);
      if (choice.finish_reason) answer.finishes += 1;
    }
    readUsage(json.usage, 'prompt_tokens', 'completion_tokens', answer);
  },
  anthropic: (json, answer) => {
    for (const block of objects(json.content)) answer.text += textOf(block.text);
    if (json.stop_reason) answer.finishes += 1;
    readUsage(json.usage, 'input_tokens', 'output_tokens', answer);
  },
  gemini: readCandidates,
};

function readCandidates(json: JsonObject, answer: ReadAnswer): void {
  for (const candidate of objects(json.candidates)) {
    for (const part of objects(object(candidate.content).parts)) answer.text += textOf(part.text);
    if (candidate.finishReason) answer.finishes += 1;
  }
  readUsage(json.usageMetadata, 'promptTokenCount', 'candidatesTokenCount', answer);
}

function readUsage(usage: unknown, input: string, output: string, answer: ReadAnswer): void {
  if (!isJsonObject(usage)) return;
  const [inputTokens, outputTokens] = [usage[input], usage[output]];
  if (typeof inputTokens === 'number' && typeof outputTokens === 'number')
    answer.usage = { inputTokens, outputTokens };
}

function parse(text: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function object(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
