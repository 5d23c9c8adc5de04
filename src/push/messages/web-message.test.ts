import { describe, expect, it } from 'bun:test';
import { readWebPayload } from '../payloads/web.ts';
import { right, tracking, trackingText } from './messages.fixture.ts';
import { webMessage } from './web-message.ts';

const message = (payload: Record<string, unknown>) =>
  webMessage(right(readWebPayload(payload)), tracking);

describe('the message for a browser', () => {
  it('has the payload, and the block for the service worker', () => {
    const notification = { title: 'Hi', body: 'there', deep_link: 'https://x.example/' };
    const data = { some: 'metadata', n: 1.5 };
    expect(message({ time_to_live: 60, notification, data, other: 1 })).toBe(
      '{"notification":{"title":"Hi","body":"there","deep_link":"https://x.example/"},' +
        `"data":{"some":"metadata","n":1.5,"pusher":{${trackingText},"hasDisplayableContent":true,"hasData":true}}}`,
    );
  });

  it('has the number for the icon beside the notification', () => {
    const payload = { notification: { title: 'Hi' }, app_badge: 0, urgency: 'high', topic: 'ab' };
    expect(message(payload)).toStartWith('{"notification":{"title":"Hi"},"app_badge":0,"data":{');
  });

  it('says whether there is anything to show', () => {
    const block = (shown: boolean, data: boolean) =>
      `"data":{"pusher":{${trackingText},"hasDisplayableContent":${shown},"hasData":${data}}}}`;
    expect(message({})).toBe(`{${block(false, false)}`);
    expect(message({ data: {} })).toBe(`{${block(false, false)}`);
    expect(message({ notification: {} })).toBe(`{"notification":{},${block(true, false)}`);
    expect(message({ data: { a: 0 } })).toBe(
      `{"data":{"a":0,"pusher":{${trackingText},"hasDisplayableContent":false,"hasData":true}}}`,
    );
  });

  it('keeps keys like __proto__', () => {
    const payload: Record<string, unknown> = JSON.parse(
      '{"data":{"__proto__":{"a":1},"toJSON":2}}',
    );
    expect(message(payload)).toStartWith('{"data":{"__proto__":{"a":1},"toJSON":2,"pusher":{');
  });
});
