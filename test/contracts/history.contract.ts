import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { EventId } from '../../src/channels/history/event-id.ts';
import type { HistoryQuery } from '../../src/channels/history/page.ts';
import type { FoundHistory, ResumePlace } from '../../src/channels/history/resume.ts';
import type { OpenCluster } from './authority.contract.ts';
import type { LoopStage } from './loop-stage.ts';
import { appWithHistory, channel } from './values.ts';

const app = appWithHistory([
  { channels: 'few-*', events: 3, seconds: 60 },
  { channels: 'replay-*', replay: 2 },
  { channels: 'cache-*' },
  { channels: 'presence-*' },
]);
const other = appWithHistory([{ channels: '*' }], { id: 'other' });

/** Channels with different homes, however many loops there are. */
const NUMBERS = Array.from({ length: 12 }, (_, n) => n);

/** What a connection gets, with the names of events in place of frames. */
function shown(found: FoundHistory | undefined) {
  if (found === undefined) return undefined;
  const events = found.frames.map((frame) => JSON.parse(frame).event);
  return { outcome: found.outcome, events: events.join(' ') };
}

/** What the core expects of an authority that keeps histories. */
export function historyContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
): void {
  const stage = async () => {
    const cluster = await open([app, other]);
    const at = (n: number): LoopStage => {
      const loop = cluster.loops[n % cluster.loops.length];
      if (loop === undefined) throw new Error('There is no loop');
      return loop;
    };
    const enter = async (
      n: number,
      text: string,
      place: ResumePlace | undefined,
      { roomBytes = 1e6, of = app } = {},
    ) => {
      const member = text.startsWith('presence-') ? 'ann' : undefined;
      const entered = await at(n).join(of, text, member, undefined, { place, roomBytes });
      if (entered === 'full') throw new Error('The channel is full');
      return entered;
    };
    return {
      ...cluster,
      at,
      advance: (ms: number) => cluster.advance(ms),
      settled: () => cluster.settled(),
      enter,
      resume: async (n: number, text: string, after: string, socketIds: readonly string[] = []) => {
        const { history } = await enter(n, text, { after: after as EventId, socketIds });
        return shown(history);
      },
    };
  };

  describe(`${name} keeps the history contract`, () => {
    it('numbers the events of a channel, whichever loop they are published on', async () => {
      const { at, settled } = await stage();
      for (const n of NUMBERS) {
        const ids = [];
        for (let event = 0; event < 3; event++) {
          ids.push(await at(event).publish(app, `few-${n}`, `e${event}`));
        }
        expect(ids.map((id) => id?.replace(/-[a-z0-9]{8}$/, ''))).toEqual(['1', '2', '3']);
      }
      expect(await at(0).publish(app, 'none', 'e')).toBeUndefined();
      await settled();
    });

    it('sends a client what it missed after each place, or reports that it is forgotten', async () => {
      const { at, resume, enter } = await stage();
      for (const n of NUMBERS) {
        const text = `few-${n}`;
        const begun = await enter(n, text, { after: 'none', socketIds: [] });
        const ids = [begun.history?.id ?? ''];
        for (const event of ['a', 'b', 'c', 'd']) {
          ids.push((await at(n + ids.length).publish(app, text, event)) ?? '');
        }
        const found = [];
        for (const id of ids) found.push(await resume(n + 1, text, id));
        expect(found).toEqual([
          { outcome: 'forgotten', events: '' },
          { outcome: 'resumed', events: 'b c d' },
          { outcome: 'resumed', events: 'c d' },
          { outcome: 'resumed', events: 'd' },
          { outcome: 'resumed', events: '' },
        ]);
        const newest = ids.at(-1) ?? '';
        for (const bad of [`5${newest.slice(1)}`, `4-aaaaaaaa`, 'unknown', `0${newest.slice(1)}`]) {
          expect(await resume(n, text, bad)).toEqual({ outcome: 'forgotten', events: '' });
        }
        const entered = await enter(n, text, { after: 'unknown', socketIds: [] });
        expect(entered.history?.id).toBe(newest as EventId);
      }
    });

    it('puts the newcomer between what it missed and what it receives live', async () => {
      const { at, enter, settled } = await stage();
      for (const n of NUMBERS) {
        const text = `presence-${n}`;
        const id = await at(0).publish(app, text, 'first');
        const missed = [at(1).publish(app, text, 'a'), at(2).publish(app, text, 'b')];
        const entering = enter(n, text, { after: id ?? 'none', socketIds: [] });
        const later = [at(1).publish(app, text, 'c'), at(2).publish(app, text, 'd')];
        const { history } = await entering;
        await Promise.all([...missed, ...later]);
        await settled();
        const got = (shown(history)?.events ?? '').split(' ').filter((one) => one !== '');
        const received = at(n).receivedAfterEntry(app, text);
        expect([...got, ...received].toSorted()).toEqual(['a', 'b', 'c', 'd']);
      }
    });

    it('leaves out what excluded a connection of the client', async () => {
      const { at, resume } = await stage();
      const text = 'few-x';
      const id = await at(0).publish(app, text, 'a');
      await at(1).publish(app, text, 'b', '77.7' as never);
      await at(2).publish(app, text, 'c');
      expect(await resume(0, text, id ?? '', ['1.5', '77.7', 'no socket id'])).toEqual({
        outcome: 'resumed',
        events: 'c',
      });
      expect(await resume(0, text, id ?? '', ['7.7'])).toEqual({
        outcome: 'resumed',
        events: 'b c',
      });
    });

    it('returns nothing rather than a part of what does not fit', async () => {
      const { at, enter } = await stage();
      const text = 'few-x';
      const id = await at(0).publish(app, text, 'a');
      await at(1).publish(app, text, 'b');
      await at(1).publish(app, text, 'c');
      const place = { after: id ?? 'none', socketIds: [] } as const;
      const { history } = await enter(0, text, place);
      const bytes = (history?.frames ?? []).join('').length;
      const outcomeWith = async (roomBytes: number) =>
        shown((await enter(1, text, place, { roomBytes })).history);
      expect(await outcomeWith(bytes)).toEqual({ outcome: 'resumed', events: 'b c' });
      expect(await outcomeWith(bytes - 1)).toEqual({ outcome: 'too-much', events: '' });
    });

    it('replays the last events to a newcomer whose rule says so, and to no other', async () => {
      const { at, enter } = await stage();
      for (const event of ['a', 'b', 'c']) {
        await at(0).publish(app, 'replay-x', event);
        await at(0).publish(app, 'few-x', event);
      }
      const stock = async (text: string) => shown((await enter(1, text, undefined)).history);
      expect(await stock('replay-x')).toEqual({ outcome: undefined, events: 'b c' });
      expect((await stock('few-x'))?.events ?? '').toBe('');
      const begun = await enter(1, 'replay-x', { after: 'none', socketIds: [] });
      expect(shown(begun.history)).toEqual({ outcome: 'begun', events: 'b c' });
    });

    it('forgets events that are too old, and keeps the place of a client that has the last one', async () => {
      const { at, advance, resume } = await stage();
      const text = 'few-x';
      // A quiet channel with a subscriber must not become a gap.
      await at(0).join(app, text);
      const first = await at(0).publish(app, text, 'a');
      await advance(30_000);
      const second = await at(0).publish(app, text, 'b');
      await advance(31_000);
      expect(await resume(1, text, first ?? '')).toEqual({ outcome: 'resumed', events: 'b' });
      await advance(40_000);
      expect(await resume(1, text, first ?? '')).toEqual({ outcome: 'forgotten', events: '' });
      expect(await resume(1, text, second ?? '')).toEqual({ outcome: 'resumed', events: '' });
    });

    it('returns the id of a cached event that is the newest of the history', async () => {
      const { at } = await stage();
      for (const n of NUMBERS) {
        const id = await at(n).publish(app, `cache-${n}`, 'a');
        expect((await at(n + 1).authority.cached(app, channel(`cache-${n}`)))?.id).toBe(id);
      }
    });

    it('forgets the cached event with the history, whichever loop is asked', async () => {
      const { at } = await stage();
      for (const n of NUMBERS) {
        const name = channel(`cache-${n}`);
        await at(n).publish(app, name.text, 'a');
        await at(n + 2).authority.forgetHistory(app, name);
        expect(await at(n + 1).authority.cached(app, name)).toBeUndefined();
        await at(n).publish(app, name.text, 'b');
        expect((await at(n + 1).authority.cached(app, name))?.name).toBe('b');
      }
    });

    it('is read in pages, on whichever loop, and forgotten on all', async () => {
      const { at, resume } = await stage();
      for (const n of NUMBERS) {
        const text = `few-${n}`;
        const ids: (EventId | undefined)[] = [];
        for (const event of ['a', 'b', 'c', 'd']) {
          const except = event === 'd' ? ('77.7' as never) : undefined;
          ids.push(await at(n + ids.length).publish(app, text, event, except));
        }
        const read = async (query: HistoryQuery) => {
          const page = await at(n + 1).authority.history(app, channel(text), query);
          const names = page.events.map(({ frame }) => JSON.parse(frame).event).join(' ');
          return [names, page.more, page.complete, page.lastId];
        };
        const lastId = ids[3];
        const newest = { order: 'newest-first', before: undefined } as const;
        expect(await read({ ...newest, limit: 2 })).toEqual(['d c', true, true, lastId]);
        expect(await read({ ...newest, limit: 0 })).toEqual(['', true, true, lastId]);
        const older = { order: 'newest-first', before: ids[2], limit: 2 } as const;
        expect(await read(older)).toEqual(['b', false, true, lastId]);
        const later = { order: 'oldest-first', limit: 2 } as const;
        expect(await read({ ...later, after: ids[1] as EventId })).toEqual([
          ...['c d', false, true, lastId],
        ]);
        expect(await read({ ...later, after: ids[0] as EventId })).toEqual([
          ...['b c', true, true, lastId],
        ]);
        expect(await read({ ...later, after: '9-aaaaaaaa' as EventId })).toEqual([
          ...['b c', true, false, lastId],
        ]);
        const { events } = await at(n).authority.history(app, channel(text), {
          ...newest,
          limit: 1,
        });
        expect(events[0]).toMatchObject({ id: lastId, except: '77.7' });
        await at(n + 2).authority.forgetHistory(app, channel(text));
        expect(await read({ ...newest, limit: 2 })).toEqual([
          ...['', false, true, expect.stringMatching(/^0-/)],
        ]);
        expect(await resume(n, text, lastId ?? '')).toEqual({ outcome: 'forgotten', events: '' });
      }
    });

    it('publishes an event once that is repeated with its idempotency key, on whichever loop', async () => {
      const { at, settled } = await stage();
      const publish = (n: number, text: string, key: string, of = app) =>
        at(n).publish(of, text, `${key}-${n}`, undefined, key);
      for (const n of NUMBERS) {
        for (const text of [`few-once-${n}`, `cache-once-${n}`, `plain-${n}`]) {
          await at(n).join(app, text);
          await at(n).join(other, text);
          const id = await publish(0, text, 'a');
          expect(id === undefined).toBe(text.startsWith('plain'));
          expect(await publish(1, text, 'a')).toBe(id as EventId);
          expect(await publish(0, text, 'a')).toBe(id as EventId);
          await publish(2, text, 'A');
          await at(1).publish(app, text, 'none');
          await at(2).publish(app, text, 'none');
          await publish(1, text, 'a', other);
          await settled();
          expect(at(n).received(app, text)).toEqual(['a-0', 'A-2', 'none', 'none']);
          expect(at(n).received(other, text)).toEqual(['a-1']);
        }
      }
    });

    it('forgets an idempotency key after five minutes', async () => {
      const { at, advance, settled } = await stage();
      await at(0).join(app, 'news');
      const publish = () => at(1).publish(app, 'news', 'e', undefined, 'k');
      await publish();
      await advance(299_000);
      await publish();
      await settled();
      expect(at(0).received(app, 'news')).toEqual(['e']);
      await advance(2000);
      await publish();
      await settled();
      expect(at(0).received(app, 'news')).toEqual(['e']);
    });

    it('accepts no place of another app', async () => {
      const { at, resume, enter } = await stage();
      const id = await at(0).publish(other, 'few-x', 'theirs');
      await at(0).publish(app, 'few-x', 'ours');
      expect(await resume(1, 'few-x', id ?? '')).toEqual({ outcome: 'forgotten', events: '' });
      const place = { after: id ?? 'none', socketIds: [] } as const;
      const { history } = await enter(1, 'few-x', place, { of: other });
      expect(shown(history)).toEqual({ outcome: 'resumed', events: '' });
    });
  });
}
