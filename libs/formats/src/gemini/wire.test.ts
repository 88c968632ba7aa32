import { describe, expect, test } from 'vitest';
import { invalidField, parseRequestBody, parseResponseBody } from './wire.ts';

const say = (more: object) => ({ contents: ['hi'], ...more });
const asking = (generationConfig: object) => say({ generationConfig });
const part = (only: object) => ({ contents: [{ parts: [only] }] });
const declaring = (only: object) => say({ tools: [{ functionDeclarations: [only] }] });
const calling = (functionCallingConfig: object) => say({ toolConfig: { functionCallingConfig } });

describe('a request of the wrong shape is refused by its place and not by its value', () => {
  test.each([
    [{}, 'contents', 'is required'],
    [{ contents: [] }, 'contents', 'too small: expected array to have >=1 items'],
    [{ contents: [7] }, 'contents[0]', 'expected object, received number'],
    [{ contents: [{ role: 7 }] }, 'contents[0].role', 'expected string, received number'],
    [{ contents: [{ parts: 7 }] }, 'contents[0].parts[0]', 'expected object, received number'],
    [say({ systemInstruction: 7 }), 'systemInstruction', 'expected object, received number'],
    [say({ cachedContent: 7 }), 'cachedContent', 'expected string, received number'],
    [asking({ responseSchema: 7 }), 'generationConfig.responseSchema', 'expected an object'],
    [say({ tools: 7 }), 'tools[0]', 'expected object, received number'],
    [say({ toolConfig: 7 }), 'toolConfig', 'expected object, received number'],
    [calling({ mode: {} }), 'toolConfig.functionCallingConfig.mode', 'expected string, received object'],
  ])('%j', (body, place, fact) => {
    expect(() => parseRequestBody(body, false)).toThrow(invalidField(place, fact));
  });

  test.each([
    [{ text: 7 }, 'text'],
    [{ thought: 'yes' }, 'thought'],
    [{ inlineData: 7 }, 'inlineData'],
    [{ inlineData: { data: 'eA==' } }, 'inlineData.mimeType'],
    [{ inlineData: { mimeType: 'image/png' } }, 'inlineData.data'],
    [{ inlineData: { mimeType: 'image/png', data: 'eA==', displayName: 7 } }, 'inlineData.displayName'],
    [{ fileData: {} }, 'fileData.fileUri'],
    [{ fileData: { fileUri: 'gs://a', mimeType: 7 } }, 'fileData.mimeType'],
    [{ fileData: { fileUri: 'gs://a', displayName: 7 } }, 'fileData.displayName'],
    [{ functionCall: {} }, 'functionCall.name'],
    [{ functionCall: { name: '' } }, 'functionCall.name'],
    [{ functionCall: { name: 'f', id: 7 } }, 'functionCall.id'],
    [{ functionCall: { name: 'f', args: [] } }, 'functionCall.args'],
    [{ functionResponse: { id: 7 } }, 'functionResponse.id'],
    [{ functionResponse: { name: 7 } }, 'functionResponse.name'],
    [{ functionResponse: { parts: 7 } }, 'functionResponse.parts'],
    [{ functionResponse: { parts: [7] } }, 'functionResponse.parts[0]'],
  ])('part %j', (only, place) => {
    expect(() => parseRequestBody(part(only), false)).toThrow(`contents[0].parts[0].${place}: `);
  });

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'f', description: 7 }, 'description'],
    [{ name: 'f', parameters: 7 }, 'parameters'],
    [{ name: 'f', parametersJsonSchema: 7 }, 'parametersJsonSchema'],
  ])('function %j', (only, place) => {
    expect(() => parseRequestBody(declaring(only), false)).toThrow(
      `tools[0].functionDeclarations[0].${place}: `,
    );
  });

  test.each([
    [{ temperature: -1 }, 'temperature'],
    [{ temperature: 'x1' }, 'temperature'],
    [{ temperature: '1x' }, 'temperature'],
    [{ topP: 1.1 }, 'topP'],
    [{ topP: -0.1 }, 'topP'],
    [{ topK: 0 }, 'topK'],
    [{ topK: 1.5 }, 'topK'],
    [{ candidateCount: 0 }, 'candidateCount'],
    [{ candidateCount: 9 }, 'candidateCount'],
    [{ maxOutputTokens: 0 }, 'maxOutputTokens'],
    [{ stopSequences: [''] }, 'stopSequences[0]'],
    [{ seed: 0.5 }, 'seed'],
    [{ presencePenalty: 'a' }, 'presencePenalty'],
    [{ frequencyPenalty: 'a' }, 'frequencyPenalty'],
    [{ responseLogprobs: 1 }, 'responseLogprobs'],
    [{ logprobs: 21 }, 'logprobs'],
    [{ logprobs: -1 }, 'logprobs'],
    [{ responseMimeType: 7 }, 'responseMimeType'],
    [{ responseSchema: 7 }, 'responseSchema'],
    [{ responseJsonSchema: 7 }, 'responseJsonSchema'],
    [{ thinkingConfig: { includeThoughts: 7 } }, 'thinkingConfig.includeThoughts'],
    [{ thinkingConfig: { thinkingBudget: -2 } }, 'thinkingConfig.thinkingBudget'],
    [{ thinkingConfig: { thinkingLevel: {} } }, 'thinkingConfig.thinkingLevel'],
  ])('setting %j', (setting, place) => {
    expect(() => parseRequestBody(asking(setting), false)).toThrow(`generationConfig.${place}: `);
  });

  test('a request to be counted, wherever it is', () => {
    const wrapped = { generateContentRequest: { contents: [] } };
    expect(() => parseRequestBody(wrapped, true)).toThrow('generateContentRequest.contents: too small');
    expect(() => parseRequestBody({ contents: [] }, true)).toThrow(/^contents: too small/);
    expect(() => parseRequestBody(wrapped, false)).toThrow('contents: is required');
    expect(() => parseRequestBody([], true)).toThrow('the body must be a JSON object');
  });
});

describe('a request', () => {
  test('may write numbers as text and a single thing without its list', () => {
    const body = {
      contents: { parts: 'hi' },
      tools: { functionDeclarations: { name: 'f' } },
      generationConfig: { temperature: '0.5', topK: '4', seed: '-3', stopSequences: 'end' },
    };
    expect(parseRequestBody(body, false)).toEqual({
      contents: [{ parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
      generationConfig: { temperature: 0.5, topK: 4, seed: -3, stopSequences: ['end'] },
    });
  });

  test('keeps what we do not know, at every depth', () => {
    const body = {
      contents: [
        {
          parts: [
            { text: 'hi', fresh: 1 },
            { inlineData: { mimeType: 'image/png', data: 'eA==', fresh: 2 } },
            { fileData: { fileUri: 'gs://a', fresh: 3 } },
            { functionCall: { name: 'f', fresh: 4 } },
            { functionResponse: { name: 'f', fresh: 5 } },
          ],
          fresh: 6,
        },
      ],
      tools: [{ functionDeclarations: [{ name: 'f', fresh: 7 }], fresh: 8 }],
      toolConfig: { functionCallingConfig: { fresh: 9 }, fresh: 10 },
      generationConfig: { thinkingConfig: { fresh: 11 }, fresh: 12 },
      fresh: 13,
    };
    expect(parseRequestBody(body, false)).toEqual(body);
  });
});

describe('the answer of a server', () => {
  test.each([
    [7],
    [{ candidates: 7 }],
    [{ candidates: [{ index: 'a' }] }],
    [{ candidates: [{ content: 7 }] }],
    [{ candidates: [{ finishReason: 7 }] }],
    [{ candidates: [{ logprobsResult: 7 }] }],
    [{ promptFeedback: { blockReason: 7 } }],
    [{ usageMetadata: 7 }],
    [{ modelVersion: 7 }],
    [{ responseId: 7 }],
    [{ error: '' }],
    [{ error: 7 }],
  ])('has no shape of one in %j', (body) => {
    expect(parseResponseBody(body)).toBeUndefined();
  });

  test('may be an error, in fields or as a mere text', () => {
    expect(parseResponseBody({ error: { code: 429 } })).toEqual({ error: { code: 429 } });
    expect(parseResponseBody({ error: 'busy' })).toEqual({ error: { message: 'busy' } });
  });
});
