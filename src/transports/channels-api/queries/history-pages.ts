import type { App } from '../../../channels/app.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import { ask } from '../../../channels/engine-failure.ts';
import type { HistoryPage, HistoryQuery, StoredEvent } from '../../../channels/history/page.ts';
import type { Hub } from '../../../channels/hub.ts';
import { after, attempt, type MaybePromise } from '../../../channels/maybe-promise.ts';
import { eventParts } from '../../../channels/wire.ts';
import type { ApiRefusal } from '../problems.ts';
import { rateLimited } from '../refuse-usage.ts';
import { AppTurns, type Work } from './app-turns.ts';

/** Pages of an app that are read or written at the same time. */
const PAGES_MAX = 8;

/** Requests of an app that wait for one of these. */
const WAITING_MAX = 256;

/** Characters of events that are written in one turn of the loop. They take about half a millisecond. */
const WRITTEN_AT_ONCE = 65_536;

/** Events that cost as much as one query. */
const EVENTS_PER_QUERY = 10;

/** JSON text, perhaps in parts. */
type PageAnswer = { readonly json: string } | { readonly parts: readonly string[] } | ApiRefusal;

/** The pages of an app that are being read or written, and its waiting requests. */
interface Pages {
  running: number;
  readonly waiting: (() => void)[];
}

/** Reads pages of histories. A long page is written in several turns of the loop, and apps take turns. */
export class HistoryPages {
  private readonly hub: Hub;
  private readonly turns = new AppTurns();
  private readonly byApp = new Map<string, Pages>();

  constructor(hub: Hub) {
    this.hub = hub;
  }

  /** The answer to a backend. */
  answer(app: App, channel: ChannelName, query: HistoryQuery): MaybePromise<PageAnswer> {
    if ((this.byApp.get(app.id)?.waiting.length ?? 0) >= WAITING_MAX) {
      return rateLimited(`Too many pages of histories at the same time: at most ${WAITING_MAX}`);
    }
    return this.inTurn(app, () =>
      after(this.page(app, channel, query), (page) => {
        const text = new PageText(page, { channel, query });
        if (!text.isShort) return this.turns.run(app.id, text).then(() => ({ parts: text.parts }));
        text.step();
        return { json: text.parts.join('') };
      }),
    );
  }

  /** A page for an operator, not in the same turn of the loop as other long ones. */
  read(app: App, channel: ChannelName, query: HistoryQuery): MaybePromise<HistoryPage> {
    return this.inTurn(app, () =>
      after(this.page(app, channel, query), async (page) => {
        await this.turns.run(app.id, { step: () => true });
        return page;
      }),
    );
  }

  private page(app: App, channel: ChannelName, query: HistoryQuery): MaybePromise<HistoryPage> {
    const { authority, usage } = this.hub;
    return after(
      ask('history', () => authority.history(app, channel, query)),
      (page) => {
        usage.chargeQueries(app, Math.floor(page.events.length / EVENTS_PER_QUERY));
        return page;
      },
    );
  }

  /** Runs something now, or when fewer pages of the app are in progress. */
  private inTurn<T>({ id }: App, run: () => MaybePromise<T>): MaybePromise<T> {
    const pages = this.byApp.get(id) ?? { running: 0, waiting: [] };
    this.byApp.set(id, pages);
    if (pages.running < PAGES_MAX) return this.run(id, pages, run);
    const { promise, resolve } = Promise.withResolvers<T>();
    pages.waiting.push(() => resolve(this.run(id, pages, run)));
    return promise;
  }

  private run<T>(appId: string, pages: Pages, run: () => MaybePromise<T>): MaybePromise<T> {
    pages.running++;
    const done = () => {
      pages.running--;
      const next = pages.waiting.shift();
      if (next !== undefined) next();
      else if (pages.running === 0) this.byApp.delete(appId);
    };
    const result = attempt(run);
    if (result instanceof Promise) return result.finally(done);
    done();
    return result;
  }
}

interface Asked {
  readonly channel: ChannelName;
  readonly query: HistoryQuery;
}

/** The JSON text of a page while it is written. */
class PageText implements Work {
  readonly parts: string[] = ['{"events":['];
  private readonly page: HistoryPage;
  private readonly asked: Asked;
  private written = 0;

  constructor(page: HistoryPage, asked: Asked) {
    this.page = page;
    this.asked = asked;
  }

  /** Whether one step is enough. */
  get isShort(): boolean {
    let length = 0;
    for (const { frame } of this.page.events) length += frame.length;
    return length < WRITTEN_AT_ONCE;
  }

  step(): boolean {
    const { events } = this.page;
    let units = 0;
    do {
      const event = events[this.written];
      if (event === undefined) {
        this.parts.push(this.end());
        return true;
      }
      this.parts.push(`${this.written > 0 ? ',' : ''}${this.textOf(event)}`);
      this.written++;
      units += event.frame.length;
    } while (units < WRITTEN_AT_ONCE);
    return false;
  }

  private textOf({ id, frame, timeMs, except }: StoredEvent): string {
    const { name, data } = eventParts(frame, this.asked.channel.text, id);
    const socket = except === undefined ? '' : `,"socket_id":"${except}"`;
    return `{"id":"${id}","name":${name},"data":${data},"time_ms":${timeMs}${socket}}`;
  }

  private end(): string {
    const { lastId = null, more, complete } = this.page;
    const isOldestFirst = this.asked.query.order === 'oldest-first';
    return `],${JSON.stringify({ last_id: lastId, more, ...(isOldestFirst ? { complete } : {}) }).slice(1)}`;
  }
}
