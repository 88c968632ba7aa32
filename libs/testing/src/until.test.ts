import { describe, expect, it } from 'vitest';
import { until } from './until.ts';

describe('until', () => {
  it('resolves with the first truthy value', async () => {
    const answers = [undefined, 0, 'found'];
    expect(await until(() => answers.shift(), { intervalMs: 0 })).toBe('found');
  });

  it('keeps polling when the condition throws', async () => {
    let looks = 0;
    const look = () => {
      looks += 1;
      if (looks < 3) throw new Error('not yet');
      return true;
    };
    expect(await until(look, { intervalMs: 0 })).toBe(true);
  });

  it('says what it waited for, with the last failure as the cause', async () => {
    const look = () => Promise.reject(new Error('no such key'));
    const waiting = until(look, { timeoutMs: 0, what: 'the key to appear' });
    await expect(waiting).rejects.toMatchObject({
      message: 'waited 0 ms for the key to appear',
      cause: { message: 'no such key' },
    });
  });

  it('gives up when its signal aborts', async () => {
    const reason = new Error('the test is over');
    await expect(until(() => false, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
