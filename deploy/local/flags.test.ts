import { describe, expect, it } from 'vitest';
import { helpText, parseFlags } from './flags.ts';

describe('parseFlags', () => {
  it('has a default for everything', () => {
    expect(parseFlags([], {})).toEqual({
      port: 8080,
      ingresses: 1,
      workers: 1,
      processes: 1,
      json: false,
      help: false,
    });
  });

  it('reads every flag that the help names', () => {
    const words =
      '--port 1 --ingresses 2 --workers 3 --processes 4 --redis redis://h --config c.yaml --json --help';
    expect(parseFlags(words.split(' '), {})).toEqual({
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
    expect(parseFlags(['--gguf', 'model.gguf'], {})).toMatchObject({ gguf: 'model.gguf' });
    for (const [flag] of helpText.matchAll(/--[a-z-]+(?= )/g)) {
      expect(() => parseFlags([flag], {})).not.toThrow(/unknown/i);
    }
  });

  it('takes the credential of the upstream from the environment, where nobody sees it in a process list', () => {
    expect(parseFlags([], { UPSTREAM_API_KEY: 'k' })).toMatchObject({ upstreamKey: 'k' });
  });

  it('takes the processes of each from the environment where no flag says', () => {
    expect(parseFlags([], { SLUICE_PROCESSES: '3' }).processes).toBe(3);
    expect(parseFlags(['--processes', '2'], { SLUICE_PROCESSES: '3' }).processes).toBe(2);
    expect(parseFlags([], { SLUICE_PROCESSES: '' }).processes).toBe(1);
    expect(() => parseFlags([], { SLUICE_PROCESSES: '65' })).toThrow(/^SLUICE_PROCESSES must be .* 1 to 64$/);
  });

  it.each([
    [['--prot', '1'], /unknown option '--prot'.*--help/i],
    [['extra'], /unexpected argument 'extra'/i],
    [['--port'], /--port/],
    [['--port', '0'], /--port must be a whole number from 1 to 65535/],
    [['--port', '65535', '--ingresses', '2'], /--port must be a whole number from 1 to 65534/],
    [['--processes', '0'], /--processes must be a whole number from 1 to 64/],
    [['--workers', '1.5'], /--workers must be a whole number/],
    [['--redis', 'localhost'], /--redis: a Redis URL starts with redis:\/\//],
    [['--upstream', 'ftp://h'], /--upstream must be a URL/],
    [['--config', 'c', '--upstream', 'http://h'], /--config and --upstream exclude each other/],
    [['--upstream', 'http://h', '--gguf', 'm.gguf'], /--upstream and --gguf exclude each other/],
  ])('says in one sentence what is wrong with %j', (words, sentence) => {
    expect(() => parseFlags(words, {})).toThrow(sentence);
    expect(() => parseFlags(words, {})).not.toThrow(/\n/);
  });
});
