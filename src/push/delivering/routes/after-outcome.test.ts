import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Outcome } from '../../gateway.ts';
import { afterOutcome, type DeliveryAttempt } from './after-outcome.ts';
import type { Lifetime } from './lifetime.ts';

const NOW_MS = 1_800_000_000_000;

function lifetimeUntil(endsAtMs: number, endsBy: Lifetime['endsBy'] = 'itself'): Lifetime {
  return { endsAtMs, firstTryUntilMs: endsAtMs, endsBy };
}

function after(outcome: Outcome, more: Partial<DeliveryAttempt> = {}) {
  return afterOutcome(outcome, {
    attempts: 1,
    nowMs: NOW_MS,
    lifetime: lifetimeUntil(NOW_MS + 3_600_000),
    seenAtMs: NOW_MS - 1_000,
    wasAccepted: true,
    isBoundToKey: true,
    others: 'none',
    random: () => 0,
    ...more,
  });
}

const tryAgain = (afterMs?: number): Extract<Outcome, { readonly result: 'try-again' }> => ({
  result: 'try-again',
  reason: 'busy',
  afterMs,
  scope: 'device',
});

describe('after an attempt', () => {
  it('a device that was accepted is done', () => {
    expect(after({ result: 'accepted' })).toEqual({ what: 'accepted' });
  });

  it('one that may succeed later is retried, after the pause that its gateway asked for', () => {
    const retry = { what: 'retry', reason: 'busy', words: '' } as const;
    expect(after(tryAgain())).toEqual({ ...retry, dueAtMs: NOW_MS + 1_000 });
    expect(after(tryAgain(30_000))).toEqual({ ...retry, dueAtMs: NOW_MS + 30_000 });
    expect(after(tryAgain(), { attempts: 4, random: () => 0.5 })).toEqual({
      ...retry,
      dueAtMs: NOW_MS + 8_500,
    });
  });

  it('one whose retry would come after its time to live has expired', () => {
    const expired = { what: 'expired', reason: 'busy', words: '' } as const;
    expect(after(tryAgain(), { lifetime: lifetimeUntil(NOW_MS + 1_000) })).toEqual(expired);
    expect(after(tryAgain(3_600_000))).toEqual(expired);
    expect(after(tryAgain(), { lifetime: lifetimeUntil(NOW_MS + 1_001) }).what).toBe('retry');
  });

  it('one whose retry would come after the time for retries has expired for that, and the cause is known', () => {
    const lifetime = lifetimeUntil(NOW_MS + 1_000, 'retries');
    expect(after(tryAgain(), { lifetime })).toEqual({
      what: 'expired',
      reason: 'retries-ended',
      words: 'busy',
    });
  });

  it('one with a dead token is pruned', () => {
    const gone: Outcome = { result: 'token-gone', reason: 'Unregistered', sinceMs: undefined };
    expect(after(gone)).toEqual({ what: 'pruned', reason: 'Unregistered', words: '' });
  });

  it('one that has registered since its token died is not pruned', () => {
    const since = (sinceMs: number) =>
      after({ result: 'token-gone', reason: 'Unregistered', sinceMs }, { seenAtMs: 1_000 });
    expect(since(1_001).what).toBe('pruned');
    const stale = { what: 'failed', reason: 'token-stale', words: '' } as const;
    expect(since(1_000)).toEqual(stale);
    expect(since(999)).toEqual(stale);
  });

  it('one that is refused has failed, with the reason', () => {
    expect(after({ result: 'refused', reason: 'TooLarge', words: 'Too large' })).toEqual({
      what: 'failed',
      reason: 'TooLarge',
      words: 'Too large',
    });
  });

  const otherKey: Outcome = { result: 'not-authorised', reason: 'http-403', words: 'Other key' };

  it('a browser that alone is not authorised is pruned at the third attempt', () => {
    expect(after(otherKey, { attempts: 100 }).what).toBe('retry');
    expect(after(otherKey, { attempts: 100, others: 'somewhere' }).what).toBe('retry');
    expect(after(otherKey, { attempts: 2, others: 'here' }).what).toBe('retry');
    expect(after(otherKey, { attempts: 3, others: 'here' })).toEqual({
      what: 'pruned',
      reason: 'http-403',
      words: 'Other key',
    });
  });

  it('an untrusted device that is not authorised is given up at the third attempt, even if no device was accepted recently', () => {
    const untrusted = { wasAccepted: false, attempts: 3 };
    expect(after(otherKey, untrusted).what).toBe('retry');
    expect(after(otherKey, { ...untrusted, others: 'here' }).what).toBe('pruned');
    expect(after(otherKey, { ...untrusted, others: 'somewhere', attempts: 2 }).what).toBe('retry');
    const given = { what: 'failed', reason: 'http-403', words: 'Other key' } as const;
    expect(after(otherKey, { ...untrusted, others: 'somewhere' })).toEqual(given);
    const apns = { ...untrusted, isBoundToKey: false };
    for (const others of ['here', 'somewhere'] as const) {
      expect(after(otherKey, { ...apns, others })).toEqual(given);
    }
  });

  it('no device is pruned or given up for a credential that was refused before any device was named', () => {
    const refused: Outcome = { ...otherKey, scope: 'connection' };
    const more = { wasAccepted: false, attempts: 100, others: 'here' } as const;
    expect(after(refused, more).what).toBe('retry');
  });

  it('an untrusted device whose gateway has trouble with it alone is given up, later if others were accepted only long ago', () => {
    const trouble: Outcome = { ...tryAgain(), scope: 'gateway' };
    const alone = { wasAccepted: false, others: 'here', attempts: 10 } as const;
    expect(after(trouble, alone)).toEqual({ what: 'failed', reason: 'busy', words: '' });
    expect(after(trouble, { ...alone, attempts: 9 }).what).toBe('retry');
    expect(after(trouble, { ...alone, others: 'somewhere' }).what).toBe('retry');
    expect(after(trouble, { ...alone, others: 'somewhere', attempts: 24 }).what).toBe('failed');
    expect(after(trouble, { ...alone, others: 'none', attempts: 1_000 }).what).toBe('retry');
    expect(after(trouble, { ...alone, wasAccepted: true }).what).toBe('retry');
  });

  it('nothing is retried after its time to live', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.option(fc.nat(1e9), { nil: undefined }),
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.double({ min: 0, max: 0.99, noNaN: true }),
        (attempts, afterMs, leftMs, random) => {
          const endsAtMs = NOW_MS + leftMs;
          const lifetime = lifetimeUntil(endsAtMs);
          const next = after(tryAgain(afterMs), { attempts, lifetime, random: () => random });
          if (next.what !== 'retry') return next.what === 'expired';
          return next.dueAtMs < endsAtMs && next.dueAtMs >= NOW_MS + Math.max(1_000, afterMs ?? 0);
        },
      ),
    );
  });
});
