import { describe, expect, it } from 'vitest';
import type { Seat, TransientSet } from '../memory/transient-collections.ts';
import { type Due, TimingWheel } from './timing-wheel.ts';

class Member implements Due<Member> {
  seat: Seat<Member> | undefined;
  spoke: TransientSet<Member> | undefined;
  dueAt: number;
  readonly visitedAt: number[] = [];

  constructor(dueAt: number) {
    this.dueAt = dueAt;
  }
}

const step = 10;
const reach = 100;

/** A wheel that begins at 1,000, and whose members are due again `again` after each visit. */
function open(again = Number.POSITIVE_INFINITY) {
  let now = 1_000;
  const wheel = new TimingWheel<Member>(step, reach, now);
  return {
    wheel,
    add: (inMs: number) => {
      const member = new Member(now + inMs);
      wheel.put(member);
      return member;
    },
    advance: (by: number, every = step) => {
      for (const end = now + by; now < end; ) {
        now += every;
        wheel.turn(now, (member) => {
          member.visitedAt.push(now - 1_000);
          member.dueAt = now + again;
        });
      }
    },
  };
}

describe('a timing wheel', () => {
  it('looks at each member when it is due, however far ahead that is', () => {
    const { add, advance } = open();
    const members = [1, 10, 35, 99, 250, 2_000, -5].map(add);
    advance(3_000);
    expect(members.map(({ visitedAt }) => visitedAt)).toEqual([
      [10],
      [10],
      [40],
      [100],
      [250],
      [2_000],
      [10],
    ]);
  });

  it('looks again when it is due again', () => {
    const { add, advance } = open(30);
    const member = add(0);
    advance(100);
    expect(member.visitedAt).toEqual([10, 40, 70, 100]);
  });

  it('does not look at one that has put it off, or that is gone', () => {
    const { wheel, add, advance } = open();
    const [putOff, gone] = [add(50), add(50)];
    advance(40);
    putOff.dueAt += 20;
    expect([wheel.delete(gone), wheel.delete(gone)]).toEqual([true, false]);
    advance(100);
    expect([putOff.visitedAt, gone.visitedAt]).toEqual([[70], []]);
  });

  it('looks earlier at one that was put again', () => {
    const { wheel, add, advance } = open();
    const member = add(90);
    member.dueAt -= 60;
    wheel.put(member);
    advance(100);
    expect(member.visitedAt).toEqual([30]);
  });

  it('looks at every turn at one that stays due', () => {
    const { add, advance } = open(-1);
    const member = add(0);
    advance(50);
    expect(member.visitedAt).toEqual([10, 20, 30, 40, 50]);
  });

  it('lets members leave and come while it turns', () => {
    const wheel = new TimingWheel<Member>(step, reach, 0);
    const [one, other, late] = [new Member(5), new Member(5), new Member(5)];
    const seen: Member[] = [];
    for (const each of [one, other]) wheel.put(each);
    wheel.turn(10, (member) => {
      seen.push(member);
      wheel.delete(one);
      wheel.delete(other);
      wheel.put(late);
    });
    expect(seen).toEqual([one]);
    wheel.turn(20, (member) => seen.push(member));
    expect(seen).toEqual([one, late]);
  });

  it('looks once at all that came due in a pause longer than its reach', () => {
    const { add, advance } = open();
    const members = [5, 60, 150, 900].map(add);
    advance(1_000, 1_000);
    expect(members.map(({ visitedAt }) => visitedAt)).toEqual([[1_000], [1_000], [1_000], [1_000]]);
  });

  it.each([1, 7, 10, 33, 130])('is never early, nor later than a step, when turned every %i', (pace) => {
    const { add, advance } = open();
    const dues = Array.from({ length: 100 }, (_, at) => 5 * at);
    const members = dues.map(add);
    for (let now = pace; now < 700; now += pace) {
      advance(pace, pace);
      for (const [index, due] of dues.entries()) {
        const [at] = members[index]?.visitedAt ?? [];
        if (at !== undefined) expect(at).toBeGreaterThanOrEqual(due);
        else expect(due).toBeGreaterThan(now - step);
      }
    }
  });
});
