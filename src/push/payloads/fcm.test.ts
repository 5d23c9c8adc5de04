import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FieldFault } from '../refusal.ts';
import { readFcmPayload } from './fcm.ts';

const empty = {
  timeToLiveSeconds: undefined,
  notification: {},
  android: {},
  androidNotification: {},
  clickAction: undefined,
  isShown: false,
  data: undefined,
  androidData: undefined,
  others: {},
  validateOnly: false,
};

const fault = (field: string, reason: string) => new FieldFault(field, reason);

describe('a payload for fcm in the legacy form', () => {
  it('is translated field by field', () => {
    expect(
      readFcmPayload({
        time_to_live: 60,
        collapse_key: 'news',
        priority: 'high',
        restricted_package_name: 'com.example.app',
        dry_run: true,
        notification: {
          title: 'a',
          body: 'b',
          image: 'https://example.com/i.png',
          android_channel_id: 'c',
          icon: 'd',
          sound: 'e',
          tag: 'f',
          color: '#0aBcD9',
          click_action: 'g',
          body_loc_key: 'h',
          body_loc_args: ['i', 'j'],
          title_loc_key: 'k',
          title_loc_args: '["l"]',
        },
        data: { m: 1 },
      }),
    ).toEqual({
      timeToLiveSeconds: 60,
      notification: { title: 'a', body: 'b', image: 'https://example.com/i.png' },
      android: {
        collapse_key: 'news',
        restricted_package_name: 'com.example.app',
        priority: 'HIGH',
      },
      androidNotification: {
        channel_id: 'c',
        icon: 'd',
        sound: 'e',
        tag: 'f',
        color: '#0aBcD9',
        body_loc_key: 'h',
        body_loc_args: ['i', 'j'],
        title_loc_key: 'k',
        title_loc_args: ['l'],
      },
      clickAction: 'g',
      isShown: true,
      data: { m: 1 },
      androidData: undefined,
      others: {},
      validateOnly: true,
    });
  });

  it('needs nothing', () => {
    expect(readFcmPayload({})).toEqual(empty);
    const names = ['time_to_live', 'priority', 'notification', 'data', 'android', 'message', 'to'];
    expect(readFcmPayload(Object.fromEntries(names.map((name) => [name, null])))).toEqual(empty);
    expect(readFcmPayload({ notification: {} })).toEqual({ ...empty, isShown: true });
    expect(readFcmPayload({ notification: { title: null, icon: null } })).toEqual({
      ...empty,
      isShown: true,
    });
  });

  it('drops undocumented fields', () => {
    expect(readFcmPayload({ badge: 1, delay_while_idle: true, token: 'x' })).toEqual(empty);
    expect(readFcmPayload({ notification: { badge: '1', subtitle: 'x' } })).toEqual({
      ...empty,
      isShown: true,
    });
    expect(readFcmPayload({ priority: 'normal', dry_run: false })).toEqual({
      ...empty,
      android: { priority: 'NORMAL' },
    });
  });

  it.each<[string, unknown, string]>([
    ['time_to_live', -1, 'must be a whole number from 0 to 2419200'],
    ['time_to_live', 2_419_201, 'must be a whole number from 0 to 2419200'],
    ['time_to_live', '60', 'must be a whole number from 0 to 2419200'],
    ['collapse_key', 1, 'must be a string'],
    ['priority', 'urgent', 'must be "normal" or "high"'],
    ['priority', 10, 'must be "normal" or "high"'],
    ['restricted_package_name', 1, 'must be a string'],
    ['dry_run', 'true', 'must be true or false'],
    ['notification', 'x', 'must be an object'],
    ['data', [1], 'must be an object'],
    ['android', 'x', 'must be an object'],
    ['apns', 'x', 'must be an object'],
    ['webpush', 'x', 'must be an object'],
    ['fcm_options', 'x', 'must be an object'],
    ['message', 'x', 'must be an object'],
    ['to', 'x', 'is not allowed: the publish says which devices it is for'],
    ['to', '', 'is not allowed: the publish says which devices it is for'],
    ['registration_ids', [], 'is not allowed: the publish says which devices it is for'],
    ['condition', 'x', 'is not allowed: the publish says which devices it is for'],
    ['content_available', false, 'is not allowed: it is for devices of apns'],
    ['mutable_content', true, 'is not allowed: it is for devices of apns'],
  ])('must not have the %s %j', (field, value, reason) => {
    expect(readFcmPayload({ [field]: value })).toEqual(fault(`fcm.${field}`, reason));
  });

  it.each([
    'title',
    'body',
    'image',
    'android_channel_id',
    'icon',
    'sound',
    'tag',
    'click_action',
    'body_loc_key',
    'title_loc_key',
  ])('must have text as the %s of its notification', (field) => {
    for (const value of [1, true, {}, ['x']]) {
      const notification = { [field]: value };
      expect(readFcmPayload({ notification })).toEqual(
        fault(`fcm.notification.${field}`, 'must be a string'),
      );
      expect(readFcmPayload({ message: { notification } })).toEqual(
        fault(`fcm.message.notification.${field}`, 'must be a string'),
      );
    }
  });

  it.each<unknown>(['red', '#fff', '#gggggg', '#1234567', ' #123456', 7])(
    'must not have the color %j',
    (color) => {
      expect(readFcmPayload({ notification: { color } })).toEqual(
        fault('fcm.notification.color', 'must be a color, as #rrggbb'),
      );
    },
  );

  it.each(['body_loc_args', 'title_loc_args'])('must have texts as its %s', (field) => {
    const withArgs = (value: unknown) => readFcmPayload({ notification: { [field]: value } });
    for (const value of [[], '[]']) {
      expect(withArgs(value)).toMatchObject({ androidNotification: { [field]: [] } });
    }
    for (const value of ['', 'x', '[', '["x",1]', '{}', '"x"', [1], {}, 7, '['.repeat(90_000)]) {
      expect(withArgs(value)).toEqual(
        fault(`fcm.notification.${field}`, 'must be an array of strings, or JSON text of one'),
      );
    }
  });

  it.each(['from', 'message_type', 'gcm', 'gcm.x', 'google.x', 'pusher'])(
    'must not have the reserved key %s in its data',
    (key) => {
      const reason = `the key "${key}" is reserved`;
      for (const value of ['x', null]) {
        const data = { a: 1, [key]: value };
        expect(readFcmPayload({ data })).toEqual(fault('fcm.data', reason));
        expect(readFcmPayload({ android: { data } })).toEqual(fault('fcm.android.data', reason));
        expect(readFcmPayload({ message: { data } })).toEqual(fault('fcm.message.data', reason));
      }
    },
  );

  it('may have any other key in its data', () => {
    const data = { From: 1, gcmx: 2, fromage: 3, google_place_id: 4, google: 5, collapse_key: 6 };
    expect(readFcmPayload({ data })).toMatchObject({ data });
  });

  it('is refused without quoting a long key in full', () => {
    const read = readFcmPayload({ data: { [`google.${'x'.repeat(9000)}`]: 1 } });
    expect(read instanceof FieldFault && read.reason.length).toBeLessThan(100);
  });
});

describe('a payload for fcm in the form of v1', () => {
  const v1 = {
    notification: { title: 'a', body: 'b' },
    data: { c: 'd' },
    android: {
      ttl: '3600s',
      priority: 'HIGH',
      collapse_key: 'e',
      direct_boot_ok: true,
      notification: { click_action: 'f', channel_id: 'g', sticky: true },
    },
    apns: { headers: { h: 'i' }, payload: { aps: null } },
    webpush: { data: { j: 'k' } },
    fcm_options: { analytics_label: 'l' },
  };
  const expected = {
    timeToLiveSeconds: 3600,
    notification: { title: 'a', body: 'b' },
    android: { priority: 'HIGH', collapse_key: 'e', direct_boot_ok: true },
    androidNotification: { channel_id: 'g', sticky: true },
    clickAction: 'f',
    isShown: true,
    data: { c: 'd' },
    androidData: undefined,
    others: { apns: v1.apns, webpush: v1.webpush, fcm_options: v1.fcm_options },
    validateOnly: false,
  };

  it('passes through, with or without the wrapper of a request', () => {
    expect(readFcmPayload(v1)).toEqual(expected);
    expect(readFcmPayload({ message: v1 })).toEqual(expected);
  });

  it('takes precedence over the legacy form', () => {
    const old = {
      time_to_live: 1,
      priority: 'normal',
      collapse_key: 'old',
      restricted_package_name: 'com.example',
      notification: { title: 'old', click_action: 'old', android_channel_id: 'old', icon: 'old' },
      data: { old: 1 },
      apns: { payload: { old: 1 } },
    };
    expect(readFcmPayload({ ...old, message: v1 })).toEqual({
      ...expected,
      android: { ...expected.android, restricted_package_name: 'com.example' },
    });
    expect(readFcmPayload({ ...old, android: v1.android })).toMatchObject({
      timeToLiveSeconds: 3600,
      notification: { title: 'old' },
      android: { priority: 'HIGH', collapse_key: 'e' },
      androidNotification: { channel_id: 'g', icon: 'old' },
      clickAction: 'f',
      data: { old: 1 },
    });
    expect(readFcmPayload({ ...old, message: { apns: null, data: null } })).toMatchObject({
      data: { old: 1 },
      others: { apns: { payload: { old: 1 } } },
    });
  });

  it('has something to show if there is only a notification for Android', () => {
    expect(readFcmPayload({ android: { notification: { clickAction: 'f' } } })).toEqual({
      ...empty,
      clickAction: 'f',
      isShown: true,
    });
    expect(readFcmPayload({ android: { data: { a: 'b' } } })).toEqual({
      ...empty,
      androidData: { a: 'b' },
    });
  });

  it.each<[string, unknown, string]>([
    ['token', 'x', 'is not allowed: the publish says which devices it is for'],
    ['fid', 'x', 'is not allowed: the publish says which devices it is for'],
    ['topic', 'x', 'is not allowed: the publish says which devices it is for'],
    ['condition', 'x', 'is not allowed: the publish says which devices it is for'],
    ['notification', 'x', 'must be an object'],
    ['data', 'x', 'must be an object'],
    ['android', 'x', 'must be an object'],
  ])('must not have a message with the %s %j', (field, value, reason) => {
    expect(readFcmPayload({ message: { [field]: value } })).toEqual(
      fault(`fcm.message.${field}`, reason),
    );
  });

  it.each<[string, unknown, string]>([
    ['ttl', 3600, 'must be seconds from "0s" to "2419200s"'],
    ['ttl', '3600', 'must be seconds from "0s" to "2419200s"'],
    ['ttl', '2419201s', 'must be seconds from "0s" to "2419200s"'],
    ['ttl', '-1s', 'must be seconds from "0s" to "2419200s"'],
    ['ttl', '60sx', 'must be seconds from "0s" to "2419200s"'],
    ['ttl', '1.0123456789s', 'must be seconds from "0s" to "2419200s"'],
    ['ttl', '1e3s', 'must be seconds from "0s" to "2419200s"'],
    ['notification', 'x', 'must be an object'],
    ['notification.click_action', 1, 'must be a string'],
    ['notification.clickAction', 1, 'must be a string'],
    ['data', 'x', 'must be an object'],
  ])('must not have an android with the %s %j', (path, value, reason) => {
    const [field = '', inner] = path.split('.');
    const android = { [field]: inner === undefined ? value : { [inner]: value } };
    expect(readFcmPayload({ android })).toEqual(fault(`fcm.android.${path}`, reason));
    expect(readFcmPayload({ message: { android } })).toEqual(
      fault(`fcm.message.android.${path}`, reason),
    );
  });

  it('may have names in both spellings, and is sent in one', () => {
    const given = {
      timeToLive: 60,
      validateOnly: true,
      fcmOptions: { analyticsLabel: 'a' },
      android: {
        restrictedPackageName: 'com.example',
        priority: 'high',
        notification: {
          channelId: 'c',
          notificationPriority: 'priority_max',
          lightSettings: { color: { red: 1 }, lightOnDuration: '0.5s' },
          eventTime: '2026-01-15T12:00:00Z',
        },
      },
    };
    const read = {
      ...empty,
      timeToLiveSeconds: 60,
      validateOnly: true,
      isShown: true,
      others: { fcm_options: { analytics_label: 'a' } },
      android: { restricted_package_name: 'com.example', priority: 'HIGH' },
      androidNotification: {
        channel_id: 'c',
        notification_priority: 'PRIORITY_MAX',
        light_settings: { color: { red: 1 }, light_on_duration: '0.5s' },
        event_time: '2026-01-15T12:00:00Z',
      },
    };
    expect(readFcmPayload(given)).toEqual(read);
    const { timeToLive, validateOnly, ...message } = given;
    expect(readFcmPayload({ timeToLive, validateOnly, message })).toEqual(read);
  });

  it.each(['validate_only', 'validateOnly', 'dry_run', 'dryRun'])(
    'is only validated with %s, beside a message or not',
    (name) => {
      expect(readFcmPayload({ [name]: true })).toEqual({ ...empty, validateOnly: true });
      expect(readFcmPayload({ [name]: true, message: {} })).toEqual({
        ...empty,
        validateOnly: true,
      });
    },
  );

  it('has no nulls, and no [] for empty objects, in what FCM reads', () => {
    expect(
      readFcmPayload({
        android: { ttl: null, notification: { title: null, tag: 'a' }, fcm_options: [] },
        webpush: [],
        message: { apns: { headers: [], payload: { aps: null } }, notification: [] },
      }),
    ).toEqual({
      ...empty,
      isShown: true,
      androidNotification: { tag: 'a' },
      others: { apns: { payload: { aps: null } } },
    });
  });

  it.each<[object, string, string]>([
    [{ android: { colour: 1 } }, 'fcm.android', 'FCM knows no field "colour"'],
    [{ message: { android: { tag: 'a' } } }, 'fcm.message.android', 'FCM knows no field "tag"'],
    [{ message: { tag: 'a' } }, 'fcm.message', 'FCM knows no field "tag"'],
    [{ webpush: { ttl: 1 } }, 'fcm.webpush', 'FCM knows no field "ttl"'],
    [{ apns: { payload: 'x' } }, 'fcm.apns.payload', 'must be an object'],
    [{ fcm_options: { analytics_label: 'a b' } }, 'fcm.fcm_options.analytics_label', 'must be 1'],
    [
      { webpush: { fcmOptions: { link: 'http://a' } } },
      'fcm.webpush.fcmOptions.link',
      'must begin',
    ],
    [
      { android: { notification: { sticky: 1 } } },
      'fcm.android.notification.sticky',
      'must be true',
    ],
    [{ android: { ttl: '1s', TTL: 1 } }, 'fcm.android', 'FCM knows no field "TTL"'],
    [{ fcm_options: {}, fcmOptions: {} }, 'fcm.fcmOptions', 'is given twice'],
    [
      { android: { direct_boot_ok: true, directBootOk: true } },
      'fcm.android.directBootOk',
      'is given twice',
    ],
  ])('is refused if FCM would refuse it for each device: %j', (payload, field, reason) => {
    expect(readFcmPayload({ ...payload })).toEqual(fault(field, expect.stringContaining(reason)));
  });

  it('has its time to live in whole seconds', () => {
    expect(readFcmPayload({ android: { ttl: '0s' } })).toMatchObject({ timeToLiveSeconds: 0 });
    expect(readFcmPayload({ android: { ttl: '1.9s' } })).toMatchObject({ timeToLiveSeconds: 1 });
    expect(readFcmPayload({ android: { ttl: '2419200s' } })).toMatchObject({
      timeToLiveSeconds: 2_419_200,
    });
  });
});

it('is read or refused, for any input', () => {
  const names = [
    'notification',
    'data',
    'android',
    'message',
    'title',
    'color',
    'title_loc_args',
    'ttl',
    'time_to_live',
    'priority',
  ];
  const field = fc.constantFrom(...names);
  const leaf = fc.dictionary(field, fc.jsonValue());
  const inner = fc.dictionary(field, fc.oneof(leaf, fc.jsonValue()));
  const outer = fc.dictionary(field, fc.oneof(inner, fc.jsonValue()));
  fc.assert(
    fc.property(outer, (payload) => {
      const read = readFcmPayload(payload);
      if (read instanceof FieldFault) expect(read.field).toStartWith('fcm.');
      else expect(Object.keys(read)).toEqual(Object.keys(empty));
    }),
  );
});
