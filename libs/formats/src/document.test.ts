import { describe, expect, test } from 'vitest';
import { documentedSchemas, readSchemas } from './documented-schemas.ts';
import { goldenCases } from './golden-case.ts';
import { formatNamed } from './golden-run.ts';
import { formats } from './registry.ts';

/** Cases whose body the format accepts in a looser form than its document shows. */
const looser = new Set(['gemini/snake-case', 'gemini/count-tokens']);

describe.each(formats.map(({ server }) => server.format))(
  'the document of %s matches the golden cases:',
  async (format) => {
    const schemas = await documentedSchemas(format);
    const cases = goldenCases(format);

    test('requests', () => {
      for (const { name, wire, facts } of cases) {
        if (!wire || facts.refused || facts.operation === 'count-tokens' || looser.has(`${format}/${name}`))
          continue;
        expect(schemas.documentedRequest.safeParse(wire.body).error, name).toBeUndefined();
      }
    });

    test('single bodies and errors', () => {
      for (const { name, readJson } of cases) {
        const body = readJson('response.json');
        if (body !== undefined)
          expect(schemas.documentedResponse.safeParse(body).error, name).toBeUndefined();
        const error = readJson('error.json') as { body: unknown } | undefined;
        if (error) expect(schemas.documentedError.safeParse(error.body).error, name).toBeUndefined();
      }
    });

    test('streams', () => {
      const { client } = formatNamed(format);
      for (const { name, read } of cases) {
        const text = read('stream.txt') ?? '';
        // Not where one JSON array is written piece by piece.
        if (!client.beginsStream(text.slice(0, 1))) continue;
        const messages = client.createStreamParser().push(text);
        // Beside JSON there are marks of the end.
        for (const { data } of messages.filter((message) => message.data.startsWith('{'))) {
          expect(
            schemas.documentedEvent.safeParse(JSON.parse(data)).error,
            `${name}: ${data}`,
          ).toBeUndefined();
        }
      }
    });
  },
);

test('every POST route of a codec has a document', async () => {
  for (const { server, loadDocument } of formats) {
    const document = await loadDocument();
    for (const route of server.routes) {
      const prefix = route.replace('*', '');
      const isDocumented = document.routes.some(({ path }) => path.startsWith(prefix));
      // The collection of tuned models answers like that of models, but is not advertised.
      expect(isDocumented || route.includes('tunedModels'), route).toBe(true);
    }
  }
});

test('a name that is used for two schemas is the same schema', async () => {
  const known = new Map<string, string>();
  for (const { loadDocument } of formats) {
    const { error, routes } = await loadDocument();
    const named = [error, ...routes.flatMap(({ request, response, stream }) => [request, response, stream])];
    for (const { name, schema } of named.filter((one) => one !== undefined)) {
      const text = JSON.stringify(schema);
      expect(known.get(name) ?? text, name).toBe(text);
      known.set(name, text);
    }
  }
});

test('a document without its schemas fails with what it lacks', () => {
  const module = { document: {}, documentedRequest: {}, documentedError: {} };
  expect(() => readSchemas(module, 'fourth/document.ts')).toThrow(
    'fourth/document.ts exports no documentedResponse, no documentedEvent',
  );
});
