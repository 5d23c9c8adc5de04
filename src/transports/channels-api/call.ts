import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { ApiRefusal } from './problems.ts';
import type { HistoryPages } from './queries/history-pages.ts';
import type { Listings } from './queries/listings.ts';
import type { Parameter } from './query.ts';

/** One authenticated request. */
export interface Call {
  readonly hub: Hub;
  readonly listings: Listings;
  readonly histories: HistoryPages;
  readonly app: App;
  /** The key that signed the request. */
  readonly key: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: Uint8Array;
  /** The channel in the path, decoded but not checked. */
  readonly channelText: string;
  /** The user in the path, decoded but not checked. */
  readonly userId: string;
}

/** What an endpoint returns: JSON text, perhaps in parts, a status without a body, or a refusal. */
export type Answer =
  | { readonly json: string }
  | { readonly parts: readonly string[] }
  | { readonly status: 202 }
  | ApiRefusal;

export type ChannelsEndpoint = (call: Call) => MaybePromise<Answer>;

/** The most common answer; libraries compare it byte by byte. Source: Channels protocol, §14.3. */
export const EMPTY: Answer = { json: '{}' };
