import { afterEach, describe, expect, it, jest } from 'bun:test';
import type { AppWebhookEvent } from './channels/webhooks.ts';
import { WebhookOutlet } from './webhook-outlet.ts';

afterEach(() => {
  jest.useRealTimers();
});

function stage() {
  const sent: (readonly AppWebhookEvent[])[] = [];
  let dropped = 0;
  const outlet = new WebhookOutlet((events) => void sent.push(events), {
    count(counter) {
      expect(counter).toBe('webhookEventsDropped');
      dropped++;
    },
  });
  return { sent, outlet, dropped: () => dropped };
}

const event = (n: number): AppWebhookEvent => ({
  appId: 'app',
  event: { name: 'channel_occupied', channel: `c${n}` },
  atMs: n,
});

describe('webhook events on their way to the background loop', () => {
  it('go together with those of the same moment, in order', () => {
    jest.useFakeTimers();
    const { sent, outlet } = stage();
    for (let n = 0; n < 3; n++) outlet.emit(event(n));
    expect(sent).toEqual([]);
    jest.advanceTimersByTime(10);
    expect(sent).toEqual([[event(0), event(1), event(2)]]);
    outlet.emit(event(3));
    jest.advanceTimersByTime(10);
    expect(sent.slice(1)).toEqual([[event(3)]]);
  });

  it('go at once when they are flushed, and not a second time', () => {
    jest.useFakeTimers();
    const { sent, outlet } = stage();
    outlet.emit(event(1));
    outlet.flush();
    outlet.flush();
    jest.advanceTimersByTime(1000);
    expect(sent).toEqual([[event(1)]]);
  });

  it('are 100,000 at most that nobody has taken: beyond them new ones are dropped and counted', () => {
    jest.useFakeTimers();
    const { sent, outlet, dropped } = stage();
    for (let n = 0; n < 100_000; n++) outlet.emit(event(n));
    jest.advanceTimersByTime(10);
    expect(dropped()).toBe(0);
    for (let n = 0; n < 7; n++) outlet.emit(event(n));
    expect(dropped()).toBe(7);
    outlet.taken(2);
    for (let n = 0; n < 3; n++) outlet.emit(event(n));
    expect(dropped()).toBe(8);
    outlet.flush();
    expect(sent.map((events) => events.length)).toEqual([100_000, 2]);
  });
});
