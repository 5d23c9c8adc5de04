import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import { STREAM_MS, STREAM_OF_PROXY_MS } from './limits.ts';
import type { AppTick, WatchedApp } from './records.ts';
import type { StreamQuery } from './stream.ts';
import { TooManyStreams, Watches } from './watches.ts';

/** Servers that reach each other, and readers of their streams. */
function stage({ cluster = false } = {}) {
  const time = new FakeTime();
  const servers = new Map<string, ReturnType<typeof open>>();
  const open = (node: string) => {
    const watched: (readonly WatchedApp[])[] = [];
    const searched: string[] = [];
    const seen = { streams: 0, isCut: false, sent: 0 };
    const to = (loop: string, text: string) => {
      seen.sent++;
      if (seen.isCut) return watches.delivered(loop, true);
      servers.get(loop)?.watches.receiveFrom(node, text);
      watches.delivered(loop, servers.has(loop));
    };
    const toAll = (text: string) => {
      if (seen.isCut) return;
      for (const [name, { watches: other }] of servers) {
        if (name !== node) other.receiveFrom(node, text);
      }
    };
    const watches = new Watches({
      node,
      timers: time,
      loops: 1,
      link: cluster ? { to, toAll } : undefined,
      watch: (apps) => void watched.push(apps),
      findNear: async (_, channel) => {
        searched.push(channel);
        return channel === 'full' ? channel : `${channel}.1`;
      },
      onSkipped: () => undefined,
      onStreams(streams) {
        seen.streams = streams;
      },
    });
    const starts = (query: Partial<StreamQuery> = {}, user?: string) => {
      const stream = watches.start(
        { appId: 'app', filter: {}, showsPayloads: true, ...query },
        {
          owner: user ?? 'password',
          isAdmin: user === undefined,
          lifeMs: user === undefined ? STREAM_MS : STREAM_OF_PROXY_MS,
        },
      );
      const events: [event: string, data: unknown][] = [];
      const reader = stream.body.getReader();
      const read = async () => {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return;
          for (const text of new TextDecoder().decode(value).split('\n\n').slice(0, -1)) {
            const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
            events.push([event, JSON.parse(data)]);
          }
        }
      };
      void read();
      const all = (name: string) => events.filter(([event]) => event === name).map((one) => one[1]);
      return { all, leaves: () => reader.cancel() };
    };
    return { watches, watched, searched, seen, starts };
  };
  const server = (node: string) => {
    const opened = open(node);
    servers.set(node, opened);
    return opened;
  };
  return { time, server };
}

const tick = (more: Partial<AppTick> = {}): AppTick => ({
  appId: 'app',
  loop: 'loop',
  records: [],
  heard: [],
  skipped: {},
  ...more,
});
const api = (channel: string, receivers: number, trace = channel) =>
  ({ kind: 'api', channel, receivers, trace, atMs: 0 }) as const;

describe('the streams of a server', () => {
  it('are watched by the loops as long as somebody reads, with what all readers want', async () => {
    const { time, server } = stage();
    const { watched, starts, seen } = server('a');
    const one = starts({ filter: { kinds: ['api'] } });
    const two = starts({ filter: { kinds: ['api'] } });
    const three = starts({ filter: { user: 'ann' } });
    const [kinds, user] = [{ kinds: ['api' as const] }, { user: 'ann' }];
    expect(watched).toEqual([
      [{ id: 'app', filters: [kinds] }],
      [{ id: 'app', filters: [kinds, user] }],
    ]);
    expect(seen.streams).toBe(3);
    for (const stream of [one, two, three]) await stream.leaves();
    expect(watched.at(-1)).toEqual([]);
    expect(seen.streams).toBe(0);
    await time.advance(60_000);
    expect(watched).toHaveLength(4);
  });

  it('show what the loops have seen, and count it each second', async () => {
    const { time, server } = stage();
    const { watches, starts } = server('a');
    const { all } = starts();
    const counts = { kinds: { api: 7 }, channels: [], names: [] };
    watches.receive([tick({ records: [api('news', 3)], counts }), tick({ appId: 'other' })]);
    await time.advance(1000);
    expect(all('hello')).toMatchObject([{ node: 'a', app: 'app', payloads: 'show', perTick: 50 }]);
    expect(all('batch')).toMatchObject([{ events: [{ n: 1, node: 'a', receivers: 3 }] }]);
    expect(all('counts')).toMatchObject([{ kinds: { api: 7 } }]);
  });

  it('show which channel was meant when nobody has received an event, with few searches', async () => {
    const { time, server } = stage();
    const { watches, searched, starts } = server('a');
    const { all } = starts();
    const records = Array.from({ length: 40 }, (_, n) =>
      api(n < 20 ? 'void' : `void${n}`, 0, `${n}`),
    );
    watches.receive([tick({ records: [...records, api('news', 1)] })]);
    await time.advance(10_000);
    const updates = all('batch').flatMap((one) => Object(one).updates);
    expect(updates).toContainEqual({ n: 1, near: 'void.1' });
    expect(updates).toContainEqual({ n: 10, near: 'void.1' });
    expect(searched.length).toBeLessThanOrEqual(10);
    expect(searched).not.toContain('news');
  });

  it('show it for an event of each app in turn, however many names another one makes up', async () => {
    const { time, server } = stage();
    const { watches, searched, starts } = server('a');
    starts({ appId: 'flood' });
    starts();
    const records = Array.from({ length: 40 }, (_, n) => api(`void${n}`, 0, `${n}`));
    watches.receive([tick({ appId: 'flood', records })]);
    await time.advance(200);
    watches.receive([tick({ records: [api('order', 0)] })]);
    await time.advance(1000);
    expect(searched).toContain('order');
  });

  it('report that the only subscriber was excepted, and name no other channel then', async () => {
    const { time, server } = stage();
    const { watches, starts } = server('a');
    const { all } = starts();
    const records = [api('full', 0, '1'), { ...api('full', 0, '2'), except: '1.1' }];
    watches.receive([tick({ records })]);
    await time.advance(10_000);
    expect(all('batch').flatMap((one) => Object(one).updates)).toEqual([
      { n: 2, reason: 'The only subscriber was excepted', advice: expect.any(String) },
    ]);
  });

  it('are four of one app and eight in all', () => {
    const { server } = stage();
    const { starts } = server('a');
    for (let n = 0; n < 4; n++) starts();
    expect(() => starts()).toThrow(TooManyStreams);
    for (let n = 0; n < 4; n++) starts({ appId: `app${n}` });
    expect(() => starts({ appId: 'another' })).toThrow(TooManyStreams);
  });

  it('have a place for an admin, whatever others hold', () => {
    const { server } = stage();
    const { starts, seen } = server('a');
    for (const appId of ['shop', 'game']) {
      for (let n = 0; n < 3; n++) starts({ appId }, 'viewer');
      expect(() => starts({ appId }, 'viewer')).toThrow(TooManyStreams);
    }
    expect(() => starts({ appId: 'shop' })).not.toThrow();
    starts({ appId: 'third' }, 'viewer');
    expect(seen.streams).toBe(8);
    expect(() => starts({ appId: 'third' }, 'viewer')).toThrow(TooManyStreams);
    expect(() => starts({ appId: 'game' })).not.toThrow();
  });

  it('go from the user with the most to one with fewer, even if nobody reads them', async () => {
    const { time, server } = stage();
    const { starts, seen } = server('a');
    const first = starts({}, 'ann');
    for (let n = 0; n < 2; n++) starts({}, 'ann');
    expect(() => starts({}, 'bob')).not.toThrow();
    await time.advance(0);
    expect(first.all('end')).toEqual([{ why: 'displaced' }]);
    expect(seen.streams).toBe(3);
    expect(() => starts({}, 'bob')).toThrow(TooManyStreams);
    expect(() => starts({}, 'cid')).not.toThrow();
    expect(() => starts({}, 'dan')).toThrow(TooManyStreams);
  });

  it('of users of a proxy end after five minutes', async () => {
    const { time, server } = stage();
    const { starts } = server('a');
    const [owner, ann] = [starts(), starts({}, 'ann')];
    await time.advance(5 * 60_000);
    expect([owner.all('end'), ann.all('end')]).toEqual([[], [{ why: 'time' }]]);
  });

  it('end after half an hour, when their app goes, and when the server stops', async () => {
    const { time, server } = stage();
    const { watches, starts } = server('a');
    const old = starts();
    await time.advance(29 * 60_000);
    const others = [starts({ appId: 'gone' }), starts()] as const;
    await time.advance(60_000);
    watches.endGone((appId) => appId === 'app');
    await time.advance(0);
    watches.stop();
    await time.advance(0);
    const ends = [old, ...others].map(({ all }) => all('end'));
    expect(ends).toEqual([[{ why: 'time' }], [{ why: 'app-gone' }], [{ why: 'stopping' }]]);
  });
});

describe('the streams of a cluster', () => {
  it('show what all servers see, with all receivers', async () => {
    const { time, server } = stage({ cluster: true });
    const [a, b] = [server('a'), server('b')];
    const { all, leaves } = a.starts();
    await time.advance(200);
    expect(b.watched).toEqual([[{ id: 'app', filters: [{}] }]]);
    b.watches.receive([tick({ records: [api('news', 1, 't1')] })]);
    a.watches.receive([tick({ heard: [['t1', 2]] })]);
    await time.advance(1000);
    expect(all('batch')).toMatchObject([{ events: [{ node: 'b', receivers: 3 }] }]);
    await leaves();
    expect(b.watched.at(-1)).toEqual([]);
  });

  it('report which server is away, and forget what is not stated again', async () => {
    const { time, server } = stage({ cluster: true });
    const [a, b] = [server('a'), server('b')];
    const { all } = a.starts();
    await time.advance(3000);
    const nodes = (away: boolean) => ({
      nodes: [
        { name: 'a', away: false },
        { name: 'b', away },
      ],
    });
    expect(all('nodes').at(-1)).toEqual(nodes(false));
    a.seen.isCut = true;
    b.seen.isCut = true;
    await time.advance(10_000);
    expect(all('nodes').at(-1)).toEqual(nodes(true));
    expect(b.watched.at(-1)).toEqual([]);
    a.seen.isCut = false;
    b.seen.isCut = false;
    await time.advance(4000);
    expect(all('nodes').at(-1)).toEqual(nodes(false));
  });

  it('send nothing to each other while nobody watches', async () => {
    const { time, server } = stage({ cluster: true });
    const [a, b] = [server('a'), server('b')];
    const { leaves } = a.starts();
    await time.advance(1000);
    await leaves();
    const before = b.seen.sent;
    await time.advance(60_000);
    expect(b.seen.sent).toBe(before);
  });

  it('ignore messages of another version', async () => {
    const { server } = stage({ cluster: true });
    const { watches, watched } = server('a');
    for (const text of [
      '',
      '{',
      'null',
      '{"type":"watch"}',
      '{"type":"watch","node":"b","apps":[{}]}',
    ]) {
      watches.receiveFrom('b', text);
    }
    expect(watched).toEqual([]);
  });
});
