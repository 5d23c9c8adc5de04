import { expect, it } from 'bun:test';
import type { PlatformCounts, PublishStatus } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { publishStatusJson } from './publish-status.ts';

const counts = (planned: number): PlatformCounts => ({
  planned,
  accepted: planned + 1,
  retrying: planned + 2,
  failed: planned + 3,
  pruned: planned + 4,
  expired: planned + 5,
  cancelled: planned + 6,
});

const status: PublishStatus = {
  id: newPublishId(Date.UTC(2026, 0, 1)),
  state: 'delivering',
  createdAtMs: Date.UTC(2026, 10, 21, 16, 57, 3, 7),
  sendAtMs: undefined,
  platforms: { apns: counts(10), fcm: counts(20), web: counts(30) },
  delivered: 5,
  opened: 2,
  reasons: [{ platform: 'apns', reason: 'BadTopic', devices: 3 }],
};

it('writes a status as documented', () => {
  expect(JSON.stringify(publishStatusJson(status))).toBe(
    `{"publishId":"${status.id}","state":"delivering","createdAt":"2026-11-21T16:57:03.007Z","sendAt":null,"nextAt":null,"lastAt":null,` +
      '"platforms":{' +
      '"apns":{"planned":10,"accepted":11,"retrying":12,"failed":13,"pruned":14,"expired":15,"cancelled":16},' +
      '"fcm":{"planned":20,"accepted":21,"retrying":22,"failed":23,"pruned":24,"expired":25,"cancelled":26},' +
      '"web":{"planned":30,"accepted":31,"retrying":32,"failed":33,"pruned":34,"expired":35,"cancelled":36}},' +
      '"delivered":5,"opened":2,"reasons":[{"platform":"apns","reason":"BadTopic","devices":3}]}',
  );
});

it('has the time of a scheduled publish', () => {
  const json = publishStatusJson({ ...status, sendAtMs: Date.UTC(2027, 0, 1) });
  expect(json).toMatchObject({ sendAt: '2027-01-01T00:00:00.000Z' });
});

it('writes no other fields of the store', () => {
  const more = { ...counts(1), token: 'secret' };
  const reason = { platform: 'web' as const, reason: 'gone', devices: 1, token: 'secret' };
  const json = publishStatusJson({
    ...status,
    platforms: { apns: more, fcm: more, web: more },
    reasons: [reason],
  });
  expect(JSON.stringify(json)).not.toContain('secret');
});
