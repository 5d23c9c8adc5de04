import { beforeEach, describe, expect, it } from 'bun:test';
import { FairBudget } from '../../../runtime/fairness/fair-budget.ts';
import { OwnChanges } from './own-changes.ts';

const [REMOVED, ADDED] = ['r1/room\nann', 'a1/room\nann'];

let nowMs: number;
let own: OwnChanges;

beforeEach(() => {
  nowMs = 0;
  own = changes(new FairBudget(100_000));
});

function changes(budget: FairBudget): OwnChanges {
  return new OwnChanges(budget, { now: () => nowMs });
}

function leaves(name = REMOVED): void {
  own.note(name);
  own.stated([[name, true]], new Set());
}

function arrives(...owed: readonly string[]): void {
  own.stated([[REMOVED, false]], new Set(owed));
}

describe('a departure', () => {
  it('is asked for 3 s after it was stated, until Redis has answered', () => {
    own.note(REMOVED);
    expect(own.waitMs).toBeUndefined();
    nowMs = 1000;
    own.stated([[REMOVED, true]], new Set());
    nowMs = 3999;
    expect([own.waitMs, own.due()]).toEqual([1, []]);
    nowMs = 4000;
    expect(own.due()).toEqual([[REMOVED, 4000]]);
    own.asked(own.due(), 6000);
    expect(own.waitMs).toBe(6000);
    nowMs = 10_000;
    own.asked(own.due(), 0);
    expect(own.has(REMOVED)).toBe(false);
  });

  it('stays noted if the user has left again since it was asked for', () => {
    leaves();
    nowMs = 3000;
    const due = own.due();
    own.note(REMOVED);
    own.asked(due, 0);
    expect(own.lost()).toEqual([[REMOVED, 0, false]]);
  });

  it('is not asked for if it was not noted', () => {
    own.stated([[REMOVED, true]], new Set());
    expect(own.waitMs).toBeUndefined();
  });
});

describe('an arrival that is not reported yet', () => {
  it('is stated with the departure after it, as often as the data are lost', () => {
    arrives(ADDED);
    nowMs = 1000;
    leaves();
    leaves('v1/room');
    for (nowMs of [3000, 5000]) {
      expect(own.lost()).toEqual([
        [REMOVED, nowMs - 1000, true],
        ['v1/room', nowMs - 1000, false],
      ]);
    }
  });

  it('is asked for 3 s after it was stated first, however often that is repeated', () => {
    arrives(ADDED);
    nowMs = 2000;
    arrives(ADDED);
    expect(own.waitMs).toBe(1000);
  });

  it('leaves the departure before it, also if it is stated again', () => {
    leaves();
    for (nowMs of [5000, 9000]) {
      arrives(ADDED);
      expect(own.lost()).toEqual([[REMOVED, nowMs, false]]);
    }
    expect(own.has(ADDED)).toBe(true);
  });

  it('ends a departure before which nothing was reported, and one that nobody needs to know of', () => {
    arrives(ADDED);
    nowMs = 1000;
    leaves();
    nowMs = 5000;
    arrives(ADDED);
    expect([own.has(ADDED), own.has(REMOVED)]).toEqual([true, false]);
    leaves();
    arrives();
    expect([own.has(ADDED), own.has(REMOVED)]).toEqual([true, false]);
  });
});

it('an app uses no more of the budget than it leaves free, and all of it is given back', () => {
  const budget = new FairBudget(10_000);
  const all = [changes(budget), changes(budget)];
  for (let n = 0; n < 1000; n++) all[n % 2]?.note(`r1/room\n${n}`);
  expect(budget.of('1')).toBeLessThan(5200);
  expect(budget.of('1')).toBeGreaterThan(4500);
  all[0]?.note('r2/room\nann');
  expect(budget.of('2')).toBeGreaterThan(0);
  for (const one of all) one.clear();
  expect(budget.total).toBe(0);
});

describe('a departure of a member that stays for a while', () => {
  it('is asked for when the stay is over, and does not hold back others', () => {
    own.note(REMOVED, 10_000);
    own.note('v1/room', 10_000);
    own.stated(
      [
        [REMOVED, true],
        ['v1/room', true],
      ],
      new Set(),
    );
    nowMs = 1000;
    leaves('r1/room\nbob');
    expect(own.waitMs).toBe(3000);
    nowMs = 4000;
    expect(own.due()).toEqual([['r1/room\nbob', 4000]]);
    own.asked(own.due(), 0);
    expect(own.waitMs).toBe(6500);
    nowMs = 10_500;
    expect(own.due()).toEqual([[REMOVED, 10_500]]);
    own.asked(own.due(), 0);
    expect(own.waitMs).toBe(500);
  });
});
