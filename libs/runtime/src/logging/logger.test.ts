import { execFileSync } from 'node:child_process';
import { SluiceError } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { createLogger, type Logger, type LogLevel } from './logger.ts';

function capture(log: (logger: Logger) => void, level?: LogLevel): Record<string, unknown>[] {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  log(createLogger({ name: 'ingress', destination, ...(level && { level }) }));
  return lines.map((line) => {
    expect(line.indexOf('\n')).toBe(line.length - 1);
    return JSON.parse(line);
  });
}

it('an event is one line with ISO time, level as a word, process name, fields and message', () => {
  const [line] = capture((logger) => logger.info({ requestId: 'r1', durationMs: 3 }, 'request ended'));
  expect(line).toMatchObject({
    level: 'info',
    name: 'ingress',
    requestId: 'r1',
    durationMs: 3,
    msg: 'request ended',
  });
  expect(line?.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

it('events below the level are not written; info is the default', () => {
  const log = (logger: Logger) => {
    logger.debug('fine');
    logger.info('fact');
    logger.warn('odd');
  };
  expect(capture(log).map((line) => line.msg)).toEqual(['fact', 'odd']);
  expect(capture(log, 'warn').map((line) => line.msg)).toEqual(['odd']);
  expect(capture(log, 'silent')).toEqual([]);
});

it('a line says what it was given to say, and an error speaks only where nothing else does', () => {
  const lines = capture((logger) => {
    logger.error(new Error('broken'), 'what failed');
    logger.error(new Error('broken'));
    logger.info({ step: 1 });
  });
  expect(lines.map(({ msg }) => msg)).toEqual(['what failed', 'broken', undefined]);
});

describe('the second net', () => {
  const canaries = ['canary-credential', 'sk-canarycanary', 'canary-prompt'];
  function expectNoCanary(line: unknown) {
    for (const canary of canaries) expect(JSON.stringify(line)).not.toContain(canary);
  }

  it('masks credentials and content by name at any depth, in children too', () => {
    const [line] = capture((logger) =>
      logger
        .child({ apiKey: 'canary-credential' })
        .child({ prompt: 'canary-prompt' })
        .info(
          {
            authorization: 'canary-credential',
            http: { headers: { 'x-api-key': 'canary-credential', accept: 'text/event-stream' } },
            body: { messages: ['canary-prompt'] },
            list: [{ prompt: 'canary-prompt' }],
            keyPrefix: 'sk-ab',
          },
          'leak',
        ),
    );
    expectNoCanary(line);
    expect(line).toMatchObject({
      authorization: '***',
      http: { headers: { 'x-api-key': '***', accept: 'text/event-stream' } },
      body: '***',
      keyPrefix: 'sk-ab',
    });
  });

  it.each([
    ['body'],
    ['completion'],
    ['content'],
    ['contents'],
    ['messages'],
    ['prompt'],
    ['request'],
    ['text'],
  ])('masks the field %s whatever it holds, but numbers, truth and nothing', (name) => {
    const fields = [{ [name]: ['canary-prompt'] }, { [name]: 3 }, { [name]: false }, { [name]: null }];
    const lines = capture((logger) => {
      for (const field of fields) logger.info(field, 'x');
    });
    expect(lines.map((line) => line[name])).toEqual(['***', 3, false, null]);
  });

  it('masks credentials by shape, in the message and in any field', () => {
    const [line] = capture((logger) =>
      logger.info(
        { url: '/v1beta/models?key=canary-credential', note: 'Bearer canary-credential' },
        'key sk-canarycanary',
      ),
    );
    expectNoCanary(line);
    expect(line).toMatchObject({ url: '/v1beta/models?key=***', note: 'Bearer ***', msg: 'key sk-***' });
  });

  it('prints only the class of an instance; dates and addresses are printed', () => {
    const [line] = capture((logger) =>
      logger.info(
        { map: new Map([['a', 'canary-prompt']]), at: new Date(0), url: new URL('http://host/') },
        'x',
      ),
    );
    expect(line).toMatchObject({ map: '[Map]', at: '1970-01-01T00:00:00.000Z', url: 'http://host/' });
  });

  it('prints six levels of groups and lists', () => {
    const [line] = capture((logger) =>
      logger.info({ a: { b: [{ c: { d: { e: { f: { g: 'deep' } } } } }] } }, 'x'),
    );
    expect(line?.a).toEqual({ b: [{ c: { d: { e: { f: '…' } } } }] });
  });

  it('stops at a depth instead of following a cycle for ever', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(JSON.stringify(capture((logger) => logger.info({ circle }, 'x')))).toContain('…');
  });
});

describe('an error', () => {
  it('keeps name, message, kind, detail, code and causes', () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const error = new SluiceError('upstream-failed', 'the upstream ended', {
      detail: 'poison',
      cause: reset,
    });
    const [line] = capture((logger) => logger.error({ err: error }, 'generation failed'));
    expect(line?.err).toMatchObject({
      name: 'SluiceError',
      message: 'the upstream ended',
      kind: 'upstream-failed',
      detail: 'poison',
      cause: { name: 'Error', message: 'read ECONNRESET', code: 'ECONNRESET' },
    });
  });

  it('is logged with its stack if it is a defect, and otherwise only with its message', () => {
    const defects = [new TypeError('x is not a function'), new SluiceError('internal', 'the books differ')];
    // Made by the system, as all of its kind.
    const refused = Object.assign(new Error('connect ECONNREFUSED'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    });
    const expected = [refused, new SluiceError('unavailable', 'the model file is not there')];
    const lines = capture((logger) => {
      for (const err of [...defects, ...expected]) logger.error({ err }, 'it failed');
    });
    const stack = expect.stringContaining('logger.test.ts');
    expect(lines).toMatchObject([{ err: { stack } }, { err: { stack } }, {}, {}]);
    for (const { err } of lines.slice(2)) expect(err).not.toHaveProperty('stack');
  });

  it('loses all other properties, under any field name', () => {
    const error = Object.assign(new Error('ERR'), {
      command: { args: ['canary-prompt'] },
      body: 'canary-prompt',
    });
    const lines = capture((logger) => {
      logger.error(error);
      logger.warn({ reason: error, nested: { error } }, 'x');
      logger.warn({ errors: [new AggregateError([error], 'several')] }, 'x');
    });
    expect(JSON.stringify(lines)).not.toContain('canary-prompt');
    expect(lines[1]).toMatchObject({ reason: { message: 'ERR' }, nested: { error: { message: 'ERR' } } });
    expect(lines[2]).toMatchObject({ errors: [{ message: 'several', errors: [{ message: 'ERR' }] }] });
  });

  it('of JSON.parse does not quote the text that was parsed', () => {
    const lines = capture((logger) => {
      try {
        JSON.parse('canary-prompt');
      } catch (error) {
        logger.error(error);
        logger.error({ err: error }, 'bad body');
      }
    });
    expect(JSON.stringify(lines)).not.toContain('canary');
    expect(lines[0]).toMatchObject({ msg: 'text is not valid JSON', err: { name: 'SyntaxError' } });
  });

  it('of any other type is logged by its type only', () => {
    const [line] = capture((logger) =>
      logger.error({ err: new Error('x', { cause: 'canary-prompt' }) }, 'x'),
    );
    expect(line?.err).toMatchObject({ cause: { name: 'Thrown', message: 'a thrown string' } });
  });
});

it('lines written right before the process exits are not lost', () => {
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
    const logger = createLogger({ name: 'short' });
    for (let index = 0; index < 2000; index++) logger.info({ index }, 'line');
    process.exit(0);
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  const lines = output.trimEnd().split('\n');
  expect(lines.length).toBe(2000);
  expect(JSON.parse(lines.at(-1) ?? '').index).toBe(1999);
});
