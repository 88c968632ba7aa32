import { describe, expect, it } from 'vitest';
import { helpText, parseFlags } from './flags.ts';

describe('parseFlags', () => {
  it('has a default for everything', () => {
    expect(parseFlags([], {})).toEqual({ port: 8080, ingresses: 1, workers: 1, json: false, help: false });
  });

  it('reads every flag that the help names', () => {
    const words = '--port 1 --ingresses 2 --workers 3 --redis redis://h --config c.yaml --json --help';
    expect(parseFlags(words.split(' '), {})).toEqual({
      port: 1,
      ingresses: 2,
      workers: 3,
      redis: 'redis://h',
      config: 'c.yaml',
      json: true,
      help: true,
    });
    expect(parseFlags(['--upstream', 'http://h/v1/', '--upstream-key', 'k'], {})).toMatchObject({
      upstream: 'http://h/v1',
      upstreamKey: 'k',
    });
    for (const [flag] of helpText.matchAll(/--[a-z-]+(?= )/g)) {
      expect(() => parseFlags([flag], {})).not.toThrow(/unknown/i);
    }
  });

  it('takes the credential of the upstream from the environment, where nobody sees it in a process list', () => {
    expect(parseFlags([], { UPSTREAM_API_KEY: 'k' })).toMatchObject({ upstreamKey: 'k' });
  });

  it.each([
    [['--prot', '1'], /unknown option '--prot'.*--help/i],
    [['extra'], /unexpected argument 'extra'/i],
    [['--port'], /--port/],
    [['--port', '0'], /--port must be a whole number from 1 to 65535/],
    [['--port', '65535', '--ingresses', '2'], /--port must be a whole number from 1 to 65534/],
    [['--workers', '1.5'], /--workers must be a whole number/],
    [['--redis', 'localhost'], /--redis: a Redis URL starts with redis:\/\//],
    [['--upstream', 'ftp://h'], /--upstream must be a URL/],
    [['--config', 'c', '--upstream', 'http://h'], /exclude each other/],
  ])('says in one sentence what is wrong with %j', (words, sentence) => {
    expect(() => parseFlags(words, {})).toThrow(sentence);
    expect(() => parseFlags(words, {})).not.toThrow(/\n/);
  });
});
