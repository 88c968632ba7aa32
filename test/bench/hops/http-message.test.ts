import { expect, test } from 'vitest';
import { endsChunks, messageSize } from './http-message.ts';

test('the end of a chunked body is seen however it is cut', () => {
  const body = Buffer.from('5\r\nhello\r\n0\r\n\r\n');
  const at = body.length - 7;
  for (let cut = at - 2; cut <= body.length; cut++) {
    const [before, bytes] = [body.subarray(0, cut), body.subarray(cut)];
    if (bytes.length > 0) expect(endsChunks(bytes, before)).toBe(true);
  }
  expect(endsChunks(body.subarray(0, -1), Buffer.alloc(0))).toBe(false);
  expect(endsChunks(Buffer.from('1\r\n0\r\n'), Buffer.alloc(0))).toBe(false);
});

test('a message is as long as its head says, once the head is there', () => {
  expect(messageSize(Buffer.from('POST / HTTP/1.1\r\ncontent-len'))).toBeUndefined();
  expect(messageSize(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBe(18);
  expect(messageSize(Buffer.from('POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\nhel'))).toBe(51);
});
