import { describe, expect, it } from 'vitest';
import { parseJob } from './job.ts';
import { jobId, queueName, queuePrefix } from './names.ts';
import { createJob } from './transport-suite.ts';

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
    ['another version', JSON.stringify({ ...createJob('r'), version: 2 })],
    ['no attempt', JSON.stringify({ ...createJob('r'), attempt: 0 })],
    ['no request', JSON.stringify({ ...createJob('r'), request: undefined })],
    ['nothing', ''],
    ['text', '"job"'],
    ['no JSON', 'job'],
  ])('of an unknown version is refused: %s', (_what, data) => {
    expect(() => parseJob(data)).toThrow('a job of an unknown version');
  });

  it('has names that the queue takes, and a hash tag per pool', () => {
    expect([queueName('chat'), queuePrefix('chat'), jobId('r', 2)]).toEqual([
      'inference-chat',
      'sluice:{p:chat}',
      'r-2',
    ]);
  });
});
