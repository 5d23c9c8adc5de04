import type { App } from '../../../channels/app.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import { topicOf } from '../../../channels/event.ts';
import { watchTopic } from '../../../channels/users/watch-topic.ts';
import type { Follows } from '../follows.ts';
import type { LoopParts } from '../loop.ts';
import type { Partition } from '../partition.ts';
import type { Stated } from '../restatements.ts';
import { RedisChannel } from './channel.ts';
import { readChannelMessage, readNumbered } from './stream-message.ts';
import { RedisUser } from './user.ts';

/** The channels and users that this loop holds or watches, by their streams. */
export class Topics {
  private readonly loop: LoopParts;
  private readonly followsOf: (partition: Partition) => Follows;
  private readonly channels = new Map<string, RedisChannel>();
  private readonly users = new Map<string, RedisUser>();

  constructor(loop: LoopParts, followsOf: (partition: Partition) => Follows) {
    this.loop = loop;
    this.followsOf = followsOf;
  }

  /** The topics with streams on one Redis server. */
  *followedBy(follows: Follows): Iterable<RedisChannel | RedisUser> {
    for (const topic of [...this.channels.values(), ...this.users.values()]) {
      if (this.followsOf(topic.partition) === follows) yield topic;
    }
  }

  /**
   * Handles a message of a stream that this loop follows. Throws if it cannot. `loops`: how many loops of this process get it.
   */
  receive(stream: string, payload: string, loops = 1): void {
    const numbered = readNumbered(payload, loops);
    const topic = this.channels.get(stream) ?? this.users.get(stream);
    if (topic !== undefined) return topic.receive(numbered);
    // The stream is followed for a while after its last subscriber has left.
    const message = numbered.kind === 'e' ? readChannelMessage(numbered) : undefined;
    const ask = message?.kind === 'event' ? message.ask : undefined;
    if (ask !== undefined) this.loop.broadcaster.asked?.nobody(ask);
  }

  channel(partition: Partition, app: App, channel: ChannelName): RedisChannel {
    const stream = partition.streamOf(topicOf(app, channel));
    const known = this.channels.get(stream);
    if (known !== undefined) return known;
    const one = new RedisChannel(channel, { app, partition, loop: this.loop });
    this.channels.set(stream, one);
    partition.topics.add(one);
    return one;
  }

  user(partition: Partition, app: App, userId: string): RedisUser {
    const stream = partition.streamOf(watchTopic(app, userId));
    const known = this.users.get(stream);
    if (known !== undefined) return known;
    const one = new RedisUser(userId, { app, partition, loop: this.loop });
    this.users.set(stream, one);
    partition.topics.add(one);
    return one;
  }

  /** The settings of apps have changed. */
  appsChanged(): void {
    for (const user of this.users.values()) user.appChanged();
  }

  /** Forgets channels and users that this loop no longer holds. */
  letGo(topics: Iterable<Stated>): void {
    for (const one of topics) {
      if (one instanceof RedisChannel) this.letGoOfChannel(one);
      if (one instanceof RedisUser) this.letGoOfUser(one);
    }
  }

  letGoOfChannel(channel: RedisChannel): void {
    if (channel.held > 0) return;
    this.followsOf(channel.partition).letGo(channel.stream);
    if (!channel.isIdle) return;
    this.channels.delete(channel.stream);
    channel.partition.topics.delete(channel);
  }

  letGoOfUser(user: RedisUser): void {
    if (user.isFollowed) return;
    this.followsOf(user.partition).letGo(user.stream);
    if (!user.isIdle) return;
    this.users.delete(user.stream);
    user.partition.topics.delete(user);
  }
}
