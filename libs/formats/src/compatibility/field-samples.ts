import type { Json, JsonObject } from '@sluice/canonical';

/** A request that is as small as it may be, and a value of each field that the dialect has beside it. */
export interface FieldSamples {
  format: string;
  path: string;
  smallest: JsonObject;
  /** By the field's path in the body. */
  fields: Readonly<Record<string, Json>>;
}

const schema = { type: 'object', properties: { city: { type: 'string' } } };
const chatTool = { type: 'function', function: { name: 'look', parameters: schema } };
const messagesTool = { name: 'look', input_schema: schema };

/** The fields of every dialect, with a value that asks for something. */
export const fieldSamples: readonly FieldSamples[] = [
  {
    format: 'openai',
    path: '/v1/chat/completions',
    smallest: { model: 'm', messages: [{ role: 'user', content: 'Hello' }], tools: [chatTool] },
    fields: {
      stream: true,
      'stream_options.include_usage': true,
      n: 2,
      max_completion_tokens: 9,
      max_tokens: 9,
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
      seed: 7,
      stop: ['END'],
      tool_choice: 'required',
      parallel_tool_calls: true,
      functions: [{ name: 'look', parameters: schema }],
      function_call: { name: 'look' },
      response_format: { type: 'json_object' },
      reasoning_effort: 'low',
      logprobs: true,
      user: 'u-1',
      logit_bias: { '50256': -100 },
      metadata: { a: 'b' },
      store: true,
      service_tier: 'auto',
      verbosity: 'low',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      safety_identifier: 's',
      modalities: ['text'],
      audio: { voice: 'x', format: 'wav' },
      prediction: { type: 'content', content: 'Hi' },
      web_search_options: {},
      min_p: 0.1,
      repetition_penalty: 1.1,
      chat_template_kwargs: { enable_thinking: false },
    },
  },
  {
    format: 'anthropic',
    path: '/v1/messages',
    smallest: {
      model: 'm',
      max_tokens: 64,
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [messagesTool],
    },
    fields: {
      system: 'Be brief.',
      stream: true,
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      'metadata.user_id': 'u-1',
      thinking: { type: 'enabled', budget_tokens: 2048 },
      'output_config.effort': 'low',
      'output_config.format': { type: 'json_schema', schema },
      'output_config.task_budget': { type: 'tokens', total: 1000 },
      output_format: { type: 'json_schema', schema },
      tool_choice: { type: 'any' },
      cache_control: { type: 'ephemeral' },
      container: 'c',
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      mcp_servers: [{ type: 'url', url: 'https://example.org', name: 'x' }],
      inference_geo: 'eu',
      service_tier: 'auto',
      speed: 'fast',
      thread: { type: 'create' },
      diagnostics: { previous_message_id: 'msg_1' },
      fallbacks: ['x'],
    },
  },
  {
    format: 'gemini',
    path: '/v1beta/models/m:generateContent',
    smallest: {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: schema }] }],
    },
    fields: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      'toolConfig.functionCallingConfig': { mode: 'ANY' },
      'toolConfig.functionCallingConfig.streamFunctionCallArguments': true,
      'toolConfig.retrievalConfig': { languageCode: 'en' },
      'generationConfig.temperature': 0.5,
      'generationConfig.topP': 0.5,
      'generationConfig.topK': 5,
      'generationConfig.candidateCount': 2,
      'generationConfig.maxOutputTokens': 9,
      'generationConfig.stopSequences': ['END'],
      'generationConfig.seed': 7,
      'generationConfig.presencePenalty': 0.5,
      'generationConfig.frequencyPenalty': 0.5,
      'generationConfig.responseLogprobs': true,
      'generationConfig.responseMimeType': 'application/json',
      'generationConfig.responseSchema': { type: 'OBJECT' },
      'generationConfig.responseJsonSchema': schema,
      'generationConfig.responseFormat': [{ text: { mimeType: 'application/json', schema } }],
      'generationConfig.responseModalities': ['TEXT'],
      'generationConfig.thinkingConfig': { includeThoughts: true, thinkingBudget: 2048 },
      'generationConfig.mediaResolution': 'MEDIA_RESOLUTION_LOW',
      'generationConfig.speechConfig': { languageCode: 'en' },
      'generationConfig.imageConfig': { aspectRatio: '1:1' },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      cachedContent: 'cachedContents/x',
      labels: { a: 'b' },
      serviceTier: 'auto',
      store: true,
      continuationToken: 't',
    },
  },
];
