import { describe, expect, it } from 'vitest';
import { isSecretName, maskSecrets, maskText } from './secrets.ts';

describe('isSecretName', () => {
  it.each([
    'key',
    'keys',
    'APIKEY',
    'apiKey',
    'api_key',
    'x-api-key',
    'X-Goog-Api-Key',
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'set-cookie',
    'SLUICE_REDIS_PASSWORD',
    'clientSecret',
    'accessToken',
    'credential',
    'credentials',
    'secrets',
    'passphrase',
    'dbPwd',
    'api - key',
  ])('%s names a secret', (name) => expect(isSecretName(name)).toBe(true));

  it.each([
    'keyId',
    'keyPrefix',
    'tokens',
    'maxTokens',
    'contextTokens',
    'monkey',
    'authorizationMs',
    'model',
    '',
  ])('%j names none', (name) => expect(isSecretName(name)).toBe(false));
});

describe('maskText', () => {
  it.each([
    ['Authorization: Bearer abc.def-ghi', 'Authorization: Bearer ***'],
    ['key sk-ant-api03-abcdefgh_12 was refused', 'key sk-*** was refused'],
    ['GET /v1beta/models?alt=sse&key=AIzaSyD-12345&x=1', 'GET /v1beta/models?alt=sse&key=***&x=1'],
    ['redis+sentinel://h/group?sentinelPassword=pa55', 'redis+sentinel://h/group?sentinelPassword=***'],
    ['AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe', 'AIza***'],
    ['redis://:pa55@host:6379 and rediss://u:p@h', 'redis://:***@host:6379 and rediss://u:***@h'],
    ['{"a":"Bearer abc","b":"BEARER x"}', '{"a":"Bearer ***","b":"BEARER ***"}'],
    ['Bearer  abc', 'Bearer  ***'],
    ['Bearer abc, then more', 'Bearer ***, then more'],
    ['?api_key=a1&api-key=b2&apikey=c3 d', '?api_key=***&api-key=***&apikey=*** d'],
    ['redis://h?password=pa55', 'redis://h?password=***'],
    ['"http://h/?key=abc"', '"http://h/?key=***"'],
    ['monkey=1 ?monkey=2 sk-short desk-lamp-of-mine', 'monkey=1 ?monkey=2 sk-short desk-lamp-of-mine'],
    ['AIzaTooShort', 'AIzaTooShort'],
    ['nothing to hide at http://localhost:8080/a@b', 'nothing to hide at http://localhost:8080/a@b'],
  ])('%s', (text, masked) => expect(maskText(text)).toBe(masked));

  // Looking for the rest of a URL from each of its words, this would not end within the time limit of a test.
  it('takes no longer for what might begin a URL everywhere, as a stranger may let his call be named', () => {
    const words = 'a-'.repeat(300_000);
    expect(maskText(`${words} redis://u:p@h`)).toBe(`${words} redis://u:***@h`);
  });
});

it('secrets are masked at any depth, in lists and maps, and the original stays', () => {
  const settings = {
    pools: new Map([
      ['a', { backend: { engine: 'upstream', apiKeys: ['k1', 'k2'], apiKey: 'k3', maxTokens: 5 } }],
    ]),
    url: 'http://u:p@h/',
    token: 7,
    password: '',
  };
  expect(maskSecrets(settings)).toEqual({
    pools: { a: { backend: { engine: 'upstream', apiKeys: ['***', '***'], apiKey: '***', maxTokens: 5 } } },
    url: 'http://u:***@h/',
    token: 7,
    password: '',
  });
  expect(settings.url).toBe('http://u:p@h/');
});

it('what is neither text nor a plain group is left as it is', () => {
  const at = new Date(0);
  expect(maskSecrets({ key: null, at, isKey: true, none: undefined })).toEqual({
    key: null,
    at,
    isKey: true,
    none: undefined,
  });
  const bare: unknown = Object.assign(Object.create(null), { key: 'k1' });
  expect(maskSecrets(bare)).toEqual({ key: '***' });
});
