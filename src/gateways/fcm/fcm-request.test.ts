import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import type { Notification } from '../../push/gateway.ts';
import { FCM_MESSAGE_BYTES_MAX, fcmMessageBytes } from '../../push/messages/fcm-message.ts';
import { newPublishId } from '../../push/model/publish-id.ts';
import { type FcmPayload, readFcmPayload } from '../../push/payloads/fcm.ts';
import { FieldFault } from '../../push/refusal.ts';
import { FcmBodies, fcmPath } from './fcm-request.ts';

const NOW_MS = 1_700_000_000_000;
const TOKEN = 'dGVzdA:APA91bHqJc_-';

function notification(payload: Readonly<Record<string, unknown>>): Notification<FcmPayload> {
  const read = readFcmPayload(payload);
  if (read instanceof FieldFault) throw new Error(`${read.field}: ${read.reason}`);
  const instanceId = '8f9a6e22-2483-49aa-8552-125f1a4c5781';
  return { instanceId, publishId: newPublishId(NOW_MS), payload: read, acceptedAtMs: NOW_MS };
}

function bodyOf(
  payload: Readonly<Record<string, unknown>>,
  { token = TOKEN, nowMs = NOW_MS } = {},
) {
  return JSON.parse(new FcmBodies(notification(payload)).of(token, nowMs).toString());
}

describe('a request to FCM', () => {
  it('has the project in its path', () => {
    expect(fcmPath('shop-1234')).toBe('/v1/projects/shop-1234/messages:send');
  });

  it('has the publish and the token', () => {
    const { message, ...rest } = bodyOf({
      notification: { title: 'Hi', body: 'There', tag: 'score' },
      data: { a: 1 },
      priority: 'high',
      time_to_live: 60,
      collapse_key: 'scores',
    });
    expect(rest).toEqual({});
    expect(message).toEqual({
      token: TOKEN,
      notification: { title: 'Hi', body: 'There' },
      data: { a: '1', pusher: expect.any(String) },
      android: {
        collapse_key: 'scores',
        priority: 'HIGH',
        ttl: '60s',
        notification: {
          tag: 'score',
          click_action: 'com.pusher.pushnotifications.OPEN_TRACKING',
        },
      },
    });
  });

  it('has the payload for other platforms, and validate_only', () => {
    const body = bodyOf({ data: {}, dry_run: true, apns: { payload: {} } });
    expect(body).toMatchObject({ message: { apns: { payload: {} } }, validate_only: true });
  });

  it('has an installation id as fid', () => {
    const { message } = bodyOf({ data: {} }, { token: 'c7uAbc_-1234567890abcd' });
    expect(message).toMatchObject({ fid: 'c7uAbc_-1234567890abcd' });
    expect(message).not.toHaveProperty('token');
  });

  it.each(['c7uAbc_-1234567890abc', 'c7uAbc_-1234567890abcde', 'c7uAbc:-1234567890abcd'])(
    'names a device by %p, which is a token',
    (token) => {
      expect(bodyOf({ data: {} }, { token }).message).toMatchObject({ token });
    },
  );

  it('has the rest of the time to live', () => {
    const bodies = new FcmBodies(notification({ data: {}, time_to_live: 60 }));
    const ttlAfter = (ms: number) =>
      JSON.parse(bodies.of(TOKEN, NOW_MS + ms).toString()).message.android.ttl;
    expect([0, 1, 59_000, 59_999, 60_000, 99_000].map(ttlAfter)).toEqual([
      '60s',
      '60s',
      '1s',
      '1s',
      '0s',
      '0s',
    ]);
  });

  it('has no time to live if the publisher gave none', () => {
    expect(bodyOf({ data: {} }, { nowMs: NOW_MS + 1e9 }).message).not.toHaveProperty('android');
  });

  it('is serialised once for all devices', () => {
    const bodies = new FcmBodies(notification({ data: { a: 'b' } }));
    const rest = (token: string) =>
      bodies.of(token, NOW_MS).toString().replace(JSON.stringify(token), '');
    expect(rest('a:b')).toBe(rest('c:d'));
  });

  it('is JSON for any token', () => {
    const bodies = new FcmBodies(notification({ notification: { title: 'ä"\\\n' }, data: {} }));
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (token) => {
        const { message } = JSON.parse(bodies.of(token, NOW_MS).toString());
        expect(message.token ?? message.fid).toBe(token);
        expect(message.notification).toEqual({ title: 'ä"\\\n' });
      }),
    );
  });
});

describe('a notification that is sent twice', () => {
  const tagOf = (payload: Readonly<Record<string, unknown>>) =>
    bodyOf(payload).message.android?.notification?.tag;

  it('is tagged if it is visible', () => {
    expect(tagOf({ notification: { title: 'Hi' } })).toMatch(/^pubid-/);
    expect(tagOf({ android: { notification: { title: 'Hi', tag: null } } })).toMatch(/^pubid-/);
  });

  it('keeps the tag of the publisher', () => {
    expect(tagOf({ notification: { title: 'Hi', tag: 'score' } })).toBe('score');
    expect(tagOf({ notification: { title: 'Hi', tag: '' } })).toBe('');
  });

  it('is not tagged if the app handles it', () => {
    expect(bodyOf({ data: { a: 'b' } }).message).not.toHaveProperty('android');
  });

  it('is not tagged if it would become too large', () => {
    const sized = (length: number) => ({ notification: { body: 'x'.repeat(length) } });
    const base = fcmMessageBytes(bodyOf(sized(0)).message);
    const fitting = bodyOf(sized(FCM_MESSAGE_BYTES_MAX - base)).message;
    expect(fitting.android.notification).toHaveProperty('tag');
    expect(fcmMessageBytes(fitting)).toBe(FCM_MESSAGE_BYTES_MAX);
    const full = bodyOf(sized(FCM_MESSAGE_BYTES_MAX - base + 1)).message;
    expect(full.android.notification).not.toHaveProperty('tag');
  });
});
