import type { App } from './app.ts';
import type { ChannelName, ChannelText } from './channel-name.ts';
import type { SocketId } from './socket-id.ts';

/** An event on its way to the subscribers of one channel. */
export interface ChannelEvent {
  readonly app: App;
  readonly channel: ChannelName;
  readonly name: string;
  /** What the publisher sent, to the byte; never parsed. */
  readonly data: string;
  /** The connection that must not hear it. */
  readonly except: SocketId | undefined;
}

/** Characters. Source: Channels protocol, §16. */
export const EVENT_NAME_LENGTH_MAX = 200;

/** Names that only the server itself may send: with them a publisher could forge its messages. */
export function isReservedEventName(name: string): boolean {
  return name.startsWith('pusher:') || name.startsWith('pusher_internal:');
}

/** A channel of one app, as the engine and the audience know it. */
export type Topic = `${string}/${ChannelText}`;

/** The topic of a channel. App ids hold no slash, so no two channels share one. */
export function topicOf(app: App, channel: ChannelName): Topic {
  return `${app.id}/${channel.text}`;
}
