import type { App } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import type { Topic } from '../event.ts';

const WATCH = '#watch-';

/** The name that watchers of a user subscribe to, in place of a channel. No channel can have this name. */
export function watchChannel(userId: string): ChannelText {
  return `${WATCH}${userId}` as ChannelText;
}

/** The user that a name of `watchChannel` is of; `undefined`: it is another name. */
export function userOfWatchChannel(text: string): string | undefined {
  return text.startsWith(WATCH) ? text.slice(WATCH.length) : undefined;
}

/** Returns the topic that watchers of a user subscribe to. */
export function watchTopic(app: App, userId: string): Topic {
  return `${app.id}/${watchChannel(userId)}`;
}
