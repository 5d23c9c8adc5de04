import type { App } from './app.ts';
import type { ChannelName, ChannelText } from './channel-name.ts';
import type { Ask } from './live/ask.ts';
import type { SocketId } from './socket-id.ts';

/** An event for the subscribers of one channel. */
export interface ChannelEvent {
  readonly app: App;
  readonly channel: ChannelName;
  readonly name: string;
  /** Exactly what the publisher sent. Never parsed. */
  readonly data: string;
  /** The connection that must not receive it. */
  readonly except: SocketId | undefined;
  /** The key of the app that signed the request. */
  readonly key?: string | undefined;
  /** The idempotency key of the request. */
  readonly idempotencyKey?: string | undefined;
  /** Whether the same request publishes another event after it. */
  readonly isFollowed?: boolean;
  /** Asks connections of users whether they have received it. */
  readonly ask?: Ask | undefined;
  /** With an ask: called once, with the number of loops that it was sent to. */
  readonly sentTo?: ((loops: number) => void) | undefined;
}

/**
 * How long a cache channel remembers its last event. Milliseconds.
 * Source: Channels protocol, §10.
 */
export const CACHE_TTL_MS = 30 * 60 * 1000;

/** Characters. Source: Channels protocol, §16. */
export const EVENT_NAME_LENGTH_MAX = 200;

/** Whether only the server may send events of this name: with these names, a publisher could forge its messages. */
export function isReservedEventName(name: string): boolean {
  return name.startsWith('pusher:') || name.startsWith('pusher_internal:');
}

/**
 * Who caused a message. Messages of clients are counted, but do not use up the quota: anybody can be a client, and
 * strangers must not be able to block an app's backend.
 */
export type Cause = 'backend' | 'clients';

/** A channel of one app. The key for engines and audiences. */
export type Topic = `${string}/${ChannelText}`;

/** Returns the topic of a channel. It is unique, because app ids contain no slash. */
export function topicOf(app: App, channel: ChannelName): Topic {
  return `${app.id}/${channel.text}`;
}
