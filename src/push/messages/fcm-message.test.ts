import { describe, expect, it } from 'bun:test';
import { readFcmPayload } from '../payloads/fcm.ts';
import { fcmMessage, fcmMessageBytes } from './fcm-message.ts';
import { right, tracking, trackingText } from './messages.fixture.ts';

const message = (payload: Record<string, unknown>) =>
  fcmMessage(right(readFcmPayload(payload)), tracking);

const OPEN = 'com.pusher.pushnotifications.OPEN_TRACKING';

describe('the message for an Android device', () => {
  it('is a message of v1 with the block for the Android SDK', () => {
    const payload = {
      time_to_live: 60,
      priority: 'high',
      notification: {
        title: 'a',
        icon: 'b',
        click_action: 'com.example.SHOW',
        body_loc_args: '["c"]',
      },
      data: { d: 'e' },
      dry_run: true,
    };
    expect(message(payload)).toEqual({
      message: {
        notification: { title: 'a' },
        data: {
          d: 'e',
          pusher: `{${trackingText},"clickAction":"com.example.SHOW","hasDisplayableContent":true,"hasData":true}`,
        },
        android: {
          priority: 'HIGH',
          ttl: '60s',
          notification: { icon: 'b', body_loc_args: ['c'], click_action: OPEN },
        },
      },
      validateOnly: true,
    });
  });

  it('has a notification only if there is anything to show', () => {
    expect(message({})).toEqual({
      message: {
        data: { pusher: `{${trackingText},"hasDisplayableContent":false,"hasData":false}` },
      },
      validateOnly: false,
    });
    expect(message({ notification: {} }).message).toEqual({
      data: { pusher: `{${trackingText},"hasDisplayableContent":true,"hasData":false}` },
      android: { notification: { click_action: OPEN } },
    });
    expect(message({ data: { a: 'b' }, time_to_live: 0 }).message).toEqual({
      data: { a: 'b', pusher: `{${trackingText},"hasDisplayableContent":false,"hasData":true}` },
      android: { ttl: '0s' },
    });
  });

  it('has only texts in its data', () => {
    const data = {
      text: 'a"b',
      number: 1.5,
      flag: false,
      object: { a: [1, null] },
      list: [],
      nothing: null,
    };
    expect(message({ data }).message.data).toEqual({
      text: 'a"b',
      number: '1.5',
      flag: 'false',
      object: '{"a":[1,null]}',
      list: '[]',
      pusher: `{${trackingText},"hasDisplayableContent":false,"hasData":true}`,
    });
    // Dropped fields do not count as data.
    expect(message({ data: { nothing: null } }).message.data['pusher']).toContain(
      '"hasData":false',
    );
  });

  it('has the block also in the data for Android, which replaces the other data', () => {
    const pusher = `{${trackingText},"hasDisplayableContent":false,"hasData":true}`;
    expect(message({ data: {}, android: { data: { a: 1 } } }).message).toEqual({
      data: { pusher },
      android: { data: { a: '1', pusher } },
    });
    const none = `{${trackingText},"hasDisplayableContent":false,"hasData":false}`;
    expect(message({ data: { a: 1 }, android: { data: {} } }).message).toEqual({
      data: { a: '1', pusher: none },
      android: { data: { pusher: none } },
    });
  });

  it('passes other fields of v1 through', () => {
    const others = {
      apns: { payload: { aps: { badge: 1 } } },
      webpush: { notification: { silent: true } },
      fcm_options: { analytics_label: 'c' },
    };
    expect(message({ ...others, android: { direct_boot_ok: true } }).message).toMatchObject({
      ...others,
      android: { direct_boot_ok: true },
    });
    expect(
      message({ android: { ttl: '9s', notification: { clickAction: 'x', tag: 'y' } } }).message,
    ).toEqual({
      data: {
        pusher: `{${trackingText},"clickAction":"x","hasDisplayableContent":true,"hasData":false}`,
      },
      android: { ttl: '9s', notification: { tag: 'y', click_action: OPEN } },
    });
  });

  it('keeps keys like __proto__', () => {
    const payload: Record<string, unknown> = JSON.parse(
      '{"data":{"__proto__":"x","toString":"y"}}',
    );
    expect(Object.entries(message(payload).message.data).slice(0, 2)).toEqual([
      ['__proto__', 'x'],
      ['toString', 'y'],
    ]);
  });
});

it('is measured by the keys and values that reach the device, in bytes of UTF-8', () => {
  expect(fcmMessageBytes({ data: {} })).toBe(0);
  expect(fcmMessageBytes({ data: { ab: 'é' } })).toBe(4);
  expect(
    fcmMessageBytes({
      notification: { title: 'abc' },
      data: { x: 'not on Android' },
      android: { data: { x: 'y' }, notification: { body_loc_args: ['a'] } },
      apns: { nobody: 'counts this' },
    }),
  ).toBe(8 + 2 + 13 + 5);
});
