import { describe, expect, it } from 'bun:test';
import { readPayloads } from '../../payloads/payloads.ts';
import { FieldFault } from '../../refusal.ts';
import { lifetimeOf } from './lifetime.ts';

const DUE_MS = Date.UTC(2026, 5, 1);
const FOUR_WEEKS_MS = 28 * 24 * 3_600_000;

function lifetime(platform: 'apns' | 'fcm' | 'web', payload: object) {
  const payloads = readPayloads({ [platform]: payload });
  if (payloads instanceof FieldFault) throw payloads;
  const { endsAtMs, firstTryUntilMs } = lifetimeOf(payloads, platform, DUE_MS);
  return { endsMs: endsAtMs - DUE_MS, firstTryMs: firstTryUntilMs - DUE_MS };
}

const seconds = (count: number) => ({ endsMs: count * 1000, firstTryMs: count * 1000 });

describe('the lifetime of a notification', () => {
  it('is four weeks by default', () => {
    const fourWeeks = { endsMs: FOUR_WEEKS_MS, firstTryMs: FOUR_WEEKS_MS };
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
    const once = { endsMs: 0, firstTryMs: 60_000 };
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
});
