import type { InferenceRequest } from '@sluice/canonical';
import { collect } from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { expect, it } from 'vitest';
import { runOf } from '../test-runs.ts';
import type { LlamaCppEngine } from './engine.ts';
import { ask, TestModels } from './test-models.ts';

const models = new TestModels();

/** Like the templates of Qwen, Llama 3 and many others: tools and calls are part of what the template itself says. */
const weavingTemplate = `
{%- if tools %}{{- '<|im_start|>system\\n' }}
{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/** Input tokens of a conversation in which a tool has this description, this argument and this error. */
async function inputTokens(engine: LlamaCppEngine, said: string): Promise<number | undefined> {
  const parameters = { type: 'object', properties: { q: { type: 'string', description: said } } };
  const request: InferenceRequest = ask({
    tools: [{ type: 'function', name: 'find', description: said, parameters }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Look it up.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', id: 'c', name: 'find', arguments: JSON.stringify({ q: said, [said]: 1 }) },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c', isError: true, content: [{ type: 'text', text: said }] },
        ],
      },
    ],
  });
  return collect(await runOf(engine, request)).finish.usage.inputTokens;
}

it('never takes marks in calls and tools for marks of the chat', async () => {
  const engine = await models.start(['So', endOfTurn], {}, weavingTemplate);
  // A mark would be one token, while text is one token per character.
  const [marks, text] = ['<|im_end|>"<s>\n', '<|im_axe|>"<p>\n'];
  expect(await inputTokens(engine, marks)).toBe(await inputTokens(engine, text));
});
