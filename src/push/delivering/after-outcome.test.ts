import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Outcome } from '../gateway.ts';
import { type Attempt, afterOutcome } from './after-outcome.ts';

const NOW_MS = 1_800_000_000_000;

function after(outcome: Outcome, more: Partial<Attempt> = {}) {
  return afterOutcome(outcome, {
    attempts: 1,
    nowMs: NOW_MS,
    endsAtMs: NOW_MS + 3_600_000,
    registeredAtMs: NOW_MS - 1_000,
    onlyItsKeyRefused: false,
    random: () => 0,
    ...more,
  });
}

const tryAgain = (afterMs?: number): Outcome => ({
  result: 'try-again',
  reason: 'busy',
  afterMs,
  scope: 'device',
});

describe('after an attempt', () => {
  it('a device that was accepted is done', () => {
    expect(after({ result: 'accepted' })).toEqual({ what: 'accepted' });
  });

  it('one that may succeed later is tried again, not before its gateway wants', () => {
    const retry = { what: 'retry', reason: 'busy', words: '' } as const;
    expect(after(tryAgain())).toEqual({ ...retry, dueAtMs: NOW_MS + 1_000 });
    expect(after(tryAgain(30_000))).toEqual({ ...retry, dueAtMs: NOW_MS + 30_000 });
    expect(after(tryAgain(), { attempts: 4, random: () => 0.5 })).toEqual({
      ...retry,
      dueAtMs: NOW_MS + 8_500,
    });
  });

  it('one whose next attempt would come too late has expired', () => {
    const expired = { what: 'expired', reason: 'busy', words: '' } as const;
    expect(after(tryAgain(), { endsAtMs: NOW_MS + 1_000 })).toEqual(expired);
    expect(after(tryAgain(3_600_000))).toEqual(expired);
    expect(after(tryAgain(), { endsAtMs: NOW_MS + 1_001 }).what).toBe('retry');
  });

  it('one whose token reaches nobody is pruned', () => {
    const gone: Outcome = { result: 'token-gone', reason: 'Unregistered', sinceMs: undefined };
    expect(after(gone)).toEqual({ what: 'pruned', reason: 'Unregistered', words: '' });
  });

  it('one that has registered since its token died is not pruned', () => {
    const since = (sinceMs: number) =>
      after({ result: 'token-gone', reason: 'Unregistered', sinceMs }, { registeredAtMs: 1_000 });
    expect(since(1_001).what).toBe('pruned');
    const stale = { what: 'failed', reason: 'token-stale', words: '' } as const;
    expect(since(1_000)).toEqual(stale);
    expect(since(999)).toEqual(stale);
  });

  it('one that is refused has failed, and it is known why', () => {
    expect(after({ result: 'refused', reason: 'TooLarge', words: 'Too large' })).toEqual({
      what: 'failed',
      reason: 'TooLarge',
      words: 'Too large',
    });
  });

  it('one that is not accepted alone waits, and is pruned when that stays so', () => {
    const refused: Outcome = { result: 'not-authorised', reason: 'http-403', words: 'Other key' };
    expect(after(refused).what).toBe('retry');
    expect(after(refused, { onlyItsKeyRefused: true }).what).toBe('retry');
    expect(after(refused, { attempts: 100 }).what).toBe('retry');
    expect(after(refused, { attempts: 3, onlyItsKeyRefused: true })).toEqual({
      what: 'pruned',
      reason: 'http-403',
      words: 'Other key',
    });
  });

  it('nothing is tried again after its time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.option(fc.nat(1e9), { nil: undefined }),
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.double({ min: 0, max: 0.99, noNaN: true }),
        (attempts, afterMs, leftMs, random) => {
          const endsAtMs = NOW_MS + leftMs;
          const next = after(tryAgain(afterMs), { attempts, endsAtMs, random: () => random });
          if (next.what !== 'retry') return next.what === 'expired';
          return next.dueAtMs < endsAtMs && next.dueAtMs >= NOW_MS + Math.max(1_000, afterMs ?? 0);
        },
      ),
    );
  });
});
