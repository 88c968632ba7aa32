import { describe, expect, it } from 'vitest';
import { beginRequest, completeRequest } from './request.ts';

const facts = { path: '/v1/x?a=%C3%BC', authority: 'server:8000', headers: { accept: '*/*', 'x-a': 'b c' } };

describe('a request', () => {
  it('is its head and its body, counted in bytes', () => {
    expect(completeRequest(beginRequest(facts), '{"a":"ü"}')).toEqual({
      text:
        'POST /v1/x?a=%C3%BC HTTP/1.1\r\nhost: server:8000\r\naccept: */*\r\nx-a: b c\r\n' +
        'content-length: 10\r\n\r\n{"a":"ü"}',
      isAscii: false,
    });
    expect(completeRequest(beginRequest(facts), '{}').isAscii).toBe(true);
  });

  it('with a large body has it apart, in bytes', () => {
    const body = JSON.stringify('→ü'.repeat(10_000));
    const { text, ...rest } = completeRequest(beginRequest(facts), body, { 'x-request-id': 'r1-1' });
    expect(text).toMatch(/\r\ncontent-length: 50002\r\nx-request-id: r1-1\r\n\r\n$/);
    expect(rest).toEqual({ isAscii: true, body: Buffer.from(body) });
  });

  it('may have its own headers besides those that it shares', () => {
    const { text } = completeRequest(beginRequest(facts), '{}', { 'x-request-id': 'r1-1' });
    expect(text).toMatch(/\r\ncontent-length: 2\r\nx-request-id: r1-1\r\n\r\n\{\}$/);
    expect(() => completeRequest(beginRequest(facts), '{}', { a: 'b\r\nc: d' })).toThrow(TypeError);
  });

  it('asks for the host that its headers name', () => {
    const head = beginRequest({ ...facts, headers: { host: 'models.example' } });
    expect(head.match(/host: .*/g)).toEqual(['host: models.example']);
  });

  it.each([
    ['a line break in a header', { headers: { a: 'b\r\nhost: other' } }],
    ['a line break in a name', { headers: { 'a: b\r\nc': 'd' } }],
    ['a length of its own', { headers: { 'content-length': '1' } }],
    ['a header beyond ASCII', { headers: { a: 'ü' } }],
    ['a space in a path', { path: '/v1/x HTTP/1.1\r\nhost: other' }],
    ['a path beyond ASCII', { path: '/ü' }],
  ])('with %s is not made', (_, wrong) => {
    expect(() => beginRequest({ ...facts, ...wrong })).toThrow(TypeError);
  });
});
