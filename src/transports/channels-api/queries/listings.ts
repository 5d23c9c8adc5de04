import type { App } from '../../../channels/app.ts';
import { ask } from '../../../channels/engine-failure.ts';
import type { Hub } from '../../../channels/hub.ts';
import { after, type MaybePromise } from '../../../channels/maybe-promise.ts';
import type { ChannelCounts, ChannelWalk } from '../../../channels/ports.ts';
import type { ApiRefusal } from '../problems.ts';
import { rateLimited } from '../refuse-usage.ts';
import { AppTurns } from './app-turns.ts';

/** Channels per page. A page takes about a millisecond. */
const PAGE_CHANNELS = 1_000;

/** Listed channels that cost as much as one query. */
const LISTED_PER_QUERY = 10;

/** Channels that cost as much as one query to look at, whether they are listed or not. */
const EXAMINED_PER_QUERY = 50;

/** The limit of an app's listings with more than one page, including waiting ones. */
const LISTINGS_MAX = 8;

export interface ListingQuery {
  /** The start of the channels' names. */
  readonly prefix: string;
  /** Returns the JSON for one channel. */
  readonly textOf: (counts: ChannelCounts) => string;
}

export type Listed = { readonly json: string } | ApiRefusal;

/**
 * Lists the occupied channels of apps. A list with one page is answered at once. Longer ones are built with one page
 * per turn of the loop, and apps take turns.
 */
export class Listings {
  private readonly hub: Hub;
  private readonly turns = new AppTurns();

  constructor(hub: Hub) {
    this.hub = hub;
  }

  answer(app: App, query: ListingQuery): MaybePromise<Listed> {
    const counted = ask('channelCountOf', () => this.hub.authority.channelCountOf(app));
    return after(counted, (count) => {
      const isLong = count > PAGE_CHANNELS;
      if (isLong && this.turns.countOf(app.id) >= LISTINGS_MAX) {
        return rateLimited(`Too many listings at the same time: at most ${LISTINGS_MAX}`);
      }
      // Charged before it begins, so that an app cannot begin many before the first is charged.
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
    const { authority, usage } = this.hub;
    const walk = ask('channels', () => authority.channels(app, { prefix, after: undefined }));
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
    return this.turns.run(app.id, { step: () => listing.addPage() }).then(() => listing.answer());
  }
}

interface ListingOptions {
  readonly walk: ChannelWalk;
  readonly textOf: (counts: ChannelCounts) => string;
  readonly charge: (queries: number) => void;
}

/** One list while it is made. */
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
