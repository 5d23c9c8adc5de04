import { describe, expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../../channels/app.ts';
import { newEventId } from '../../../channels/history/event-id.ts';
import type { HistoryPage } from '../../../channels/history/page.ts';
import { appWith, channelName, hubWith, LateEngine } from '../../../channels/hub.fixture.ts';
import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import { eventMessage } from '../../../channels/wire.ts';
import type { Answer } from '../call.ts';
import { HistoryPages } from './history-pages.ts';

const CHANNEL = channelName('kept');
const QUERY = { order: 'newest-first', before: undefined, limit: 1000 } as const;
const appOf = (id: string, queriesPerSecond = 0): App => {
  const app = appWith({ id });
  return { ...app, limits: { ...app.limits, queriesPerSecond } };
};

function pageOf(events: number, bytes: number): HistoryPage {
  return {
    events: Array.from({ length: events }, (_, n) => {
      const id = newEventId(n);
      const frame = eventMessage(`e${n}`, CHANNEL.text, 'x'.repeat(bytes), id);
      return { id, frame, timeMs: n, except: undefined };
    }),
    lastId: undefined,
    more: false,
    complete: true,
  };
}

/** An engine with the same page for everybody. `isLate`: it answers when the test says so. */
function stage(page: HistoryPage, { isLate = false } = {}) {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const engine = Object.assign(new LateEngine(), {
    history(app: App): MaybePromise<HistoryPage> {
      asked.push(app.id);
      if (!isLate) return page;
      const { promise, resolve } = Promise.withResolvers<HistoryPage>();
      answers.push(() => resolve(page));
      return promise;
    },
  });
  const hub = hubWith(engine);
  return { hub, asked, answers, pages: new HistoryPages(hub) };
}

function namesOf(answer: Answer): readonly string[] {
  const text = 'parts' in answer ? answer.parts.join('') : 'json' in answer ? answer.json : '';
  return JSON.parse(text).events.map(({ name }: { readonly name: string }) => name);
}

describe('pages of histories', () => {
  it('are answered at once if they are short, however many there are', () => {
    const { pages } = stage(pageOf(2, 100));
    for (let n = 0; n < 1000; n++) {
      const answer = pages.answer(appOf('a'), CHANNEL, QUERY);
      expect(answer instanceof Promise ? [] : namesOf(answer)).toEqual(['e0', 'e1']);
    }
  });

  it('are written in several turns if they are long, of each app in turn', async () => {
    const { pages } = stage(pageOf(10, 40_000));
    const done: string[] = [];
    const all = ['a', 'a', 'a', 'b'].map(async (id) => {
      expect(namesOf(await pages.answer(appOf(id), CHANNEL, QUERY))).toHaveLength(10);
      done.push(id);
    });
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(done).toEqual([]);
    await Promise.all(all);
    expect(done).toEqual(['a', 'b', 'a', 'a']);
  });

  it('are read eight at a time for an app; 256 wait, and more are refused with 429', async () => {
    const { pages, asked, answers } = stage(pageOf(1, 100), { isLate: true });
    const a = appOf('a');
    const begun = Array.from({ length: 8 + 256 }, () => pages.answer(a, CHANNEL, QUERY));
    expect(asked).toHaveLength(8);
    expect(pages.answer(a, CHANNEL, QUERY)).toMatchObject({ problem: 'rate-limited' });
    const other = pages.answer(appOf('b'), CHANNEL, QUERY);
    expect(asked.at(-1)).toBe('b');
    while (answers.length > 0) {
      answers.shift()?.();
      await nextTurn();
    }
    expect(asked).toHaveLength(8 + 256 + 1);
    for (const answer of [...begun, other]) expect(namesOf(await answer)).toEqual(['e0']);
  });

  it('cost one query more per ten events', () => {
    const { hub, pages } = stage(pageOf(50, 10));
    const app = appOf('a', 6);
    expect(hub.usage.takeQuery(app)).toBe(true);
    void pages.answer(app, CHANNEL, QUERY);
    expect(hub.usage.takeQuery(app)).toBe(false);
  });

  it('of an app are read again after one could not be read', async () => {
    const { hub, pages } = stage(pageOf(1, 10));
    const { history } = hub.authority;
    const broken = () => Promise.reject(new Error('The authority is gone'));
    Object.assign(hub.authority, { history: broken });
    for (let n = 0; n < 8; n++) {
      await expect(Promise.resolve(pages.answer(appOf('a'), CHANNEL, QUERY))).rejects.toThrow();
    }
    Object.assign(hub.authority, { history });
    expect(namesOf(await pages.answer(appOf('a'), CHANNEL, QUERY))).toEqual(['e0']);
  });
});
