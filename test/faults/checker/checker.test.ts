import { describe, expect, it, test } from 'vitest';
import type { RunLog } from '../observation.ts';
import { check } from './checker.ts';
import { createSoundLog, seededBugs } from './seeded-bugs.ts';

/** What the checker says about the sound log after `doctor` has changed it. */
function verdictOn(doctor: (log: RunLog) => void): string[] {
  const log = createSoundLog();
  doctor(log);
  return check(log).map(({ kind }) => kind);
}

test('a sound run has no violation', () => {
  expect(check(createSoundLog())).toEqual([]);
});

describe('a seeded bug is caught:', () => {
  it.each(seededBugs)('$name', ({ doctor, caughtAs }) => {
    expect(verdictOn(doctor)).toContain(caughtAs);
  });
});

describe('what a fault explains is no violation:', () => {
  const cut = (log: RunLog): void => {
    const [first] = log.observations;
    if (first) Object.assign(first, { end: 'cut', endedAt: 2_000 });
  };

  it('a cut whose own ingress died', () => {
    const killed = { kind: 'ingress killed', target: 'ingress 0', startedAt: 1_500, endedAt: 3_000 };
    expect(verdictOn((log) => [cut(log), log.faults.push(killed)])).not.toContain('cut-unexplained');
  });

  it('but a cut whose worker died is one', () => {
    expect(verdictOn(cut)).toContain('cut-unexplained');
  });

  it('and so is a cut while another ingress died', () => {
    const killed = { kind: 'ingress killed', target: 'ingress 1', startedAt: 1_500, endedAt: 3_000 };
    expect(verdictOn((log) => [cut(log), log.faults.push(killed)])).toContain('cut-unexplained');
  });
});

describe('when Redis lost its data', () => {
  const loss = {
    kind: 'redis restarted without its data',
    target: 'redis',
    startedAt: 1_500,
    endedAt: 1_700,
  };
  const forget = (log: RunLog): void => {
    log.faults.push(loss);
    // Three answers of 70 tokens each belong to every tenant.
    for (const sample of log.budgets) sample.spent = 0;
  };

  it('nothing needs to have been charged for what it met', () => {
    expect(verdictOn(forget)).toEqual([]);
  });

  it('all that was charged before and after it still counts against a second charge', () => {
    expect(
      verdictOn((log) => {
        forget(log);
        log.lostCharges.push({ tenant: 'tenant-0', spent: 140 }, { tenant: 'tenant-0', spent: 140 });
      }),
    ).toEqual(['charged-twice']);
  });

  it('what began later is charged as ever', () => {
    expect(
      verdictOn((log) => {
        forget(log);
        Object.assign(log.observations[0] ?? {}, { startedAt: 2_000, endedAt: 3_000 });
      }),
    ).toEqual(['charged-too-little']);
  });
});

describe('heaps', () => {
  it('of a process that died in between can not be compared, and that is said', () => {
    expect(
      verdictOn((log) => {
        for (const sample of log.heaps?.after ?? []) sample.pid += 1;
      }),
    ).toEqual(['heap-grown']);
  });

  it('need not have been looked at', () => {
    expect(
      verdictOn((log) => {
        delete log.heaps;
      }),
    ).toEqual([]);
  });
});

describe('what no fault explains:', () => {
  it('a budget that was exceeded at one moment', () => {
    expect(
      verdictOn((log) => {
        log.budgets.unshift({ at: 1, tenant: 'tenant-0', spent: 9_990, reserved: 20, limit: 10_000 });
      }),
    ).toEqual(['over-budget']);
  });

  it('a charge for a request that was refused before the queue', () => {
    expect(
      verdictOn((log) => {
        const [first] = log.observations;
        if (first) Object.assign(first, { status: 503, answer: { ...first.answer, endMarks: 0 } });
        log.lines.push({ process: 'ingress 0', text: '{"requestId":"r0","attempts":0,"msg":"request"}' });
      }),
    ).toContain('charged-twice');
  });

  it('usage that is not what was delivered', () => {
    expect(
      verdictOn((log) => {
        for (const { answer } of log.observations.slice(0, 1))
          if (answer.usage) answer.usage.outputTokens += 1;
      }),
    ).toContain('usage-wrong');
  });

  it('anything after the end mark', () => {
    expect(
      verdictOn((log) => {
        for (const { answer } of log.observations.slice(0, 1)) answer.eventsAfterEnd = 1;
      }),
    ).toEqual(['event-after-end']);
  });

  it('a fence that long suspensions never made bite', () => {
    expect(
      verdictOn((log) => {
        for (let count = 0; count < 5; count += 1)
          log.faults.push({ kind: 'worker suspended', target: 'worker 1', startedAt: 0, endedAt: 5_000 });
      }),
    ).toEqual(['fence-untested']);
  });
});
