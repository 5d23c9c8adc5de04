import { describe, expect, it } from 'bun:test';
import type { Pause } from '../delivering/ports.ts';
import type { PlatformCounts, PublishStatus } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { waitingWays, waitingWaysJson, withWaiting } from './publish-pauses.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 3);

const NONE: PlatformCounts = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

const STATUS: PublishStatus = {
  id: newPublishId(NOW_MS),
  state: 'delivering',
  createdAtMs: NOW_MS,
  sendAtMs: undefined,
  platforms: {
    apns: {
      planned: 100,
      accepted: 10,
      retrying: 20,
      failed: 4,
      pruned: 3,
      expired: 2,
      cancelled: 1,
    },
    fcm: { ...NONE, planned: 5, accepted: 5 },
    web: { ...NONE, planned: 8 },
  },
  delivered: 0,
  opened: 0,
  reasons: [{ platform: 'apns', reason: 'BadDeviceToken', devices: 4 }],
};

const PAUSE: Pause = {
  instance: 1,
  platform: 'apns',
  origin: undefined,
  why: 'credential',
  reason: 'InvalidProviderToken',
  words: 'no',
  sinceMs: NOW_MS,
};

describe('what devices of a publish wait for', () => {
  it('is a way that is not used now, with all that are not done', () => {
    const ways = waitingWays(STATUS, [PAUSE]);
    expect(ways).toHaveLength(1);
    expect(withWaiting(STATUS, ways).reasons).toEqual([
      { platform: 'apns', reason: 'BadDeviceToken', devices: 4 },
      { platform: 'apns', reason: 'InvalidProviderToken', devices: 80 },
    ]);
    expect(waitingWaysJson(STATUS, ways)).toEqual({
      publishId: STATUS.id,
      pauses: [
        {
          platform: 'apns',
          origin: null,
          why: 'credential',
          reason: 'InvalidProviderToken',
          words: 'no',
          since: '2026-11-21T12:03:00.000Z',
          devices: 80,
        },
      ],
    });
  });

  it('is nothing where all are done, or the publish is over', () => {
    expect(waitingWays(STATUS, [{ ...PAUSE, platform: 'fcm' }])).toEqual([]);
    for (const state of ['finished', 'cancelled'] as const) {
      expect(waitingWays({ ...STATUS, state }, [PAUSE])).toEqual([]);
    }
    expect(withWaiting(STATUS, [])).toEqual(STATUS);
  });

  it('is told without a number where it is one push service of several', () => {
    const pause: Pause = { ...PAUSE, platform: 'web', origin: 'https://push.example' };
    const ways = waitingWays(STATUS, [pause]);
    expect(withWaiting(STATUS, ways).reasons).toEqual(STATUS.reasons);
    expect(waitingWaysJson(STATUS, ways)).toMatchObject({
      pauses: [{ platform: 'web', origin: 'https://push.example', devices: null }],
    });
  });

  it('has one entry for each reason, whatever else became of devices for it', () => {
    const ways = waitingWays(STATUS, [{ ...PAUSE, reason: 'BadDeviceToken' }]);
    expect(withWaiting(STATUS, ways).reasons).toEqual([
      { platform: 'apns', reason: 'BadDeviceToken', devices: 84 },
    ]);
  });
});
