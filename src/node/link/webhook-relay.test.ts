import { afterEach, describe, expect, it, jest } from 'bun:test';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import { WebhookRelay } from './webhook-relay.ts';

afterEach(() => {
  jest.useRealTimers();
});

function stage() {
  const sent: (readonly AppWebhookEvent[])[] = [];
  let dropped = 0;
  const logged: unknown[] = [];
  const log = (_: string, fields?: object) => void logged.push(fields);
  const outlet = new WebhookRelay({
    charactersMax: 32 * 1024 * 1024,
    send: (events) => void sent.push(events),
    meter: {
      count(counter) {
        expect(counter).toBe('webhookEventsDropped');
        dropped++;
      },
    },
    log: new RateLimitedLog({ info: log, warn: log, error: log }, { now: () => 0 }),
  });
  return { sent, outlet, logged, dropped: () => dropped };
}

const event = (n: number, appId = 'app'): AppWebhookEvent => ({
  appId,
  event: { name: 'channel_occupied', channel: `c${n}` },
  atMs: n,
});

const clientEvent = (characters: number, appId = 'app'): AppWebhookEvent => ({
  appId,
  event: {
    name: 'client_event',
    channel: 'private-a',
    event: 'client-a',
    data: 'x'.repeat(characters),
    socket_id: '1.1',
  },
  atMs: 0,
});

const charactersIn = (events: readonly AppWebhookEvent[] | undefined) =>
  JSON.stringify(events).length;

describe('WebhookRelay', () => {
  it('sends the events of the same moment in one batch, in order', () => {
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

  it('reports once that an event with an id is over: stored, or dropped', () => {
    const { outlet } = stage();
    const over: number[] = [];
    for (let n = 0; n < 80_002; n++) {
      outlet.emit({ ...event(n), id: `id-${n}` }, () => void over.push(n));
    }
    expect(over).toEqual([80_000, 80_001]);
    for (const id of ['id-7', 'id-7', 'unknown']) outlet.settle(id);
    expect(over.slice(2)).toEqual([7]);
  });

  it('sends events at once when it is flushed, and only once', () => {
    jest.useFakeTimers();
    const { sent, outlet } = stage();
    outlet.emit(event(1));
    outlet.flush();
    outlet.flush();
    jest.advanceTimersByTime(1000);
    expect(sent).toEqual([[event(1)]]);
  });

  it('sends no more events than the background loop acknowledges', () => {
    jest.useFakeTimers();
    const { sent, outlet, dropped } = stage();
    for (let n = 0; n < 50_000; n++) outlet.emit(event(n));
    jest.advanceTimersByTime(10);
    expect(sent.map((events) => events.length)).toEqual([20_000]);
    jest.advanceTimersByTime(1000);
    expect(sent).toHaveLength(1);
    outlet.taken(5_000);
    jest.advanceTimersByTime(10);
    expect(sent.map((events) => events.length)).toEqual([20_000, 5_000]);
    expect(sent[1]?.[0]).toEqual(event(20_000));
    expect(dropped()).toBe(0);
  });

  it('drops events when too many are waiting, first those of the app that has most', () => {
    jest.useFakeTimers();
    const { sent, outlet, dropped, logged } = stage();
    for (let n = 0; n < 80_000; n++) outlet.emit(event(n));
    expect(dropped()).toBe(0);
    for (let n = 0; n < 7; n++) outlet.emit(event(n));
    for (let n = 0; n < 3; n++) outlet.emit(event(n, 'quiet'));
    expect(dropped()).toBe(10);
    expect(logged).toContainEqual({ app: 'app', address: undefined });
    expect(logged).not.toContainEqual({ app: 'quiet', address: undefined });
    jest.advanceTimersByTime(10);
    // Apps take turns, so the events of the quiet app are among the first.
    const first = sent[0]?.slice(0, 6).map(({ appId }) => appId);
    expect(first).toEqual(['app', 'quiet', 'app', 'quiet', 'app', 'quiet']);
  });

  it('limits the characters that wait: the app that has most loses its newest events', () => {
    jest.useFakeTimers();
    const { sent, outlet, dropped } = stage();
    for (let n = 0; n < 10_000; n++) outlet.emit(clientEvent(10_000));
    outlet.emit(clientEvent(10_000, 'quiet'));
    // 24 Mi characters are waiting.
    expect(10_001 - dropped()).toBeWithin(2_400, 2_520);
    jest.advanceTimersByTime(10);
    expect(sent[0]?.map(({ appId }) => appId)).toContain('quiet');
    // 8 Mi characters are in flight until some have been acknowledged.
    expect(charactersIn(sent[0])).toBeWithin(8_000_000, 8_500_000);
    jest.advanceTimersByTime(1000);
    expect(sent).toHaveLength(1);
    outlet.taken(400);
    jest.advanceTimersByTime(10);
    expect(sent[1]?.length).toBeWithin(399, 402);
    while (sent.length < 20) {
      outlet.taken(sent.at(-1)?.length ?? 0);
      jest.advanceTimersByTime(10);
      if (sent.flat().length === 10_001 - dropped()) break;
    }
    expect(sent.flat()).toHaveLength(10_001 - dropped());
  });
});
