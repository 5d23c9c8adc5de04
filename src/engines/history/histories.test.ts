import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { App, HistoryRule } from '../../channels/app.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { appWith, channelName, FakeClock, socketId } from '../../channels/hub.fixture.ts';
import { eventMessage } from '../../channels/wire.ts';
import { keptBytes } from './channel-history.ts';
import { Histories } from './histories.ts';

const RULE: HistoryRule = { channels: '*', seconds: 60, events: 100, bytes: 1e6, replay: 0 };
const MINUTE_MS = 60_000;

interface Bounds {
  readonly rule?: Partial<HistoryRule>;
  readonly bytesMax?: number;
  readonly historyBytes?: number;
  readonly homes?: number;
  readonly idleMax?: number;
}

function stage({
  rule = {},
  bytesMax = 1e9,
  historyBytes = 0,
  homes = 1,
  idleMax = 1_000,
}: Bounds = {}) {
  const clock = new FakeClock();
  const occupied = new Set<string>();
  const forgotten: string[] = [];
  const histories = new Histories({
    idleMax,
    timers: clock,
    meter: { count: (_, by, limit) => forgotten.push(...Array<string>(by).fill(limit)) },
    bytesMax,
    homes,
    isOccupied: (_, channel) => occupied.has(channel),
  });
  const limits = { ...appWith().limits, historyBytes };
  const app = appWith({ limits, history: [{ ...RULE, ...rule }] });
  const ruleOf = (of: App, channel: string) => {
    const found = historyRuleOf(of, channelName(channel).text);
    if (found === undefined) throw new Error('The app has no rule');
    return found;
  };
  return {
    clock,
    occupied,
    forgotten,
    histories,
    app,
    neighbour: appWith({ id: 'neighbour', limits, history: app.history }),
    publish(data: string, { channel = 'x', of = app, except = '' } = {}) {
      const text = channelName(channel).text;
      const makeFrame = (id?: EventId) => eventMessage('e', text, data, id);
      const from = except === '' ? undefined : socketId(except);
      const event = { app: of, channel: text, makeFrame, except: from };
      return histories.append(event, ruleOf(of, channel)).id;
    },
    /** What a client gets that enters a channel. */
    resume(
      after: string,
      { channel = 'x', of = app, socketIds = [] as string[], room = 1e9, own = '9.9' } = {},
    ) {
      const found = histories.enter({
        app: of,
        channel: channelName(channel).text,
        rule: ruleOf(of, channel),
        request: { place: { after: after as EventId, socketIds }, roomBytes: room },
        socketId: socketId(own),
      });
      if (found === undefined) throw new Error('A client that can resume gets an answer');
      const { id, outcome, frames } = found;
      const data = frames.map((frame) => JSON.parse(frame).data).join(' ');
      return { id, got: outcome === 'resumed' || outcome === 'begun' ? data : outcome };
    },
    replay(room = 1e9) {
      const found = histories.enter({
        app,
        channel: channelName('x').text,
        rule: ruleOf(app, 'x'),
        request: { place: undefined, roomBytes: room },
        socketId: socketId('9.9'),
      });
      return found?.frames.map((frame) => JSON.parse(frame).data).join(' ');
    },
  };
}

/** What one event of a byte counts for. */
const EVENT_BYTES = keptBytes('{"event":"e","channel":"x","data":"1","id":"1-12345678"}');

describe('a place to resume from', () => {
  it('is every kept event, the one before them, and the beginning of an empty history', () => {
    const { publish, resume } = stage({ rule: { events: 3 } });
    const start = resume('none').id;
    expect(resume(start).got).toBe('');
    const ids = ['1', '2', '3', '4', '5'].map((data) => publish(data));
    expect([start, ...ids].map((id) => resume(id).got)).toEqual([
      'forgotten',
      'forgotten',
      '3 4 5',
      '4 5',
      '5',
      '',
    ]);
  });

  it('is no id of another channel, of another app, of the future, or that is made up', () => {
    const { publish, resume, neighbour } = stage();
    const other = publish('1', { channel: 'y' });
    const foreign = publish('1', { of: neighbour });
    const id = publish('1');
    const half = id.slice(2);
    for (const bad of [other, foreign, `2-${half}`, `0-${half}`, '1-aaaaaaaa', 'unknown']) {
      expect(resume(bad)).toEqual({ id, got: 'forgotten' });
    }
  });

  it('is lost when the rule is gone for a moment', () => {
    const { publish, resume, histories, app } = stage();
    const id = publish('1');
    const { history } = app;
    Object.assign(app, { history: [] });
    histories.review();
    Object.assign(app, { history });
    expect(histories.size).toEqual({ events: 0, bytes: 0 });
    expect(resume(id).got).toBe('forgotten');
  });

  it('returns no event that excluded one of the connections of the client', () => {
    const { publish, resume } = stage();
    const start = resume('none').id;
    for (const [n, except] of ['1.1', '', '2.2', '3.3', '9.9'].entries()) {
      publish(String(n), { except });
    }
    expect(resume(start, { socketIds: ['1.1', '3.3'] }).got).toBe('1 2');
    expect(resume(start, { own: '2.2' }).got).toBe('0 1 3 4');
  });
});

describe('more than may be sent at once', () => {
  it('is a gap from the first byte too many', () => {
    const { publish, resume } = stage();
    const start = resume('none').id;
    publish('é');
    publish('2');
    const bytes = ['é', '2'].reduce((sum, data, n) => {
      const frame = `{"event":"e","channel":"x","data":"${data}","id":"${n + 1}-12345678"}`;
      return sum + Buffer.byteLength(frame);
    }, 0);
    expect(resume(start, { room: bytes }).got).toBe('é 2');
    expect(resume(start, { room: bytes - 1 }).got).toBe('too-much');
  });
});

describe('a replay', () => {
  it('is the last events, oldest first, as many as there is room for', () => {
    const { publish, replay } = stage({ rule: { replay: 2 } });
    expect(replay()).toBeUndefined();
    for (const data of ['1', '2', '3']) publish(data);
    expect(replay()).toBe('2 3');
    expect(replay(100)).toBe('3');
    expect(replay(0)).toBe('');
  });

  it('goes to a client that has no place yet as well', () => {
    const { publish, resume } = stage({ rule: { replay: 2 } });
    for (const data of ['1', '2', '3']) publish(data);
    expect(resume('none').got).toBe('2 3');
  });
});

describe('a history forgets', () => {
  it('events that are too old, whether anybody asks or not', () => {
    const { publish, resume, clock, histories, forgotten } = stage();
    const first = publish('1');
    clock.advance(30_000);
    const second = publish('2');
    clock.advance(30_000);
    expect(histories.size.events).toBe(1);
    expect(resume(first).got).toBe('2');
    clock.advance(31_000);
    expect(histories.size).toEqual({ events: 0, bytes: 0 });
    expect([first, second].map((id) => resume(id).got)).toEqual(['forgotten', '']);
    expect(forgotten).toEqual(['seconds', 'seconds']);
  });

  it('the oldest events of a channel beyond its bytes', () => {
    const { publish, resume, forgotten } = stage({ rule: { bytes: 2 * EVENT_BYTES } });
    const ids = ['1', '2', '3'].map((data) => publish(data));
    expect(ids.map((id) => resume(id).got)).toEqual(['2 3', '3', '']);
    expect(forgotten).toEqual(['bytes']);
  });

  it('everything when one event is larger than all may be', () => {
    const { publish, resume, histories } = stage({ rule: { bytes: 2 * EVENT_BYTES } });
    const ids = ['1', '2'.repeat(1000)].map((data) => publish(data));
    expect(histories.size.events).toBe(0);
    expect(ids.map((id) => resume(id).got)).toEqual(['forgotten', '']);
    expect(publish('3')).toStartWith('3-');
    expect(ids.map((id) => resume(id).got)).toEqual(['forgotten', '3']);
  });

  it('the oldest events of an app beyond its bytes, of whichever channel', () => {
    const { publish, resume, forgotten } = stage({ historyBytes: 3 * EVENT_BYTES });
    const x = [publish('1'), publish('2')];
    publish('1', { channel: 'y' });
    publish('2', { channel: 'y' });
    expect(x.map((id) => resume(id).got)).toEqual(['2', '']);
    expect(forgotten).toEqual(['app']);
  });

  it('events of the app with the most beyond the bytes of the server', () => {
    const { publish, resume, neighbour, forgotten } = stage({ bytesMax: 10 * EVENT_BYTES });
    const id = publish('1');
    publish('2');
    const theirs = Array.from({ length: 50 }, () => publish('1', { of: neighbour, channel: 'y' }));
    expect(resume(id).got).toBe('2');
    expect(resume(theirs[40] ?? '', { of: neighbour, channel: 'y' }).got).toBe('forgotten');
    expect(resume(theirs[45] ?? '', { of: neighbour, channel: 'y' }).got).toBe('1 1 1 1');
    expect(new Set(forgotten)).toEqual(new Set(['server']));
  });

  it('what its share of several homes cannot hold', () => {
    const bounds = { historyBytes: 4 * EVENT_BYTES, homes: 2 };
    const { publish, histories } = stage(bounds);
    for (const data of ['1', '2', '3']) publish(data);
    expect(histories.size.events).toBe(2);
  });

  it('counts a text beyond ASCII twice', () => {
    expect(keptBytes('aé')).toBe(keptBytes('aa') + 2);
  });
});

describe('an empty history', () => {
  it('stays while somebody is subscribed, and an hour longer', () => {
    const { resume, occupied, clock, histories, app } = stage();
    occupied.add('x');
    const { id } = resume('none');
    clock.advance(600 * MINUTE_MS);
    expect(resume(id).got).toBe('');
    occupied.delete('x');
    histories.vacated(app, channelName('x').text);
    clock.advance(59 * MINUTE_MS);
    expect(histories.newestOf(app, channelName('x').text)).toBe(id as EventId);
    clock.advance(3 * MINUTE_MS);
    expect(histories.newestOf(app, channelName('x').text)).toBeUndefined();
  });

  it('counts towards a limit: the app with the most loses its oldest', () => {
    const { resume, histories, app, neighbour } = stage({ idleMax: 10 });
    const vacated = (of: App, name: string) => {
      resume('none', { of, channel: name });
      histories.vacated(of, channelName(name).text);
    };
    const has = (of: App, name: string) =>
      histories.newestOf(of, channelName(name).text) !== undefined;
    vacated(app, 'mine');
    for (let n = 0; n < 100; n++) vacated(neighbour, `n${n}`);
    expect(has(app, 'mine')).toBe(true);
    expect(Array.from({ length: 100 }, (_, n) => has(neighbour, `n${n}`)).lastIndexOf(false)).toBe(
      90,
    );
    vacated(app, 'mine-2');
    expect([has(app, 'mine'), has(app, 'mine-2')]).toEqual([true, true]);
  });
});

it('never skips an event, whatever is published, forgotten and requested', () => {
  const step = fc.oneof(
    fc.record({ publish: fc.constantFrom('', '1.1', '2.2'), channel: fc.constantFrom('x', 'y') }),
    fc.record({ wait: fc.integer({ min: 1, max: 40_000 }) }),
  );
  const bounds = fc.record({
    rule: fc.record({
      events: fc.integer({ min: 1, max: 6 }),
      bytes: fc.constantFrom(EVENT_BYTES, 4 * EVENT_BYTES, 1e6),
    }),
    historyBytes: fc.constantFrom(0, 5 * EVENT_BYTES),
    bytesMax: fc.constantFrom(6 * EVENT_BYTES, 1e9),
  });
  fc.assert(
    fc.property(bounds, fc.array(step, { maxLength: 40 }), (limits, steps) => {
      const { publish, resume, clock } = stage(limits);
      const all: Record<string, { id: string; data: string; except: string }[]> = {
        x: [{ id: resume('none').id, data: '', except: '' }],
        y: [{ id: resume('none', { channel: 'y' }).id, data: '', except: '' }],
      };
      for (const one of steps) {
        if ('wait' in one) clock.advance(one.wait);
        else {
          const { channel, publish: except } = one;
          const events = all[channel] ?? [];
          const data = String(events.length % 10);
          events.push({ id: publish(data, { channel, except }), data, except });
        }
        for (const channel of ['x', 'y']) {
          const events = all[channel] ?? [];
          const answers = events.map(({ id }) => resume(id, { channel, socketIds: ['1.1'] }).got);
          const missed = events.map((_, n) => {
            const later = events.slice(n + 1).filter(({ except }) => except !== '1.1');
            return later.map(({ data }) => data).join(' ');
          });
          const firstOk = answers.findIndex((got) => got !== 'forgotten');
          // The newest is always a place, and so is every one after the first that is.
          expect(firstOk).toBeGreaterThanOrEqual(0);
          expect(answers.slice(firstOk)).toEqual(missed.slice(firstOk));
        }
      }
    }),
  );
});
