import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readWebPayload } from '../payloads/web.ts';
import { FieldFault } from '../refusal.ts';
import { declarativeBytes, declarativeMessage } from './declarative-message.ts';
import { right, tracking } from './messages.fixture.ts';
import { webMessage } from './web-message.ts';

type Fields = Record<string, unknown>;

const message = (payload: Fields) =>
  JSON.parse(declarativeMessage(right(readWebPayload(payload)), tracking)) as Fields;

const pusher = { ...tracking, hasDisplayableContent: true, hasData: false };

describe('the declarative message for Safari', () => {
  it('names the address that a click and each button opens', () => {
    const reply = { action: 'reply', title: 'Reply', deep_link: '/chat/7?reply' };
    const mute = { action: 'mute', title: 'Mute' };
    const notification = {
      title: 'Ann',
      body: 'hi',
      image: '/a.png',
      deep_link: '/chat/7',
      actions: [reply, mute, 'no button', null],
      data: 'theirs',
    };
    const data = { order: 7, pusher: { ...pusher, hasData: true } };
    expect(message({ notification, app_badge: 3, data: { order: 7 }, time_to_live: 60 })).toEqual({
      web_push: 8030,
      notification: {
        ...notification,
        navigate: '/chat/7',
        actions: [
          { ...reply, navigate: '/chat/7?reply' },
          { ...mute, navigate: '/chat/7' },
          'no button',
          null,
        ],
        data,
      },
      app_badge: 3,
      mutable: true,
      data,
    });
  });

  it('opens the start page and has an empty title if the publish names nothing', () => {
    expect(message({ notification: { body: 'hi', deep_link: '' } })).toEqual({
      web_push: 8030,
      notification: { title: '', body: 'hi', deep_link: '', navigate: '/', data: { pusher } },
      mutable: true,
      data: { pusher },
    });
  });

  it('cannot be hidden', () => {
    const notification = { title: 'Hi', hide_notification_if_site_has_focus: true };
    expect(message({ notification })['notification']).not.toHaveProperty(
      'hide_notification_if_site_has_focus',
    );
  });

  it('is that of other browsers if there is nothing to show', () => {
    for (const payload of [{}, { data: { a: 1 }, app_badge: 3 }]) {
      const read = right(readWebPayload(payload));
      expect(declarativeMessage(read, tracking)).toBe(webMessage(read, tracking));
    }
  });

  it('is measured without being written, as buttons repeat the address', () => {
    const actions = Array.from({ length: 100_000 }, () => ({}));
    const notification = { deep_link: 'ü"'.repeat(50_000), actions };
    const read = right(readWebPayload({ notification }));
    // Each has the address, which takes 4 bytes for its 2 characters.
    expect(declarativeBytes(read, tracking)).toBeGreaterThan(100_000 * 200_000);
  });

  it('has everything that other browsers get, so that old ones and every worker can read it', () => {
    const names = fc.constantFrom('title', 'body', 'actions', 'tag', 'deep_link', 'data', 'x');
    const fields = fc.dictionary(names, fc.oneof(fc.string(), fc.jsonValue()));
    const own = new Set(['actions', 'data', 'navigate']);
    fc.assert(
      fc.property(fields, fc.dictionary(fc.string(), fc.jsonValue()), (notification, data) => {
        const read = readWebPayload({ notification, data });
        if (read instanceof FieldFault) return;
        const plain = JSON.parse(webMessage(read, tracking));
        const declarative = JSON.parse(declarativeMessage(read, tracking));
        expect(declarative.data).toEqual(plain.data);
        expect(declarativeBytes(read, tracking)).toBe(
          Buffer.byteLength(declarativeMessage(read, tracking)),
        );
        for (const [name, value] of Object.entries(plain.notification)) {
          if (!own.has(name)) expect(declarative.notification[name]).toEqual(value);
        }
      }),
    );
  });
});
