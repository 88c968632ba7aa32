import { describe, expect, it } from 'vitest';
import { parseTarget, shownTarget } from './target.ts';

describe('a target', () => {
  it.each([
    ['http://127.0.0.1:8080', '', ''],
    ['http://host/base/', '/base', ''],
    ['http://host/v1', '', ''],
    ['http://host/v1/', '', ''],
    ['http://host/openai/v1', '/openai', ''],
    ['http://host/v1beta', '', ''],
    ['http://host/v1/team', '/v1/team', ''],
    ['http://host/base?api-version=3&key=a%20b', '/base', 'api-version=3&key=a%20b'],
  ])('%s is the prefix %j and the query %j', (address, prefix, query) => {
    expect(parseTarget(address)).toMatchObject({ prefix, query });
  });

  it.each([
    ['http://host/v1/chat/completions', 'openai', '/v1/chat/completions'],
    ['http://host/v3/chat/completions/', 'openai', '/v3/chat/completions'],
    ['http://host/chat/completions?api-version=3', 'openai', '/chat/completions'],
    ['https://host/anthropic/v1/messages', 'anthropic', '/anthropic/v1/messages'],
  ])('%s is the place of one format', (address, format, path) => {
    expect(parseTarget(address).endpoint).toEqual({ format, path });
  });

  it('has no credentials in its address, and does not repeat them', () => {
    const parse = () => parseTarget('http://user:secret@host/');
    expect(parse).toThrow('credentials');
    expect(parse).not.toThrow(/secret/);
    expect(() => parseTarget('htp://user:secret@host')).not.toThrow(/secret/);
  });

  it('is shown without the values of its query', () => {
    expect(shownTarget('http://host/base?api-version=3&key=secret')).toBe(
      'http://host/base?api-version=…&key=…',
    );
    expect(shownTarget('http://127.0.0.1:8080')).toBe('http://127.0.0.1:8080');
  });
});
