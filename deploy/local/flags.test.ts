import { describe, expect, it } from 'vitest';
import { helpText, parseFlags } from './flags.ts';

describe('parseFlags', () => {
  it('has a default for everything', () => {
    expect(parseFlags([], {})).toEqual({
      port: 8080,
      ingresses: 1,
      workers: 1,
      processes: 1,
      host: '127.0.0.1',
      opsHost: '127.0.0.1',
      opsPort: 0,
      drainLimitMs: 2_500,
      logLevel: 'warn',
      json: false,
      help: false,
    });
  });

  it('gives help whatever the environment holds', () => {
    expect(parseFlags(['--help'], { SLUICE_PORT: '0', SLUICE_KEY_SECRET: 'short' }).help).toBe(true);
  });

  it('reads every flag that the help names', () => {
    const words =
      '--port 1 --ingresses 2 --workers 3 --processes 4 --redis redis://h --config c.yaml --json --help';
    expect(parseFlags(words.split(' '), {})).toMatchObject({
      port: 1,
      ingresses: 2,
      workers: 3,
      processes: 4,
      redis: 'redis://h',
      config: 'c.yaml',
      json: true,
      help: true,
    });
    expect(parseFlags(['--upstream', 'http://h/v1/', '--upstream-key', 'k'], {})).toMatchObject({
      upstream: 'http://h/v1',
      upstreamKey: 'k',
    });
    const file = import.meta.filename;
    expect(parseFlags(['--gguf', file], {})).toMatchObject({ gguf: file });
    for (const [flag] of helpText.matchAll(/--[a-z-]+(?= )/g)) {
      expect(() => parseFlags([flag], {})).not.toThrow(/unknown/i);
    }
  });

  it('takes the credential of the upstream from the environment, where nobody sees it in a process list', () => {
    expect(parseFlags([], { UPSTREAM_API_KEY: 'k' })).toMatchObject({ upstreamKey: 'k' });
  });

  it('takes from the environment what no flag says', () => {
    const environment = {
      SLUICE_PORT: '81',
      SLUICE_PROCESSES: '3',
      SLUICE_REDIS_URL: 'redis://a',
      REDIS_URL: 'redis://b',
      SLUICE_HOST: '::1',
      SLUICE_OPS_PORT: '9464',
      SLUICE_DRAIN_LIMIT_MS: '0',
      SLUICE_KEY_SECRET: 'a secret of the tests',
    };
    expect(parseFlags([], environment)).toMatchObject({
      port: 81,
      processes: 3,
      redis: 'redis://a',
      host: '::1',
      opsPort: 9_464,
      drainLimitMs: 0,
      keySecret: 'a secret of the tests',
    });
    const words = '--port 82 --processes 2 --redis redis://c'.split(' ');
    expect(parseFlags(words, environment)).toMatchObject({ port: 82, processes: 2, redis: 'redis://c' });
    expect(parseFlags([], { ...environment, SLUICE_REDIS_URL: '' }).redis).toBe('redis://b');
    expect(parseFlags([], { SLUICE_PORT: '', SLUICE_PROCESSES: '' })).toMatchObject({
      port: 8_080,
      processes: 1,
    });
  });

  it('says every mistake in the environment by the name that was typed', () => {
    const parse = () =>
      parseFlags([], { SLUICE_PROCESSES: '65', SLUICE_REDIS_URL: 'localhost', SLUICE_PORT: '0' });
    expect(parse).toThrow(
      /SLUICE_REDIS_URL: a Redis URL starts with.*SLUICE_PORT: .*1.*SLUICE_PROCESSES: .*64/s,
    );
    const several = { SLUICE_OPS_PORT: '65535', SLUICE_PROCESSES: '3' };
    expect(() => parseFlags([], several)).toThrow(/^SLUICE_OPS_PORT must be .* 1 to 65530$/);
  });

  it('takes a settings file from the environment, unless a flag names one, and nothing beside it', () => {
    const environment = { SLUICE_CONFIG: 'sluice.yaml' };
    expect(parseFlags([], environment).config).toBe('sluice.yaml');
    expect(parseFlags(['--config', 'other.yaml'], environment).config).toBe('other.yaml');
    for (const [flag, value] of [
      ['--upstream', 'http://h'],
      ['--gguf', import.meta.filename],
    ] as const) {
      expect(() => parseFlags([flag, value], environment)).toThrow(
        `${flag} and SLUICE_CONFIG exclude each other`,
      );
      expect(parseFlags([flag, value], { SLUICE_CONFIG: '' }).config).toBeUndefined();
    }
  });

  it('keeps the ports of the API and of operations apart', () => {
    const ports = (SLUICE_OPS_PORT: string) => parseFlags(['--ingresses', '2'], { SLUICE_OPS_PORT });
    for (const first of ['8078', '8081']) {
      const last = Number(first) + 2;
      expect(() => ports(first)).toThrow(
        `SLUICE_OPS_PORT means ports ${first} to ${last}, and the API has ports 8080 to 8081; without it,`,
      );
    }
    expect(ports('8077').opsPort).toBe(8_077);
    expect(ports('8082').opsPort).toBe(8_082);
  });

  it.each([
    [['--prot', '1'], /unknown option '--prot'.*--help/i],
    [['extra'], /unexpected argument 'extra'/i],
    [['--port'], /--port/],
    [['--workers', '-1'], /^Option '--workers' argument is ambiguous; see npm start -- --help$/],
    [['--port', '0'], /--port must be a whole number from 1 to 65535/],
    [['--port', '65535', '--ingresses', '2'], /--port must be a whole number from 1 to 65534/],
    [['--processes', '0'], /--processes must be a whole number from 1 to 64/],
    [['--workers', '1.5'], /--workers must be a whole number/],
    [['--redis', 'localhost'], /--redis: a Redis URL starts with redis:\/\//],
    [
      ['--upstream', 'http://me:hush@h/v1'],
      /^--upstream holds a password, .* --upstream-key or UPSTREAM_API_KEY$/,
    ],
    [['--upstream', 'ftp://h'], /--upstream must be a URL/],
    [['--config', 'c', '--upstream', 'http://h'], /--config and --upstream exclude each other/],
    [['--config', ''], /^--config must be a file/],
    [['--upstream', ''], /^--upstream must be a URL/],
    [['--gguf', '/nowhere/m.gguf'], /^--gguf: there is no file \/nowhere\/m\.gguf$/],
    [['--upstream', 'http://h', '--gguf', 'm.gguf'], /--upstream and --gguf exclude each other/],
  ])('says in one sentence what is wrong with %j', (words, sentence) => {
    expect(() => parseFlags(words, {})).toThrow(sentence);
    expect(() => parseFlags(words, {})).not.toThrow(/\n/);
  });
});
