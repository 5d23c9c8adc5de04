import { describe, expect, it } from 'bun:test';
import { readApnsPayload } from '../payloads/apns.ts';
import { apnsMessage } from './apns-message.ts';
import { right, tracking, trackingText } from './messages.fixture.ts';

const DUE_MS = Date.UTC(2026, 10, 29);

const message = (payload: Record<string, unknown>) =>
  apnsMessage(right(readApnsPayload(payload)), { ...tracking, acceptedAtMs: DUE_MS });

const ignored = `"pusher":{${trackingText},"userShouldIgnore":true}`;
const processed = `"pusher":{${trackingText}}`;
const untracked = { pusher: { disable_delivery_tracking: true } };

describe('the body for an iOS device', () => {
  it('wakes up the app for the report only', () => {
    expect(message({ aps: { alert: 'Hi!' }, custom: 1 }).body).toBe(
      `{"aps":{"alert":"Hi!","content-available":1},"data":{${ignored}}}`,
    );
    expect(message({ aps: { alert: 'Hi!' }, data: { a: [1] } }).body).toBe(
      `{"aps":{"alert":"Hi!","content-available":1},"data":{"a":[1],${ignored}}}`,
    );
    expect(message({ aps: { 'content-available': 0 } }).body).toBe(
      `{"aps":{"content-available":1},"data":{${ignored}}}`,
    );
  });

  it('wakes up the app if the customer asks for it', () => {
    for (const value of [1, '1', true]) {
      expect(message({ aps: { 'content-available': value, badge: 1 } }).body).toBe(
        `{"aps":{"badge":1,"content-available":1},"data":{${processed}}}`,
      );
    }
  });

  it('is unchanged without tracking', () => {
    expect(message({ aps: { alert: 'a' }, ...untracked }).body).toBe('{"aps":{"alert":"a"}}');
    expect(message({ aps: { alert: 'a' }, data: { b: 1 }, ...untracked }).body).toBe(
      '{"aps":{"alert":"a"},"data":{"b":1}}',
    );
    expect(message({ aps: { alert: 'a', 'content-available': '1' }, ...untracked }).body).toBe(
      '{"aps":{"alert":"a","content-available":1}}',
    );
    expect(message({ aps: { alert: 'a', 'content-available': 0 }, ...untracked }).body).toBe(
      '{"aps":{"alert":"a"}}',
    );
  });
});

describe('the headers for an iOS device', () => {
  it.each([{ alert: 'a' }, { alert: {} }, { badge: 0 }, { sound: 'default' }])(
    'have the push type alert for %j',
    (aps) => {
      expect(message({ aps }).headers).toEqual({ pushType: 'alert' });
      expect(message({ aps, priority: 10 }).headers).toEqual({ pushType: 'alert', priority: 10 });
      expect(message({ aps, priority: 5 }).headers).toEqual({ pushType: 'alert', priority: 5 });
    },
  );

  it.each([{}, { 'content-available': 1 }, { category: 'x' }, { alert: null }])(
    'have the push type background for %j, and the only priority that Apple accepts for it',
    (aps) => {
      expect(message({ aps }).headers).toEqual({ pushType: 'background', priority: 5 });
      expect(message({ aps, priority: 10 }).headers).toEqual({
        pushType: 'background',
        priority: 5,
      });
    },
  );

  it('have the customer’s values', () => {
    const payload = { aps: { alert: 'a' }, expiration: 0, collapse_id: 'news' };
    expect(message(payload).headers).toEqual({
      pushType: 'alert',
      expiration: 0,
      collapseId: 'news',
    });
  });
});
