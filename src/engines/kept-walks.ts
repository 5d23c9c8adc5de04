import type { App } from '../channels/app.ts';
import { after, type MaybePromise } from '../channels/maybe-promise.ts';
import type { Authority, ChannelPage, ChannelQuery, ChannelWalk } from '../channels/ports.ts';
import { Recent } from '../runtime/recent.ts';

/** The limit of kept walks. Beyond it, the oldest is dropped. */
const KEPT_MAX = 16;

/**
 * Answers requests for single pages of channels. Keeps the walk behind each page: a new walk would have to skip all
 * earlier channels, which takes 5 ms for 100,000.
 */
export class KeptWalks {
  private readonly authority: Pick<Authority, 'channels'>;
  /** By the position where they continue. Oldest first. */
  private readonly walks = new Recent<string, ChannelWalk>(KEPT_MAX);

  constructor(authority: Pick<Authority, 'channels'>) {
    this.authority = authority;
  }

  /** Returns the page that `query` asks for. */
  page(
    app: App,
    { limit, ...query }: ChannelQuery & { readonly limit: number },
  ): MaybePromise<ChannelPage> {
    const walk = this.take(app, query) ?? this.authority.channels(app, query);
    return after(walk.page(limit), (page) => {
      if (page.next !== undefined)
        this.walks.set(nameOf(app, { ...query, after: page.next }), walk);
      return page;
    });
  }

  /** Removes a walk: while one page is awaited, no other may be requested. */
  private take(app: App, query: ChannelQuery): ChannelWalk | undefined {
    if (query.after === undefined) return undefined;
    return this.walks.take(nameOf(app, query));
  }
}

function nameOf(app: App, { prefix, after: position }: ChannelQuery): string {
  return `${app.id} ${position} ${prefix}`;
}
