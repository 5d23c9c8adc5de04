import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { SharedTotal, shareTotals } from '../shared-memory/shared-total.ts';
import { FairBudget } from './fair-budget.ts';

/** Takes as callers do, letting others yield one at a time; returns whether the owner got it. */
function takeFairly(budget: FairBudget, owner: string, amount = 1): boolean {
  for (;;) {
    const yielding = budget.ownerToEvict(owner, amount);
    if (yielding === undefined) break;
    if (yielding === owner) return false;
    budget.release(yielding);
  }
  budget.add(owner, amount);
  return true;
}

function takeAll(budget: FairBudget, owner: string): number {
  for (let tries = 0; tries < 2 * budget.capacity; tries++) takeFairly(budget, owner);
  return budget.of(owner);
}

describe('a fair budget', () => {
  it('lets one owner alone have all of it', () => {
    const budget = new FairBudget(100);
    expect(takeAll(budget, 'a')).toBe(100);
    expect(takeFairly(budget, 'a')).toBe(false);
  });

  it('gives a new owner its share at the expense of the largest', () => {
    const budget = new FairBudget(100);
    takeAll(budget, 'a');
    expect(takeAll(budget, 'b')).toBe(50);
    expect(takeAll(budget, 'c')).toBe(33);
    expect(budget.total).toBe(100);
  });

  it('leaves each of many greedy owners the same share, in any order of arrival', () => {
    const budget = new FairBudget(100);
    for (let owner = 0; owner < 20; owner++) takeAll(budget, String(owner));
    for (let owner = 0; owner < 20; owner++) {
      expect(budget.of(String(owner))).toBeWithin(4, 7);
    }
  });

  it('does not take from the largest for an owner that would then hold as much', () => {
    const budget = new FairBudget(10);
    budget.add('a', 5);
    budget.add('b', 5);
    expect(budget.ownerToEvict('b')).toBe('b');
    expect(budget.ownerToEvict('c', 3)).toBe('c');
    expect(budget.ownerToEvict('c', 2)).toBe('a');
    expect(budget.ownerToEvict('c', 11)).toBe('c');
  });

  it('refuses a release of more than an owner holds', () => {
    const budget = new FairBudget(10);
    budget.add('a', 2);
    expect(() => budget.release('a', 3)).toThrow();
    expect(() => budget.release('b')).toThrow();
    budget.release('a', 2);
    expect(budget.total).toBe(0);
  });

  it('has what other loops leave of a capacity that they share', () => {
    const memory = shareTotals(3);
    const [a, b, c] = [0, 1, 2].map((loop) => new FairBudget(10, new SharedTotal(memory, loop)));
    if (a === undefined || b === undefined || c === undefined) throw new Error('three loops');
    a.add('x', 4);
    b.add('x', 4);
    expect([a.capacity, b.capacity, c.capacity]).toEqual([6, 6, 2]);
    expect(takeAll(c, 'x')).toBe(2);
    expect(c.ownerToEvict('y')).toBe('x');
    expect(a.take('y')).toBe(false);
    b.release('x', 3);
    expect(a.take('y', 3)).toBe(true);
    expect(c.take('y')).toBe(false);
  });

  it('has nothing to give if other loops hold more than all of it', () => {
    const memory = shareTotals(2);
    const budget = new FairBudget(10, new SharedTotal(memory, 0));
    budget.add('x', 3);
    new SharedTotal(memory, 1).set(12);
    expect(budget.capacity).toBe(0);
    expect(budget.ownerToEvict('x')).toBe('x');
    expect(budget.ownerToEvict('y')).toBe('y');
  });

  it('always names the largest owner, and never exceeds its capacity', () => {
    const step = fc.record({
      owner: fc.constantFrom('a', 'b', 'c', 'd'),
      amount: fc.integer({ min: 1, max: 30 }),
      kind: fc.constantFrom('take', 'release', 'ask'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const budget = new FairBudget(50);
        const model = new Map<string, number>();
        const of = (owner: string) => model.get(owner) ?? 0;
        for (const { owner, amount, kind } of steps) {
          const sum = [...model.values()].reduce((all, one) => all + one, 0);
          if (kind === 'release') {
            const given = Math.min(of(owner), amount);
            if (given > 0) budget.release(owner, given);
            model.set(owner, of(owner) - given);
          } else if (kind === 'take') {
            const fits = sum + amount <= 50;
            expect(budget.take(owner, amount)).toBe(fits);
            if (fits) model.set(owner, of(owner) + amount);
          } else {
            const yields = budget.ownerToEvict(owner, amount);
            const most = Math.max(0, ...model.values());
            if (sum + amount <= 50) expect(yields).toBeUndefined();
            else if (yields !== owner) {
              expect(of(yields ?? '')).toBe(most);
              expect(most - (sum + amount - 50)).toBeGreaterThanOrEqual(of(owner) + amount);
            } else if (of(owner) < most) {
              expect(most - (sum + amount - 50)).toBeLessThan(of(owner) + amount);
            }
          }
          for (const [name, one] of model) expect(budget.of(name)).toBe(one);
        }
      }),
    );
  });
});
