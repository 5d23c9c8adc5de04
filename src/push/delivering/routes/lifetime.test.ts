import { describe, expect, it } from 'bun:test';
import { readPayloads } from '../../payloads/payloads.ts';
import { FieldFault } from '../../refusal.ts';
import { lifetimeOf } from './lifetime.ts';

const DUE_MS = Date.UTC(2026, 5, 1);
const FOUR_WEEKS_MS = 28 * 24 * 3_600_000;

function lifetime(
  platform: 'apns' | 'fcm' | 'web',
  payload: object,
  retryMs = Number.POSITIVE_INFINITY,
) {
  const payloads = readPayloads({ [platform]: payload });
  if (payloads instanceof FieldFault) throw payloads;
  const { endsAtMs, firstTryUntilMs, endsBy } = lifetimeOf(payloads, platform, {
    dueAtMs: DUE_MS,
    retryMs,
  });
  return { endsMs: endsAtMs - DUE_MS, firstTryMs: firstTryUntilMs - DUE_MS, endsBy };
}

const seconds = (count: number) => ({
  endsMs: count * 1000,
  firstTryMs: count * 1000,
  endsBy: 'itself' as const,
});

describe('the lifetime of a notification', () => {
  it('is four weeks by default', () => {
    const fourWeeks = {
      endsMs: FOUR_WEEKS_MS,
      firstTryMs: FOUR_WEEKS_MS,
      endsBy: 'itself',
    } as const;
    expect(lifetime('web', {})).toEqual(fourWeeks);
    expect(lifetime('fcm', {})).toEqual(fourWeeks);
    expect(lifetime('apns', { aps: {} })).toEqual(fourWeeks);
  });

  it('is the time to live, from when the publish was due', () => {
    expect(lifetime('web', { time_to_live: 60 })).toEqual(seconds(60));
    expect(lifetime('fcm', { time_to_live: 7 })).toEqual(seconds(7));
    expect(lifetime('fcm', { message: { android: { ttl: '90s' } } })).toEqual(seconds(90));
    expect(lifetime('apns', { aps: {}, expiration: DUE_MS / 1000 + 300 })).toEqual(seconds(300));
  });

  it('is one attempt within a minute if the time to live is 0', () => {
    const once = { endsMs: 0, firstTryMs: 60_000, endsBy: 'itself' } as const;
    expect(lifetime('web', { time_to_live: 0 })).toEqual(once);
    expect(lifetime('fcm', { time_to_live: 0 })).toEqual(once);
    expect(lifetime('apns', { aps: {}, expiration: 0 })).toEqual(once);
  });

  it('is over if it expired before it was due', () => {
    expect(lifetime('apns', { aps: {}, expiration: DUE_MS / 1000 - 1 })).toEqual(seconds(-1));
  });

  it('is at most four weeks', () => {
    const never = lifetime('apns', { aps: {}, expiration: Number.MAX_SAFE_INTEGER });
    expect(never.endsMs).toBe(FOUR_WEEKS_MS);
  });

  it('ends with the time for retries, if that is shorter', () => {
    const hour = { endsMs: 3_600_000, firstTryMs: 3_600_000, endsBy: 'retries' } as const;
    expect(lifetime('web', {}, 3_600_000)).toEqual(hour);
    expect(lifetime('apns', { aps: {}, expiration: DUE_MS / 1000 + 3_601 }, 3_600_000)).toEqual(
      hour,
    );
    expect(lifetime('fcm', { time_to_live: 3_600 }, 3_600_000)).toEqual(seconds(3_600));
    expect(lifetime('fcm', { time_to_live: 0 }, 3_600_000).firstTryMs).toBe(60_000);
  });
});
