import { describe, expect, it } from 'vitest';
import { attemptId, queueName, queuePrefix } from '../names.ts';
import { createJob } from '../transport-suite.ts';
import { parseJob } from './job.ts';

describe('a stored job', () => {
  it('is read as it was written, with what a later attempt carries', () => {
    const job = createJob('r', {
      attempt: 2,
      traceparent: '00-a-b-01',
      resume: { content: [{ type: 'text', text: 'so far' }], outputTokens: 2 },
    });
    expect(parseJob(JSON.stringify(job))).toEqual(job);
  });

  it.each([
    ['another version', 'version', JSON.stringify({ ...createJob('r'), version: 2 })],
    ['no attempt', 'attempt', JSON.stringify({ ...createJob('r'), attempt: 0 })],
    ['no request', 'request', JSON.stringify({ ...createJob('r'), request: undefined })],
    ['nothing', 'the job', ''],
    ['text', 'the job', '"job"'],
    ['a list', 'the job', '[]'],
    ['no JSON', 'the job', 'job'],
  ])('of an unknown version is refused: %s', (_what, fault, data) => {
    expect(() => parseJob(data)).toThrow(
      expect.objectContaining({
        message: 'a job of an unknown version',
        cause: expect.objectContaining({ message: `${fault} is not what it is in version 1` }),
      }),
    );
  });

  const anything = [undefined, null, true, '', 'x', 0, 1, 1.5, -1, Number.NaN, [], {}];
  const envelope: [field: string, isGood: (value: unknown) => boolean][] = [
    ['version', (value) => value === 1],
    ['requestId', (value) => value === 'x'],
    ['attempt', (value) => value === 1],
    ['replyTo', (value) => value === 'x'],
    ['tenant', (value) => typeof value === 'string'],
    ['model', (value) => typeof value === 'string'],
    ['enqueuedAt', (value) => Number.isFinite(value)],
    ['deadlineAt', (value) => Number.isFinite(value)],
    ['request', () => false],
  ];

  it.each(envelope)('may have this in its envelope and nothing else: %s', (field, isGood) => {
    for (const value of anything) {
      const read = () => parseJob(JSON.stringify({ ...createJob('r'), [field]: value }));
      if (isGood(value)) expect(read()).toMatchObject({ [field]: value });
      else expect(read).toThrow('a job of an unknown version');
    }
  });

  it.each(['model', 'messages', 'sampling'])('is refused with a request without its %s', (field) => {
    const { request, ...rest } = createJob('r');
    const data = JSON.stringify({ ...rest, request: { ...request, [field]: 5 } });
    expect(() => parseJob(data)).toThrow('a job of an unknown version');
  });

  it('has names that the queue takes, and a hash tag per pool', () => {
    expect([queueName('chat'), queuePrefix('chat'), attemptId({ requestId: 'r', attempt: 2 })]).toEqual([
      'inference-chat',
      'sluice:{p:chat}',
      'r-2',
    ]);
  });
});
