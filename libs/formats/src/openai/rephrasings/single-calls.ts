import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Words of the template of Llama 3, which fails on every later turn of a conversation with parallel calls. */
const wantsSingleCalls = /\bonly supports single tool-calls\b/i;

/** With each of several calls in an answer of its own that its result follows. */
export function withSingleCalls(body: JsonObject, refusal: string): JsonObject | undefined {
  const { messages } = body;
  if (!Array.isArray(messages) || !wantsSingleCalls.test(refusal)) return undefined;
  const said: Json[] = [];
  let hasChanged = false;
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at] ?? null;
    const calls = isJsonObject(message) ? message.tool_calls : undefined;
    if (!isJsonObject(message) || !Array.isArray(calls) || calls.length < 2) {
      said.push(message);
      continue;
    }
    hasChanged = true;
    const results = new Map<Json | undefined, Json[]>();
    for (let next = messages[at + 1]; isResult(next); next = messages[at + 1]) {
      const known = results.get(next.tool_call_id);
      if (known) known.push(next);
      else results.set(next.tool_call_id, [next]);
      at += 1;
    }
    for (const [place, call] of calls.entries()) {
      const head = place === 0 ? message : { role: 'assistant', content: null };
      said.push({ ...head, tool_calls: [call] });
      const result = isJsonObject(call) ? results.get(call.id)?.shift() : undefined;
      if (result !== undefined) said.push(result);
    }
    // Results of no call stay as wrong as the client sent them.
    for (const rest of results.values()) for (const result of rest) said.push(result);
  }
  return hasChanged ? { ...body, messages: said } : undefined;
}

function isResult(message: Json | undefined): message is JsonObject {
  return isJsonObject(message) && message.role === 'tool';
}
