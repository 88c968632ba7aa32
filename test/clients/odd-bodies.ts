import type { Json, JsonObject } from '@sluice/canonical';
import type { Format } from '../support/call.ts';

/** The path from the top of a JSON text to one of its values. */
export type Place = readonly (string | number)[];

/** Values that are rarely valid, as JSON texts, since some could not be written from a JavaScript value. */
export const oddities: Readonly<Record<string, string>> = {
  null: 'null',
  true: 'true',
  'a negative number': '-1',
  'a fraction': '0.5',
  'a huge number': '1e308',
  'a number beyond all': '1e999',
  'an empty text': '""',
  'a text': '"[[sim tokens=1 ttft=0 gap=0]] odd"',
  'a lone surrogate': '"\\ud800"',
  'an empty list': '[]',
  'a list of lists': '[[[]]]',
  'a list of null': '[null]',
  'an empty object': '{}',
  'an object of prototypes': '{"__proto__":{"a":1},"constructor":1,"toString":1,"length":-1}',
};

/** The places of all values in a body, except the body itself. */
export function placesOf(value: Json, place: Place = []): Place[] {
  const own = place.length === 0 ? [] : [place];
  if (typeof value !== 'object' || value === null) return own;
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [...own, ...entries.flatMap(([key, inner]) => placesOf(inner as Json, [...place, key]))];
}

const mark = '\u0001place';

/** The body as JSON text, with this JSON text in place of one of its values. */
export function withValueAt(body: Json, place: Place, text: string): string {
  const copy = structuredClone(body);
  let parent: Json = copy;
  // The place was found in this very body.
  for (const key of place.slice(0, -1)) parent = (parent as JsonObject)[key] as Json;
  (parent as JsonObject)[place.at(-1) ?? ''] = mark;
  return JSON.stringify(copy).replace(JSON.stringify(mark), () => text);
}

const prompt = '[[sim tokens=1 ttft=0 gap=0]]';
const parameters = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Oslo'] } },
  required: ['city'],
};
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A good body of each format with much of what the format can say. */
export const richBodies: Readonly<Record<Format, JsonObject>> = {
  openai: {
    model: 'sim',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      { role: 'user', content: prompt },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'Weather.', parameters, strict: true },
      },
    ],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'get_weather' } }] },
    },
    parallel_tool_calls: false,
    response_format: { type: 'text' },
    stop: ['END'],
    temperature: 1,
    top_p: 1,
    n: 1,
    seed: 1,
    logprobs: true,
    top_logprobs: 1,
    logit_bias: { '1': 1 },
    max_completion_tokens: 5,
    reasoning_effort: 'none',
    stream: false,
    stream_options: { include_usage: true },
    user: 'someone',
    metadata: { a: 'b' },
  },
  anthropic: {
    model: 'sim',
    max_tokens: 2000,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'x' },
          { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'sunny' }],
            is_error: false,
          },
          { type: 'text', text: prompt },
        ],
      },
    ],
    tools: [{ name: 'get_weather', description: 'Weather.', input_schema: parameters }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 1024 },
    output_config: { effort: 'low', format: { type: 'json_schema', schema: parameters } },
    stop_sequences: ['END'],
    temperature: 1,
    top_p: 1,
    top_k: 5,
    metadata: { user_id: 'someone' },
    stream: false,
  },
  gemini: {
    systemInstruction: { role: 'user', parts: [{ text: 'Be brief.' }] },
    contents: [
      {
        role: 'user',
        parts: [{ text: 'Look.' }, { inlineData: { mimeType: 'image/png', data: pixel } }],
      },
      {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true },
          {
            functionCall: { id: 'call_1', name: 'get_weather', args: { city: 'Oslo' } },
            thoughtSignature: 'AAAA',
          },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'call_1', name: 'get_weather', response: { output: 'sunny' } } }],
      },
      { role: 'user', parts: [{ text: prompt }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'get_weather', description: 'Weather.', parameters }] }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    generationConfig: {
      temperature: 1,
      topP: 1,
      topK: 5,
      candidateCount: 1,
      maxOutputTokens: 9,
      stopSequences: ['END'],
      seed: 1,
      responseMimeType: 'application/json',
      responseSchema: parameters,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 128 },
    },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  },
};
