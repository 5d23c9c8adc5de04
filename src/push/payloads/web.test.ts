import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FieldFault } from '../refusal.ts';
import { webPayload } from './web.fixture.ts';
import { readWebPayload } from './web.ts';

const full = {
  time_to_live: 3600,
  notification: {
    title: 'You have a new message',
    body: 'Hi!',
    icon: 'https://example.com/icon.png',
    deep_link: 'https://example.com/messages?id=2342',
    hide_notification_if_site_has_focus: true,
  },
  data: { some: 'metadata', go: ['here', { deep: null }] },
};

const fault = (field: string, reason: string) => new FieldFault(field, reason);

describe('a payload for browsers', () => {
  it('is read as documented', () => {
    expect(readWebPayload(full)).toEqual(
      webPayload({ notification: full.notification, data: full.data }),
    );
  });

  it('may say how soon, in place of what, and with which number on the icon', () => {
    for (const urgency of ['very-low', 'low', 'normal', 'high'] as const) {
      expect(readWebPayload({ urgency, topic: 'chat_7-', app_badge: 3 })).toMatchObject({
        urgency,
        topic: 'chat_7-',
        appBadge: 3,
      });
    }
    expect(readWebPayload({ urgency: null, topic: null, app_badge: null })).toEqual(
      readWebPayload({}),
    );
    expect(readWebPayload({ app_badge: 0 })).toMatchObject({ appBadge: 0 });
  });

  it.each(['', 'High', 'urgent', 'normal ', 1, true, {}])(
    'must not have the urgency %j',
    (urgency) => {
      expect(readWebPayload({ urgency })).toEqual(
        fault('web.urgency', 'must be "very-low" or "low" or "normal" or "high"'),
      );
    },
  );

  it('has a topic of 2 to 32 characters of base64url, of a length that base64 can have', () => {
    for (let length = 0; length <= 40; length++) {
      const topic = 'x'.repeat(length);
      const isRight = length >= 2 && length <= 32 && length % 4 !== 1;
      if (isRight) expect(readWebPayload({ topic })).toMatchObject({ topic });
      else expect(readWebPayload({ topic })).toMatchObject({ field: 'web.topic' });
    }
    for (const topic of ['chat 7', 'chat/7', 'chat+7', 'chät', 'chat7==', 'ab\n', 17, true, {}]) {
      expect(readWebPayload({ topic })).toEqual(
        fault(
          'web.topic',
          'must be 2 to 32 of the letters A to Z and a to z, digits, - and _, but not 5, 9, 13, 17, 21, 25 or 29 of them: Apple decodes it as base64',
        ),
      );
    }
  });

  it.each([-1, 1.5, 2 ** 53, '3', true, {}])('must not have %j on the icon', (app_badge) => {
    expect(readWebPayload({ app_badge })).toEqual(
      fault('web.app_badge', 'must be a whole number from 0 to 9007199254740991'),
    );
  });

  it('needs no fields: the browser then gets only data, for 4 weeks', () => {
    const empty = webPayload({ timeToLiveSeconds: 2_419_200 });
    expect(readWebPayload({})).toEqual(empty);
    expect(readWebPayload({ time_to_live: null, notification: null, data: null })).toEqual(empty);
  });

  it('may have undocumented fields', () => {
    const notification = { actions: [], title: 'a', icon: null };
    expect(readWebPayload({ sound: 7, notification })).toEqual(
      webPayload({ timeToLiveSeconds: 2_419_200, notification: { actions: [], title: 'a' } }),
    );
  });

  it.each([0, 1, 2_419_200])('may be kept for %d seconds', (time_to_live) => {
    expect(readWebPayload({ time_to_live })).toMatchObject({ timeToLiveSeconds: time_to_live });
  });

  it.each([-1, 2_419_201, 1.5, 1e300, '3600', true, {}])(
    'must not be kept for %j seconds',
    (time_to_live) => {
      expect(readWebPayload({ time_to_live })).toEqual(
        fault('web.time_to_live', 'must be a whole number from 0 to 2419200'),
      );
    },
  );

  it.each(['title', 'body', 'icon', 'deep_link'])('must have text as its %s', (field) => {
    for (const value of [7, true, {}, ['x']]) {
      expect(readWebPayload({ notification: { [field]: value } })).toEqual(
        fault(`web.notification.${field}`, 'must be a string'),
      );
    }
  });

  it('may have null in its notification, and [] as PHP writes empty objects', () => {
    expect(readWebPayload({ notification: { title: null, icon: null, body: 'Hi' } })).toMatchObject(
      { notification: { body: 'Hi' } },
    );
    expect(readWebPayload({ notification: [], data: [] })).toEqual(readWebPayload({}));
  });

  it('must have objects as notification and data, and a boolean as flag', () => {
    for (const value of ['x', 7, true, [1]]) {
      expect(readWebPayload({ notification: value })).toEqual(
        fault('web.notification', 'must be an object'),
      );
      expect(readWebPayload({ data: value })).toEqual(fault('web.data', 'must be an object'));
    }
    for (const value of ['true', 1, {}]) {
      expect(readWebPayload({ declarative: value })).toEqual(
        fault('web.declarative', 'must be true or false'),
      );
      expect(
        readWebPayload({ notification: { hide_notification_if_site_has_focus: value } }),
      ).toEqual(
        fault('web.notification.hide_notification_if_site_has_focus', 'must be true or false'),
      );
    }
  });

  it('must not have the key pusher, which is reserved for the server', () => {
    for (const pusher of [1, null, {}]) {
      expect(readWebPayload({ data: { a: 1, pusher } })).toEqual(
        fault('web.data', 'the key "pusher" is reserved'),
      );
    }
    expect(readWebPayload({ data: { Pusher: 1, inner: { pusher: 1 } } })).not.toBeInstanceOf(
      FieldFault,
    );
  });

  it('is read or refused, for any input', () => {
    const names = [
      'time_to_live',
      'notification',
      'data',
      'title',
      'pusher',
      'urgency',
      'topic',
      'app_badge',
    ];
    const inner = fc.dictionary(fc.constantFrom(...names), fc.jsonValue());
    const outer = fc.dictionary(fc.constantFrom(...names), fc.oneof(inner, fc.jsonValue()));
    fc.assert(
      fc.property(outer, (payload) => {
        const read = readWebPayload(payload);
        if (read instanceof FieldFault) expect(read.field).toStartWith('web.');
        else expect(read.timeToLiveSeconds).toBeNumber();
      }),
    );
  });
});
