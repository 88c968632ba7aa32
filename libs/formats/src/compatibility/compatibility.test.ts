import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documentedSchemas } from '../documented-schemas.ts';
import { formats } from '../registry.ts';
import { writeCompatibility } from './document.ts';
import { describeFields } from './field-handling.ts';
import { fieldSamples } from './field-samples.ts';

describe('the compatibility table', () => {
  test('is what the code does: run `npm run docs` after a change', async () => {
    const written = readFileSync(join(import.meta.dirname, '../../../../docs/compatibility.md'), 'utf8');
    expect(written).toBe(await writeCompatibility());
  });

  test.each(formats.map(({ server }) => server.format))(
    'names every field of the body that %s reads',
    async (format) => {
      const { documentedRequest } = await documentedSchemas(format);
      const samples = fieldSamples.find((candidate) => candidate.format === format);
      const named = [...Object.keys(samples?.fields ?? {}), ...Object.keys(samples?.smallest ?? {})];
      const missing = Object.keys(documentedRequest.shape).filter(
        (field) => !named.some((name) => name.split('.')[0] === field),
      );
      // `top_logprobs` means nothing without `logprobs`, and is read with it.
      expect(missing.filter((field) => field !== 'top_logprobs')).toEqual([]);
    },
  );

  test('tells what is served, translated, passed through, counted and refused', () => {
    const [chat] = fieldSamples;
    const handling = new Map((chat ? describeFields(chat) : []).map(({ field, toward }) => [field, toward]));
    expect(handling.get('temperature')).toMatchObject({
      openai: 'served',
      anthropic: 'translated',
      gemini: 'translated',
    });
    expect(handling.get('logit_bias')?.openai).toBe('passed through');
    expect(handling.get('logit_bias')?.gemini).toBe('dropped, counted');
    expect(handling.get('seed')?.anthropic).toBe('left out by rule');
    expect(handling.get('presence_penalty')?.anthropic).toBe('refused: sampling.presencePenalty');
    expect(handling.get('n')?.gemini).toBe('served by the gateway');
  });
});
