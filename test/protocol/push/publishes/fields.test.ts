import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import { fieldRefusal, INSTANCE, publish, refusal, startPush } from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Publishes with these fields to interests and to users, expects equal answers, and returns one. */
async function withFields(fields: object) {
  const body = { interests: ['shop'], users: ['ann'], ...fields };
  const answer = await publish(server, '/interests', body);
  const other = await publish(server, '/users', body);
  if (answer.status === 200) expect(other.status).toBe(200);
  else expect(other.json).toEqual(answer.json);
  return answer;
}

const notification = { title: 'Hi' };
const payloads = {
  apns: { aps: { alert: notification } },
  fcm: { notification },
  web: { notification },
};

describe('of apns, fcm and web', () => {
  it('any one is enough', async () => {
    for (const name of ['apns', 'fcm', 'web'] as const) {
      expect((await withFields({ [name]: payloads[name] })).status).toBe(200);
    }
  });

  it('all may be there', async () => {
    expect((await withFields(payloads)).status).toBe(200);
  });

  it('one must be there', async () => {
    const none = refusal(422, 'Unprocessable Entity', /apns, fcm and web/);
    for (const fields of [{}, { apns: null, fcm: null, web: null }, { APNS: payloads.apns }]) {
      expect(await withFields(fields)).toMatchObject(none);
    }
    const hidden = '{"interests":["a"],"__proto__":{"web":{"notification":{"title":"Hi"}}}}';
    expect(await publish(server, '/interests', hidden)).toMatchObject(none);
  });

  it.each<[string, unknown]>(
    ['apns', 'fcm', 'web'].flatMap((name) =>
      ['x', '', 7, 0, true, false, [payloads.web]].map((value): [string, unknown] => [name, value]),
    ),
  )('each is an object: %s is not %j', async (name, value) => {
    expect(await withFields({ ...payloads, [name]: value })).toMatchObject(fieldRefusal(name));
  });
});

/** Push protocol, §5.1. */
describe('web', () => {
  it.each<[object]>([
    [{}],
    [{ notification: {} }],
    [{ data: { a: 1 } }],
    [
      {
        time_to_live: 2_419_200,
        notification: {
          title: 'Hi',
          body: 'Ho',
          icon: 'https://example.org/i.png',
          deep_link: 'https://example.org',
          hide_notification_if_site_has_focus: true,
        },
        data: { a: { b: [1, 'c', null, true] } },
      },
    ],
    [{ time_to_live: 0, notification }],
    [{ urgency: 'very-low', topic: 'chat-7', app_badge: 0, notification }],
    [{ urgency: null, topic: null, app_badge: null }],
    [{ declarative: true, notification }],
    [{ time_to_live: null, notification, data: null }],
    [{ notification: { title: null, vibrate: [1] }, newer: 1 }],
    [{ data: { Pusher: 1, a: { pusher: 1 } } }],
  ])('may be %j', async (web) => {
    expect((await withFields({ web })).status).toBe(200);
  });

  it.each<[object, string]>([
    [{ time_to_live: -1 }, 'web.time_to_live'],
    [{ time_to_live: 2_419_201 }, 'web.time_to_live'],
    [{ time_to_live: 1.5 }, 'web.time_to_live'],
    [{ time_to_live: '60' }, 'web.time_to_live'],
    [{ notification: 'Hi' }, 'web.notification'],
    [{ notification: [1] }, 'web.notification'],
    [{ notification: { title: 7 } }, 'web.notification.title'],
    [{ notification: { body: {} } }, 'web.notification.body'],
    [{ notification: { icon: false } }, 'web.notification.icon'],
    [{ notification: { deep_link: [] } }, 'web.notification.deep_link'],
    [
      { notification: { hide_notification_if_site_has_focus: 'yes' } },
      'web.notification.hide_notification_if_site_has_focus',
    ],
    [{ data: [1] }, 'web.data'],
    [{ data: 'x' }, 'web.data'],
    [{ data: { pusher: {} } }, 'web.data'],
    [{ urgency: 'urgent' }, 'web.urgency'],
    [{ urgency: 1 }, 'web.urgency'],
    [{ topic: '' }, 'web.topic'],
    [{ topic: 'spike' }, 'web.topic'],
    [{ topic: 'chat 7' }, 'web.topic'],
    [{ topic: 'x'.repeat(33) }, 'web.topic'],
    [{ app_badge: -1 }, 'web.app_badge'],
    [{ app_badge: 1.5 }, 'web.app_badge'],
    [{ app_badge: '3' }, 'web.app_badge'],
    [{ declarative: 'yes' }, 'web.declarative'],
  ])('may not be %j', async (web, field) => {
    expect(await withFields({ web })).toMatchObject(fieldRefusal(field));
  });

  it('has 3993 bytes with what the server adds, and no more', async () => {
    const message = (title: string) =>
      JSON.stringify({
        notification: { title },
        data: {
          pusher: {
            instanceId: INSTANCE.id,
            publishId: 'pubid-00000000-0000-4000-8000-000000000000',
            hasDisplayableContent: true,
            hasData: false,
          },
        },
      });
    const room = 3993 - Buffer.byteLength(message(''));
    const withTitle = (title: string) => withFields({ web: { notification: { title } } });
    expect((await withTitle('x'.repeat(room))).status).toBe(200);
    expect(await withTitle('x'.repeat(room + 1))).toMatchObject(fieldRefusal('web'));
    // Bytes, not characters.
    expect(await withTitle('é'.repeat(Math.ceil((room + 1) / 2)))).toMatchObject(
      fieldRefusal('web'),
    );
  });
});

/** Push protocol, §5.2. */
describe('apns', () => {
  it.each<[object]>([
    [{ aps: {} }],
    [{ aps: { alert: 'Hi' } }],
    [{ alert: 'Hi' }],
    [{ alert: { title: 'Hi' }, badge: 1 }],
    [
      {
        aps: {
          alert: { title: 'Hi', body: 'Ho', 'loc-key': 'k', 'loc-args': ['a'] },
          badge: 3,
          sound: 'x.aiff',
          category: 'c',
          'thread-id': 't',
          'mutable-content': 1,
        },
        data: { a: 1 },
        collapse_id: 'x'.repeat(64),
        expiration: 1_900_000_000,
        priority: 10,
        pusher: { disable_delivery_tracking: true },
      },
    ],
    [{ aps: { sound: { critical: 1, name: 'x', volume: 0.5 } }, priority: 5, expiration: 0 }],
    [{ aps: { 'content-available': 1 }, data: null, priority: null }],
    [{ aps: { alert: 'Hi' }, custom: 'dropped' }],
  ])('may be %j', async (apns) => {
    expect((await withFields({ apns })).status).toBe(200);
  });

  it.each<[object, string]>([
    [{}, 'apns.aps'],
    [{ data: { a: 1 } }, 'apns.aps'],
    [{ aps: 'Hi' }, 'apns.aps'],
    [{ aps: [] }, 'apns.aps'],
    [{ aps: { alert: 7 } }, 'apns.aps.alert'],
    [{ aps: { alert: { title: 7 } } }, 'apns.aps.alert.title'],
    [{ aps: { alert: { 'loc-args': 'a' } } }, 'apns.aps.alert.loc-args'],
    [{ alert: [1] }, 'apns.alert'],
    [{ aps: { badge: 'x' } }, 'apns.aps.badge'],
    [{ aps: { 'content-available': 'yes' } }, 'apns.aps.content-available'],
    [{ aps: {}, data: [1] }, 'apns.data'],
    [{ aps: {}, data: { pusher: {} } }, 'apns.data'],
    [{ aps: {}, priority: 7 }, 'apns.priority'],
    [{ aps: {}, priority: '10' }, 'apns.priority'],
    [{ aps: {}, expiration: -1 }, 'apns.expiration'],
    [{ aps: {}, expiration: '1900000000' }, 'apns.expiration'],
    [{ aps: {}, collapse_id: 'x'.repeat(65) }, 'apns.collapse_id'],
    [{ aps: {}, collapse_id: 'a\r\nb: c' }, 'apns.collapse_id'],
    [{ aps: {}, collapse_id: 'é' }, 'apns.collapse_id'],
    [{ aps: {}, pusher: 7 }, 'apns.pusher'],
    [
      { aps: {}, pusher: { disable_delivery_tracking: 'x' } },
      'apns.pusher.disable_delivery_tracking',
    ],
  ])('may not be %j', async (apns, field) => {
    expect(await withFields({ apns })).toMatchObject(fieldRefusal(field));
  });

  it('has 4096 bytes with what the server adds, and no more', async () => {
    const message = (alert: string) =>
      JSON.stringify({
        aps: { alert, 'content-available': 1 },
        data: {
          pusher: {
            instanceId: INSTANCE.id,
            publishId: 'pubid-00000000-0000-4000-8000-000000000000',
            userShouldIgnore: true,
          },
        },
      });
    const room = 4096 - Buffer.byteLength(message(''));
    const withAlert = (alert: string) => withFields({ apns: { aps: { alert } } });
    expect((await withAlert('x'.repeat(room))).status).toBe(200);
    expect(await withAlert('x'.repeat(room + 1))).toMatchObject(fieldRefusal('apns'));
  });
});

/** Push protocol, §5.3. */
describe('fcm', () => {
  it.each<[object]>([
    [{}],
    [{ data: { a: 1, b: { c: [] }, d: null, e: 'f' } }],
    [
      {
        time_to_live: 0,
        collapse_key: 'k',
        priority: 'high',
        restricted_package_name: 'org.example',
        dry_run: true,
        notification: {
          title: 'Hi',
          body: 'Ho',
          android_channel_id: 'c',
          icon: 'i',
          sound: 'default',
          tag: 't',
          color: '#a1B2c3',
          click_action: 'OPEN',
          body_loc_key: 'b',
          body_loc_args: ['x'],
          title_loc_key: 't',
          title_loc_args: '["x","y"]',
        },
        data: { Google: '1', fromage: '2' },
      },
    ],
    [{ priority: 'normal', time_to_live: 2_419_200 }],
    [{ notification: null, data: null, newer: 1 }],
    [{ android: { ttl: '3600s', notification: { channel_id: 'c' } } }],
    [{ message: { notification, apns: { payload: { aps: {} } }, webpush: {}, fcm_options: {} } }],
  ])('may be %j', async (fcm) => {
    expect((await withFields({ fcm })).status).toBe(200);
  });

  it.each<[object, string]>([
    [{ time_to_live: -1 }, 'fcm.time_to_live'],
    [{ time_to_live: 2_419_201 }, 'fcm.time_to_live'],
    [{ time_to_live: '60' }, 'fcm.time_to_live'],
    [{ priority: 'urgent' }, 'fcm.priority'],
    [{ priority: 10 }, 'fcm.priority'],
    [{ collapse_key: 7 }, 'fcm.collapse_key'],
    [{ notification: 'Hi' }, 'fcm.notification'],
    [{ notification: { title: 7 } }, 'fcm.notification.title'],
    [{ notification: { color: 'red' } }, 'fcm.notification.color'],
    [{ notification: { body_loc_args: 'x' } }, 'fcm.notification.body_loc_args'],
    [{ notification: { title_loc_args: [7] } }, 'fcm.notification.title_loc_args'],
    [{ data: 'x' }, 'fcm.data'],
    [{ data: { pusher: '{}' } }, 'fcm.data'],
    [{ data: { from: 'x' } }, 'fcm.data'],
    [{ data: { message_type: 'x' } }, 'fcm.data'],
    [{ data: { gcm: 'x' } }, 'fcm.data'],
    [{ data: { 'gcm.x': 'x' } }, 'fcm.data'],
    [{ data: { 'google.x': 'x' } }, 'fcm.data'],
    [{ to: 'x' }, 'fcm.to'],
    [{ registration_ids: ['x'] }, 'fcm.registration_ids'],
    [{ condition: 'x' }, 'fcm.condition'],
    [{ content_available: true }, 'fcm.content_available'],
    [{ mutable_content: true }, 'fcm.mutable_content'],
    [{ message: { token: 'x' } }, 'fcm.message.token'],
    [{ message: { topic: 'x' } }, 'fcm.message.topic'],
    [{ message: { condition: 'x' } }, 'fcm.message.condition'],
    [{ message: 7 }, 'fcm.message'],
    [{ android: { data: { pusher: 'x' } } }, 'fcm.android.data'],
    [{ android: { ttl: '1h' } }, 'fcm.android.ttl'],
  ])('may not be %j', async (fcm, field) => {
    expect(await withFields({ fcm })).toMatchObject(fieldRefusal(field));
  });

  it('has 4096 bytes, and no more', async () => {
    expect((await withFields({ fcm: { data: { a: 'x'.repeat(3700) } } })).status).toBe(200);
    for (const fcm of [
      { data: { a: 'x'.repeat(4096) } },
      { notification: { body: 'é'.repeat(2048) } },
    ]) {
      expect(await withFields({ fcm })).toMatchObject(fieldRefusal('fcm'));
    }
  });
});

describe('webhookUrl', () => {
  it.each<unknown>([
    null,
    'https://example.org',
    'http://user:password@example.org:8080/hook?a=b#c',
    'HTTPS://EXAMPLE.ORG/',
    'https://[2001:db8::1]/',
    `https://example.org/${'x'.repeat(2028)}`,
  ])('may be %j', async (webhookUrl) => {
    expect((await withFields({ ...payloads, webhookUrl })).status).toBe(200);
  });

  it.each<[unknown]>([
    [7],
    [true],
    [{}],
    [[]],
    [['https://example.org']],
    [''],
    ['example.org'],
    ['/hook'],
    ['//example.org'],
    ['ftp://example.org'],
    ['javascript:alert(1)'],
    ['file:///etc/passwd'],
    ['https://'],
    ['https:///hook'],
    ['https:example.org'],
    [' https://example.org'],
    ['https://example.org/a b'],
    ['https://example.org/\r\nx: y'],
    ['https://exa mple.org'],
    ['https://example.org:99999'],
    ['https://example.org/\u0000'],
    ['https://example.org/\ud800'],
    [`https://example.org/${'x'.repeat(2029)}`],
  ])('may not be %j', async (webhookUrl) => {
    expect(await withFields({ ...payloads, webhookUrl })).toMatchObject(fieldRefusal('webhookUrl'));
  });

  it('has exactly this name', async () => {
    expect((await withFields({ ...payloads, webhook_url: 7, webhookURL: 7 })).status).toBe(200);
  });
});

describe('hostile JSON', () => {
  const body = (rest: string) => `{"interests":["a"],"users":["a"],${rest}}`;
  const send = (rest: string) => publish(server, '/interests', body(rest));

  it('with a key twice has the last value', async () => {
    const web = '"web":{"notification":{"title":"Hi"}}';
    expect((await send(`"web":7,${web}`)).status).toBe(200);
    expect(await send(`${web},"web":7`)).toMatchObject(fieldRefusal('web'));
    expect(await send(`${web},"interests":[]`)).toMatchObject(fieldRefusal('interests'));
    expect(await send(`${web},"\\u0069nterests":[":"]`)).toMatchObject(fieldRefusal('interests.0'));
  });

  it('with numbers that are too large', async () => {
    for (const number of ['1e400', '-1e400', '1e-400', '9'.repeat(400), '-0', '1E5', '0.1']) {
      expect([200, 422]).toContain((await send(`"web":{"time_to_live":${number}}`)).status);
      expect((await send(`"web":{"data":{"a":${number}}}`)).status).toBe(200);
    }
    for (const number of ['1e400', '9'.repeat(400), '9007199254740993']) {
      expect(await send(`"web":{"time_to_live":${number}}`)).toMatchObject(
        fieldRefusal('web.time_to_live'),
      );
      expect(await send(`"apns":{"aps":{},"expiration":${number}}`)).toMatchObject(
        fieldRefusal('apns.expiration'),
      );
    }
  });

  it('with keys that mean something to JavaScript', async () => {
    for (const key of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
      const data = `{"${key}":{"polluted":1},"a":1}`;
      for (const rest of [
        `"${key}":7,"web":{"data":${data}}`,
        `"fcm":{"${key}":[],"data":${data}}`,
        `"apns":{"aps":{"${key}":7},"data":${data}}`,
      ]) {
        expect([rest, (await send(rest)).status]).toEqual([rest, 200]);
      }
    }
  });

  it('that nests as deep as its size allows', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      for (const depth of [10, 500, 1600]) {
        const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
        const answer = await send(`"web":{"data":{"a":${nested}}}`);
        expect([depth, [200, 422]]).toEqual([depth, expect.arrayContaining([answer.status])]);
      }
      const depth = 30_000;
      const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
      for (const rest of [
        `"x":${nested},"web":{}`,
        `"web":{"data":{"a":${nested}}}`,
        `"web":{"x":${nested}}`,
      ]) {
        const { status } = await publish(server, '/users', body(rest));
        expect([200, 400, 422]).toContain(status);
      }
    }
  });

  it('with text that is not valid Unicode', async () => {
    for (const text of ['\\ud800', '\\udc00\\ud800', '\\u0000', '\\uffff']) {
      const { status } = await send(
        `"web":{"notification":{"title":"${text}"},"data":{"${text}":"${text}"}}`,
      );
      expect([200, 422]).toContain(status);
    }
  });
});
