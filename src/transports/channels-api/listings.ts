import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../channels/app.ts';
import { ask } from '../../channels/engine-failure.ts';
import type { Hub } from '../../channels/hub.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { ChannelCounts, ChannelWalk } from '../../channels/ports.ts';
import type { ApiRefusal } from './problems.ts';
import { rateLimited } from './refuse-usage.ts';

/** Channels of one page of a listing: what takes a millisecond or so. */
const PAGE_CHANNELS = 1_000;

/** So many listed channels cost as much as one question about one of them. */
const LISTED_PER_QUERY = 10;

/** And so many that are looked at, whether they are listed or not. */
const EXAMINED_PER_QUERY = 50;

/** Listings of one app that take more than a turn, the waiting ones included. */
const LISTINGS_MAX = 8;

export interface ListingQuery {
  /** What the names of the channels start with. */
  readonly prefix: string;
  /** What is said of a channel, as JSON. */
  readonly textOf: (counts: ChannelCounts) => string;
}

export type Listed = { readonly json: string } | ApiRefusal;

interface Waiting {
  readonly listing: Listing;
  readonly resolve: (listed: Listed) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lists the occupied channels of apps. A short list is answered at once. Of all others together one page is made in each
 * turn of the loop, of each app in turn, and of one app one list after the other: only the first holds any memory.
 */
export class Listings {
  private readonly hub: Hub;
  /** By app, in the order in which it is their turn; none is empty. */
  private readonly queues = new Map<string, Waiting[]>();
  private isWorking = false;

  constructor(hub: Hub) {
    this.hub = hub;
  }

  answer(app: App, query: ListingQuery): MaybePromise<Listed> {
    const counted = ask('channelCountOf', () => this.hub.roster.channelCountOf(app));
    return after(counted, (count) => {
      const isLong = count > PAGE_CHANNELS;
      if (isLong && (this.queues.get(app.id)?.length ?? 0) >= LISTINGS_MAX) {
        return rateLimited(`Too many listings at the same time: at most ${LISTINGS_MAX}`);
      }
      // Before it begins, so that nobody begins many before the first of them is paid for.
      this.hub.usage.chargeQueries(app, Math.floor(count / EXAMINED_PER_QUERY));
      return after(this.begin(app, query), (listing) => {
        if (isLong) return this.queue(app, listing);
        return after(listing.addPage(), (isWhole) =>
          isWhole ? listing.answer() : this.queue(app, listing),
        );
      });
    });
  }

  private begin(app: App, { prefix, textOf }: ListingQuery): MaybePromise<Listing> {
    const { roster, usage } = this.hub;
    const walk = ask('channels', () => roster.channels(app, { prefix, after: undefined }));
    return after(
      walk,
      (channels) =>
        new Listing({
          walk: channels,
          textOf,
          charge: (queries) => usage.chargeQueries(app, queries),
        }),
    );
  }

  private queue(app: App, listing: Listing): Promise<Listed> {
    const { promise, resolve, reject } = Promise.withResolvers<Listed>();
    const waiting = { listing, resolve, reject };
    const queue = this.queues.get(app.id);
    if (queue === undefined) this.queues.set(app.id, [waiting]);
    else queue.push(waiting);
    if (!this.isWorking) void this.work();
    return promise;
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    for (let [next] = this.queues; next !== undefined; [next] = this.queues) {
      await nextTurn();
      const [appId, queue] = next;
      // To the end of the line.
      this.queues.delete(appId);
      this.queues.set(appId, queue);
      await this.advance(appId, queue);
    }
    this.isWorking = false;
  }

  private async advance(appId: string, queue: Waiting[]): Promise<void> {
    const [first] = queue;
    if (first === undefined) throw new Error('An app waits for nothing');
    const { listing, resolve, reject } = first;
    try {
      if (!(await listing.addPage())) return;
      resolve(listing.answer());
    } catch (error) {
      // Only this listing fails.
      reject(error);
    }
    queue.shift();
    if (queue.length === 0) this.queues.delete(appId);
  }
}

interface ListingOptions {
  readonly walk: ChannelWalk;
  readonly textOf: (counts: ChannelCounts) => string;
  readonly charge: (queries: number) => void;
}

/** One list on its way. */
class Listing {
  private readonly options: ListingOptions;
  private text = '';

  constructor(options: ListingOptions) {
    this.options = options;
  }

  /** Returns whether that was the last page. */
  addPage(): MaybePromise<boolean> {
    const { walk, textOf, charge } = this.options;
    return after(
      ask('page', () => walk.page(PAGE_CHANNELS)),
      ({ channels, next }) => {
        charge(Math.floor(channels.length / LISTED_PER_QUERY));
        const texts: string[] = [];
        for (const [name, counts] of channels) {
          // Channels of users are internal. No other name needs escaping in JSON.
          if (!name.startsWith('#')) texts.push(`"${name}":${textOf(counts)}`);
        }
        if (texts.length > 0) this.text += `${this.text === '' ? '' : ','}${texts.join(',')}`;
        return next === undefined;
      },
    );
  }

  answer(): Listed {
    return { json: `{"channels":{${this.text}}}` };
  }
}
