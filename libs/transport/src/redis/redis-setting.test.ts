import { maskSecrets, parseEnvironment, secretNamesOf } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { redisUrl, usualRedis } from './redis-setting.ts';

const schema = z.object({
  REDIS: redisUrl().default(usualRedis),
  WORD: z.enum(['yes', 'no']).default('yes'),
});
const parse = (environment: Record<string, string>) => parseEnvironment(schema, environment).values;

describe('the setting of a Redis', () => {
  it('is the usual port of this machine by default', () => {
    expect(parse({}).REDIS).toBe('redis://127.0.0.1:6379');
  });

  it('is reported by its name, with all other mistakes, if it names no Redis', () => {
    expect(() => parse({ REDIS: 'localhost:6379', WORD: 'maybe' })).toThrow(
      /2 mistakes\n {2}REDIS: a Redis URL starts with redis:\/\/.*\n {2}WORD: /,
    );
  });

  it('is masked where settings are printed, because it may hold a password', () => {
    const values = parse({ REDIS: 'redis://:geheim@db:6379' });
    expect(maskSecrets(values, secretNamesOf(schema))).toEqual({ REDIS: '***', WORD: 'yes' });
  });
});
