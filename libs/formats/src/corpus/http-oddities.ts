/** A call as raw bytes on a socket, for what no HTTP client would send. */
export interface HttpOddity {
  id: string;
  bytes: string;
}

const path = '/v1/chat/completions';

/** Broken, hostile and merely unusual HTTP. Each must be answered or cut, and none may be answered with a 5xx. */
export function httpOddities(host: string, key: string): HttpOddity[] {
  const head = `Host: ${host}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n`;
  const json = `${head}Content-Type: application/json\r\n`;
  const post = (fields: string, body: string) => `POST ${path} HTTP/1.1\r\n${fields}\r\n${body}`;
  const line = (start: string) => `${start}\r\n${head}\r\n`;
  const calls: Record<string, string> = {
    'no-http': 'hello\r\n\r\n',
    'tls-hello': '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
    'nul-bytes': '\u0000\u0000\u0000\r\n\r\n',
    'http-2-preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'http-0.9': `GET /v1/models\r\n\r\n`,
    'http-1.0': `GET /v1/models HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    'http-9': line('GET /v1/models HTTP/9.9'),
    'no-host': `GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n`,
    'two-hosts': `GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n`,
    'odd-host': `GET /v1/models HTTP/1.1\r\nHost: [::\r\nConnection: close\r\n\r\n`,
    'absolute-url': line(`GET http://elsewhere.invalid/v1/models HTTP/1.1`),
    asterisk: line('OPTIONS * HTTP/1.1'),
    connect: line('CONNECT elsewhere.invalid:443 HTTP/1.1'),
    trace: line('TRACE /v1/models HTTP/1.1'),
    'unknown-method': line('BREW /v1/chat/completions HTTP/1.1'),
    'lower-case-method': line('get /v1/models HTTP/1.1'),
    'wrong-method': line('DELETE /v1/messages HTTP/1.1'),
    'space-in-path': line('GET /v1/mo dels HTTP/1.1'),
    'nul-in-path': line('GET /v1/models/\u0000 HTTP/1.1'),
    'raw-utf8-path': line('GET /v1/models/\u00e9\u00ff HTTP/1.1'),
    'broken-percent': line('GET /v1/models/%ZZ%E0%A4%A HTTP/1.1'),
    'percent-nul': line('GET /v1/models/%00 HTTP/1.1'),
    'percent-everything': line('POST /%76%31/chat%2Fcompletions HTTP/1.1'),
    dots: line('GET /v1/models/../../../../etc/passwd HTTP/1.1'),
    'encoded-dots': line('GET /v1/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1'),
    slashes: line(`GET ${'/'.repeat(2_000)} HTTP/1.1`),
    colons: line(`POST /v1beta/models/${':'.repeat(500)} HTTP/1.1`),
    'long-path': line(`GET /v1/models/${'a'.repeat(12_000)} HTTP/1.1`),
    'huge-path': line(`GET /v1/models/${'a'.repeat(200_000)} HTTP/1.1`),
    fragment: line('GET /v1/models#a?key=b HTTP/1.1'),
    'odd-query': line('GET /v1/models?__proto__=1&constructor=2&=3&&&%=%&limit[]=4&limit=5 HTTP/1.1'),
    'paging-without-sense': line('GET /v1/models?limit=-1&after_id=%00&pageSize=1e99&pageToken=%FF HTTP/1.1'),
    'many-headers': `GET /v1/models HTTP/1.1\r\n${head}${Array.from({ length: 3_000 }, (_, index) => `X-${index}: 1\r\n`).join('')}\r\n`,
    'long-header': `GET /v1/models HTTP/1.1\r\n${head}X-Long: ${'a'.repeat(100_000)}\r\n\r\n`,
    'odd-header-name': `GET /v1/models HTTP/1.1\r\n${head}X Y: 1\r\n\r\n`,
    'header-without-colon': `GET /v1/models HTTP/1.1\r\n${head}Nonsense\r\n\r\n`,
    'folded-header': `GET /v1/models HTTP/1.1\r\n${head}X-Folded: a\r\n b\r\n\r\n`,
    'nul-in-header': `GET /v1/models HTTP/1.1\r\n${head}X-Nul: a\u0000b\r\n\r\n`,
    'bare-line-feeds': `GET /v1/models HTTP/1.1\nHost: ${host}\nConnection: close\n\n`,
    'bare-returns': `GET /v1/models HTTP/1.1\rHost: ${host}\r\r`,
    'two-credentials': `GET /v1/models HTTP/1.1\r\n${head}Authorization: Bearer sk-other\r\nX-Api-Key: sk-third\r\n\r\n`,
    'odd-credential': `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${'sk-'.repeat(2_000)}\r\nConnection: close\r\n\r\n`,
    'utf8-credential': `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: sk-\u00e9\u00ff\r\nConnection: close\r\n\r\n`,
    'length-not-a-number': post(`${json}Content-Length: many\r\n`, '{}'),
    'length-negative': post(`${json}Content-Length: -1\r\n`, '{}'),
    'length-huge': post(`${json}Content-Length: 99999999999999999999\r\n`, '{}'),
    'length-beyond-limit': post(`${json}Content-Length: 9999999999\r\n`, '{}'),
    'length-short': post(`${json}Content-Length: 2\r\n`, '{}{"model":1}'),
    'two-lengths': post(`${json}Content-Length: 2\r\nContent-Length: 3\r\n`, '{} '),
    'length-and-chunks': post(
      `${json}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n`,
      '2\r\n{}\r\n0\r\n\r\n',
    ),
    'odd-transfer-encoding': post(`${json}Transfer-Encoding: gzip, chunked\r\n`, '2\r\n{}\r\n0\r\n\r\n'),
    'unknown-transfer-encoding': post(`${json}Transfer-Encoding: nonsense\r\n`, '{}'),
    chunks: post(`${json}Transfer-Encoding: chunked\r\n`, '1\r\n{\r\n1\r\n}\r\n0\r\n\r\n'),
    'chunk-size-not-hex': post(`${json}Transfer-Encoding: chunked\r\n`, 'zz\r\n{}\r\n0\r\n\r\n'),
    'chunk-size-huge': post(`${json}Transfer-Encoding: chunked\r\n`, 'ffffffffffffffff\r\n{}\r\n0\r\n\r\n'),
    'chunk-extensions': post(
      `${json}Transfer-Encoding: chunked\r\n`,
      `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    ),
    'expect-continue': post(`${json}Expect: 100-continue\r\nContent-Length: 2\r\n`, '{}'),
    'expect-other': post(`${json}Expect: miracles\r\nContent-Length: 2\r\n`, '{}'),
    upgrade: `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n`,
    'no-content-type': post(`${head}Content-Length: 2\r\n`, '{}'),
    'odd-content-type': post(`${head}Content-Type: ;;;\r\nContent-Length: 2\r\n`, '{}'),
    form: post(`${head}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n`, 'a=b'),
    multipart: post(`${head}Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5\r\n`, '--x--'),
    'utf-16': post(
      `${head}Content-Type: application/json; charset=utf-16\r\nContent-Length: 4\r\n`,
      '\u0000{\u0000}',
    ),
    'gzip-that-is-none': post(`${json}Content-Encoding: gzip\r\nContent-Length: 2\r\n`, '{}'),
    'invalid-utf8': post(`${json}Content-Length: 4\r\n`, '{"\u00ff\u00fe'),
    'body-on-get': `GET /v1/models HTTP/1.1\r\n${json}Content-Length: 2\r\n\r\n{}`,
    pipelined: `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n\r\nGET /v1/models/none HTTP/1.1\r\n${head}\r\n`,
    smuggled: post(
      `${json}Content-Length: 4\r\nTransfer-Encoding : chunked\r\n`,
      '0\r\n\r\nGET /v1/models HTTP/1.1\r\n\r\n',
    ),
  };
  return Object.entries(calls).map(([id, bytes]) => ({ id: `http-${id}`, bytes }));
}
