import { describe, expect, it } from 'bun:test';
import type { OpenCircuit } from '../delivering/ports.ts';
import { NO_COUNTS, type PublishStatus } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { pausesOf, publishPausesJson, withPausedDevices } from './publish-pauses.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 3);

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
    fcm: { ...NO_COUNTS, planned: 5, accepted: 5 },
    web: { ...NO_COUNTS, planned: 8 },
  },
  delivered: 0,
  opened: 0,
  reasons: [{ platform: 'apns', reason: 'BadDeviceToken', devices: 4 }],
};

const PAUSE: OpenCircuit = {
  instance: 1,
  platform: 'apns',
  origin: undefined,
  why: 'credential',
  reason: 'InvalidProviderToken',
  words: 'no',
  sinceMs: NOW_MS,
};

describe('a pause that devices of a publish wait for', () => {
  it('counts all devices of the platform that have no result yet', () => {
    const pauses = pausesOf(STATUS, [PAUSE]);
    expect(pauses).toHaveLength(1);
    expect(withPausedDevices(STATUS, pauses).reasons).toEqual([
      { platform: 'apns', reason: 'BadDeviceToken', devices: 4 },
      { platform: 'apns', reason: 'InvalidProviderToken', devices: 80 },
    ]);
    expect(publishPausesJson(STATUS, pauses)).toEqual({
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

  it('is left out if all devices have a result or the publish is over', () => {
    expect(pausesOf(STATUS, [{ ...PAUSE, platform: 'fcm' }])).toEqual([]);
    for (const state of ['finished', 'cancelled'] as const) {
      expect(pausesOf({ ...STATUS, state }, [PAUSE])).toEqual([]);
    }
    expect(withPausedDevices(STATUS, [])).toEqual(STATUS);
  });

  it('has no number of devices if it is for one push service', () => {
    const pause: OpenCircuit = { ...PAUSE, platform: 'web', origin: 'https://push.example' };
    const pauses = pausesOf(STATUS, [pause]);
    expect(withPausedDevices(STATUS, pauses).reasons).toEqual(STATUS.reasons);
    expect(publishPausesJson(STATUS, pauses)).toMatchObject({
      pauses: [{ platform: 'web', origin: 'https://push.example', devices: null }],
    });
  });

  it('is added to devices that failed for the same reason', () => {
    const pauses = pausesOf(STATUS, [{ ...PAUSE, reason: 'BadDeviceToken' }]);
    expect(withPausedDevices(STATUS, pauses).reasons).toEqual([
      { platform: 'apns', reason: 'BadDeviceToken', devices: 84 },
    ]);
  });
});
