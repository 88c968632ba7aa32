import { expect, test } from 'vitest';
import type { HttpFacts } from './codec.ts';
import { credentialSchemes, readCredentials } from './credential.ts';
import { objectOf } from './json/json-object.ts';
import { formats } from './registry.ts';

const http = (headers: HttpFacts['headers'], query: HttpFacts['query'] = {}) => ({
  path: '/',
  headers,
  query,
});

test.each<[string, HttpFacts]>([
  ['a bearer token', http({ authorization: 'Bearer sk-a' })],
  ['a bearer token in any case and spacing', http({ authorization: '  bearer   sk-a ' })],
  ['x-api-key', http({ 'x-api-key': 'sk-a' })],
  ['x-goog-api-key', http({ 'x-goog-api-key': ['sk-a', 'sk-b'] })],
  ['x-provider-api-key', http({ 'x-provider-api-key': 'sk-a' })],
  ['the key parameter', http({}, { key: 'sk-a' })],
])('%s is read', (_name, facts) => {
  expect(readCredentials(facts)).toEqual(['sk-a']);
});

test('all credentials that a call carries are given, best first, without duplicates', () => {
  const headers = { 'x-goog-api-key': 'sk-a', 'x-api-key': 'sk-b', authorization: 'Bearer sk-a' };
  expect(readCredentials(http(headers, { key: 'sk-c' }))).toEqual(['sk-a', 'sk-b', 'sk-c']);
});

test('empty values and other schemes are no credentials', () => {
  expect(readCredentials(http({ 'x-goog-api-key': ' ', authorization: 'Basic abc' }, { key: '' }))).toEqual(
    [],
  );
  expect(readCredentials(http({ authorization: 'Bearer ' }))).toEqual([]);
  expect(readCredentials(http({ authorization: 'No bearer sk-a' }))).toEqual([]);
});

test.each(formats)(
  'the key that a server of $client.format is sent is read where it stands',
  ({ client }) => {
    expect(readCredentials({ path: '/', headers: client.authorize('sk-own'), query: {} })).toEqual([
      'sk-own',
    ]);
  },
);

test.each(Object.entries(credentialSchemes))(
  'the place that the document calls %s is read',
  (_name, scheme) => {
    const { in: place, name = '' } = objectOf(scheme);
    const sent = place === undefined ? { authorization: 'Bearer k' } : { [`${name}`]: 'k' };
    const facts = place === 'query' ? http({}, sent) : http(sent);
    expect(readCredentials(facts)).toEqual(['k']);
  },
);
