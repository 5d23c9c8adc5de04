import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { App, HistoryRule } from '../../channels/app.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { appWith, channelName, FakeClock, socketId } from '../../channels/hub.fixture.ts';
import { eventMessage } from '../../channels/wire.ts';
import { Histories } from './histories.ts';
import { decodeSaved, encodeSaved } from './saved-history.ts';

const RULE: HistoryRule = { channels: '*', seconds: 60, events: 100, bytes: 1e6, replay: 0 };

const limits = { ...appWith().limits, historyBytes: 0 };

const appOf = (id: string, rule: Partial<HistoryRule> = {}) =>
  appWith({ id, limits, history: [{ ...RULE, ...rule }] });

function home(clock = new FakeClock()) {
  const histories = new Histories({
    idleMax: 100_000,
    timers: clock,
    meter: { count: () => undefined },
    bytesMax: 1e9,
    homes: 1,
    isOccupied: () => false,
  });
  return {
    clock,
    histories,
    publish(app: App, channel: string, data: string, except?: string) {
      const rule = historyRuleOf(app, channelName(channel).text);
      if (rule === undefined) throw new Error('no rule');
      const { text } = channelName(channel);
      const makeFrame = (id?: EventId) => eventMessage('e', text, data, id);
      const from = except === undefined ? undefined : socketId(except);
      const event = { app, channel: text, makeFrame, except: from };
      return histories.append(event, rule).id;
    },
    /** The data of the events after a place, or why there are none. */
    after(app: App, channel: string, place: EventId, own = '9.9') {
      const rule = historyRuleOf(app, channelName(channel).text);
      if (rule === undefined) return 'no rule';
      const found = histories.enter({
        app,
        channel: channelName(channel).text,
        rule,
        request: { place: { after: place, socketIds: [] }, roomBytes: 1e9 },
        socketId: socketId(own),
      });
      return found?.outcome === 'resumed'
        ? found.frames.map((frame) => JSON.parse(frame).data)
        : found?.outcome;
    },
    restore(saved: readonly Uint8Array[], apps: readonly App[], isMine = true) {
      histories.restore(decodeSaved(Buffer.concat(saved)), {
        appOf: (id) => apps.find((app) => app.id === id),
        isHome: () => isMine,
      });
    },
  };
}

const saved = (of: ReturnType<typeof home>) => encodeSaved(of.histories.save());

describe('histories that were saved', () => {
  it('continue where they were', () => {
    const before = home();
    const [app, other] = [appOf('1'), appOf('2')];
    const first = before.publish(app, 'a', '1');
    const quiet = before.publish(app, 'b', 'ü "quoted"\n');
    before.publish(app, 'a', '2', '1.1');
    before.publish(other, 'a', 'of the other');
    const last = before.publish(app, 'a', '3');

    const after = home(before.clock);
    after.restore([saved(before)], [app, other]);
    expect(after.histories.size).toEqual(before.histories.size);
    expect(after.after(app, 'a', first)).toEqual(['2', '3']);
    expect(after.after(app, 'a', first, '1.1')).toEqual(['3']);
    expect(after.after(app, 'b', quiet)).toEqual([]);
    expect(after.publish(app, 'a', '4')).toStartWith('4-');
    expect(after.after(app, 'a', last)).toEqual(['4']);
  });

  it('of channels whose events are all forgotten are no gap', () => {
    const before = home();
    const app = appOf('1', { seconds: 1 });
    const id = before.publish(app, 'a', '1');
    before.clock.advance(10_000);
    const after = home(before.clock);
    after.restore([saved(before)], [app]);
    expect(after.histories.size.events).toBe(0);
    expect(after.after(app, 'a', id)).toEqual([]);
  });

  it('keep what today’s rules and limits allow', () => {
    const before = home();
    const ids = ['1', '2', '3', '4'].map((data) => before.publish(appOf('1'), 'a', data));
    const text = saved(before);
    const few = home();
    few.restore([text], [appOf('1', { events: 2 })]);
    const [first, second] = ids as [EventId, EventId];
    expect(few.after(appOf('1', { events: 2 }), 'a', first)).toBe('forgotten');
    expect(few.after(appOf('1', { events: 2 }), 'a', second)).toEqual(['3', '4']);
    for (const apps of [
      [],
      [appOf('1', { channels: 'b' })],
      [appWith({ ...appOf('1'), enabled: false })],
    ]) {
      const none = home();
      none.restore([text], apps);
      expect(none.histories.size.events).toBe(0);
    }
  });

  it('are divided among their homes, from the parts of any number of loops', () => {
    const [one, two] = [home(), home()];
    const app = appOf('1');
    const [a, b] = [one.publish(app, 'a', '1'), two.publish(app, 'b', '1')];
    const parts = [saved(one), saved(two)];
    const all = home();
    all.restore(parts, [app]);
    expect([all.after(app, 'a', a), all.after(app, 'b', b)]).toEqual([[], []]);
    const none = home();
    none.restore(parts, [app], false);
    expect(none.after(app, 'a', a)).toBe('forgotten');
  });

  it('do not live longer because the clock was set back', () => {
    const before = home();
    const app = appOf('1');
    before.clock.advance(3_600_000);
    const id = before.publish(app, 'a', '1');
    before.publish(app, 'a', '2');
    const after = home();
    after.restore([saved(before)], [app]);
    expect(after.after(app, 'a', id)).toEqual(['2']);
    after.clock.advance(61_000);
    expect(after.histories.page(app, channelName('a').text, { limit: 9 } as never).events).toEqual(
      [],
    );
  });

  it('accept no more events', () => {
    const before = home();
    before.publish(appOf('1'), 'a', '1');
    saved(before);
    expect(() => before.publish(appOf('1'), 'a', '2')).toThrow('The server is about to stop');
  });

  it('are refused as a whole if anything is wrong with them', () => {
    const before = home();
    const app = appOf('1');
    const id = before.publish(app, 'a', '1');
    before.publish(app, 'a', '2');
    const lines = Buffer.from(saved(before)).toString().split('\n').slice(0, -1);
    const wrong: readonly string[][] = [
      [...lines, 'x'],
      [...lines, '["e","1","a"]'],
      [...lines.slice(0, 1), ...lines.slice(2)],
      lines.slice(1),
      lines.map((line) => line.replace('"2-', '"3-')),
      lines.map((line) => line.replaceAll('"a"', '"a b"')),
    ];
    for (const text of wrong) {
      const after = home(before.clock);
      expect(() => after.restore([Buffer.from(`${text.join('\n')}\n`)], [app])).toThrow();
      expect(after.histories.size.events).toBe(0);
      expect(after.after(app, 'a', id)).toBe('forgotten');
    }
    const torn = home(before.clock);
    expect(() => torn.restore([Buffer.from(lines.join('\n'))], [app])).toThrow('no end');
  });

  it('answer each place as before', () => {
    const app = appOf('1', { events: 3 });
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 20 }), (channels) => {
        const before = home();
        const ids = channels.map((channel, n) => [
          channel,
          before.publish(app, channel, String(n)),
        ]);
        const text = saved(before);
        const after = home(before.clock);
        after.restore([text], [app]);
        for (const [channel = '', id] of ids) {
          expect(after.after(app, channel, id as EventId)).toEqual(
            before.after(app, channel, id as EventId),
          );
        }
      }),
    );
  });
});
