import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import type { StreamBatch, StreamRecord } from './merger.ts';
import { type StreamQuery, WatchStream } from './stream.ts';

/** A stream, and a reader that reads when it is asked to. */
function stage(query: Partial<StreamQuery> = {}) {
  const seen = { skipped: 0, closed: 0 };
  const time = new FakeTime();
  const stream = new WatchStream({
    timers: time,
    query: { appId: 'app', filter: {}, showsPayloads: true, ...query },
    hello: { node: 'a' },
    onSkipped(records) {
      seen.skipped += records;
    },
    onClosed: () => void seen.closed++,
  });
  const reader = stream.body.getReader();
  const reads = async (): Promise<readonly [event: string, data: unknown][]> => {
    const { value } = await reader.read();
    return new TextDecoder()
      .decode(value)
      .split('\n\n')
      .slice(0, -1)
      .map((text) => {
        const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
        return [event, JSON.parse(data)];
      });
  };
  return { stream, reader, reads, seen, time };
}

const record = (n: number, more: Partial<StreamRecord> = {}): StreamRecord => ({
  n,
  node: 'a',
  kind: 'api',
  atMs: 0,
  channel: 'news',
  data: 'Hello',
  receivers: 0,
  ...more,
});

const batch = (events: readonly StreamRecord[], more: Partial<StreamBatch> = {}): StreamBatch => ({
  events,
  updates: [],
  skipped: {},
  ...more,
});

describe('a live stream', () => {
  it('greets, and then sends what happens', async () => {
    const { stream, reads } = stage();
    expect(await reads()).toEqual([['hello', { node: 'a' }]]);
    const next = reads();
    stream.offer(batch([record(1)], { skipped: { client: 2 } }));
    expect(await next).toEqual([
      ['batch', { events: [record(1)], updates: [], skipped: { client: 2 }, missed: 0 }],
    ]);
  });

  it('sends only what the reader wants to see, and updates of that', async () => {
    const { stream, reads } = stage({ filter: { kinds: ['api'] }, text: 'HELLO' });
    await reads();
    stream.offer(batch([record(1), record(2, { data: 'bye' }), record(3, { kind: 'client' })]));
    const updates = [1, 2, 3].map((n) => ({ n, receivers: 5 }));
    stream.offer(batch([], { updates, skipped: { client: 1, api: 1 } }));
    expect(await reads()).toEqual([
      [
        'batch',
        { events: [record(1)], updates: [{ n: 1, receivers: 5 }], skipped: { api: 1 }, missed: 0 },
      ],
    ]);
  });

  it('has no data for a reader who may not see them, and is not searched in them', async () => {
    const { stream, reads } = stage({ showsPayloads: false, text: 'hello' });
    await reads();
    stream.offer(batch([record(1, { bytes: 5 }), record(2, { channel: 'hello', bytes: 5 })]));
    const { data: _, ...shown } = record(2, { channel: 'hello', bytes: 5 });
    expect(await reads()).toEqual([
      ['batch', { events: [shown], updates: [], skipped: {}, missed: 0 }],
    ]);
  });

  it('hides the users of a publish from a reader who may not see payloads, and shows interests', async () => {
    const published = (target?: string) =>
      ({ n: 1, node: 'a', atMs: 0, kind: 'published', ...(target && { target }) }) as const;
    const batches = async (text?: string) => {
      const { stream, reads } = stage({ showsPayloads: false, text });
      await reads();
      stream.offer(batch([published('users: ann'), published('interests: annual')]));
      const [[, data] = []] = await reads();
      return Object(data).events;
    };
    const shown = published('interests: annual');
    expect(await batches()).toEqual([published(), shown]);
    expect(await batches('ann')).toEqual([shown]);
  });

  it('sends a slow reader the newest, and reports how many it has missed', async () => {
    const { stream, reads, seen } = stage();
    await reads();
    for (let n = 0; n < 1000; n++) stream.offer(batch([record(n)]));
    const [[, data] = []] = await reads();
    const { events, skipped, missed } = Object(data);
    expect(events).toHaveLength(200);
    expect([events[0].n, events.at(-1).n]).toEqual([800, 999]);
    expect([skipped, missed]).toEqual([{ api: 800 }, 800]);
    expect(seen.skipped).toBe(800);
    const large = record(0, { data: 'x'.repeat(1024) });
    for (let n = 0; n < 1000; n++) stream.offer(batch([large]));
    const [[, later] = []] = await reads();
    expect(JSON.stringify(later).length).toBeLessThan(256 * 1024);
  });

  it('ends with the reason, after what waits', async () => {
    const { stream, reads, reader, seen } = stage();
    await reads();
    stream.offer(batch([record(1)]));
    stream.end('app-gone');
    stream.end('stopping');
    expect((await reads()).map(([event]) => event)).toEqual(['batch', 'end']);
    expect(await reader.read()).toMatchObject({ done: true });
    expect(seen.closed).toBe(1);
  });

  it('waits for a reader however long it is silent, and after the end for half a minute', async () => {
    const { stream, reads, reader, seen, time } = stage();
    await reads();
    stream.offer(batch([record(1)]));
    await time.advance(20 * 60_000);
    expect(seen.closed).toBe(0);
    stream.end('time');
    await time.advance(29_999);
    expect(seen.closed).toBe(0);
    await time.advance(1);
    expect(seen.closed).toBe(1);
    expect(reader.closed).rejects.toThrow('not read');
  });

  it('is closed when its reader leaves, also while it waits', async () => {
    const { stream, reads, reader, seen } = stage();
    await reads();
    const waiting = reader.read();
    await reader.cancel();
    expect(await waiting).toMatchObject({ done: true });
    stream.offer(batch([record(1)]));
    expect(seen.closed).toBe(1);
  });
});
