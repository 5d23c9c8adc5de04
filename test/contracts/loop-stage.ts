import type { App } from '../../src/channels/app.ts';
import { type ChannelEvent, topicOf } from '../../src/channels/event.ts';
import type { EventId } from '../../src/channels/history/event-id.ts';
import type { HistoryRequest } from '../../src/channels/history/resume.ts';
import type { Audience, Authority, Entered, Exit, SendOptions } from '../../src/channels/ports.ts';
import { presenceRuleOf } from '../../src/channels/presence-rule.ts';
import type { SocketId } from '../../src/channels/socket-id.ts';
import { LocalChannels } from '../../src/channels/subscribing/local-channels.ts';
import { watchTopic } from '../../src/channels/users/watch-topic.ts';
import { eventMessage } from '../../src/channels/wire.ts';
import { channel } from './values.ts';

/** Takes a frame, and the connection that must not receive it. */
type Reader = (frame: string, except: SocketId | undefined) => void;

/** The subscribers of one loop, of whom only the number counts; remembers what they are sent, by topic. */
export class RecordingAudience implements Pick<Audience, 'send'> {
  readonly received = new Map<string, string[]>();
  private readonly subscribers = new Map<string, number>();
  private readonly readers = new Map<string, Set<Reader>>();

  enter(topic: string): void {
    this.subscribers.set(topic, (this.subscribers.get(topic) ?? 0) + 1);
  }

  exit(topic: string): void {
    this.subscribers.set(topic, (this.subscribers.get(topic) ?? 0) - 1);
  }

  /** Gives a reader every frame from now on. Returns how to stop that. */
  read(topic: string, reader: Reader): () => void {
    const readers = this.readers.getOrInsertComputed(topic, () => new Set());
    readers.add(reader);
    this.enter(topic);
    return () => {
      readers.delete(reader);
      this.exit(topic);
    };
  }

  send(topic: string, makeFrame: () => string, { except }: SendOptions = {}): number {
    const subscribers = this.subscribers.get(topic) ?? 0;
    if (subscribers === 0) return 0;
    const received = this.received.get(topic) ?? [];
    this.received.set(topic, received);
    const frame = makeFrame();
    for (const read of this.readers.get(topic) ?? []) read(frame, except);
    const text = textOf(frame);
    received.push(
      except === undefined || text.startsWith('member_') ? text : `${text} but ${except}`,
    );
    return subscribers;
  }
}

/** A frame, in short. */
function textOf(frame: string): string {
  const { event, data } = JSON.parse(frame);
  switch (event) {
    case 'pusher_internal:member_added':
      return `member_added ${JSON.parse(data).user_id}`;
    case 'pusher_internal:member_removed':
      return `member_removed ${JSON.parse(data).user_id}`;
    case 'pusher_internal:subscription_count':
      return countText(JSON.parse(data));
    case 'fanfare:members':
      return batchText(JSON.parse(data));
    case 'pusher_internal:watchlist_events': {
      const [{ name, user_ids }] = JSON.parse(data).events;
      return `${name} ${user_ids.join()}`;
    }
    default:
      return event;
  }
}

function countText(counts: { subscription_count: number; user_count?: number }): string {
  const users = counts.user_count === undefined ? '' : ` of ${counts.user_count} users`;
  return `count ${counts.subscription_count}${users}`;
}

function batchText(batch: { joined: { user_id: string }[]; left: string[]; more: number }): string {
  const joined = batch.joined.map(({ user_id }) => ` +${user_id}`);
  const left = batch.left.map((id) => ` -${id}`);
  const more = batch.more === 0 ? '' : ` and ${batch.more}`;
  return `members${[...joined, ...left].join('')}${more}`;
}

/** One loop as an engine sees it: it states what it holds, and receives what was decided. */
export class LoopStage {
  readonly authority: Authority;
  private readonly audience: RecordingAudience;
  private readonly channels = new LocalChannels();
  private readonly users = new Map<string, object[]>();
  private readonly terminated: string[];
  /** What a channel had been sent when its last newcomer entered. */
  private readonly entryAt = new Map<string, number>();
  private connections = 0;
  private readonly number: number;

  constructor(options: {
    readonly number: number;
    readonly authority: Authority;
    readonly audience: RecordingAudience;
    readonly terminated: string[];
  }) {
    this.number = options.number;
    this.authority = options.authority;
    this.audience = options.audience;
    this.terminated = options.terminated;
  }

  /** A connection enters a channel, as `subscribe` does it. */
  async join(
    app: App,
    text: string,
    userId?: string,
    userInfo?: string,
    history?: HistoryRequest,
  ): Promise<Entered | 'full'> {
    const member = userId === undefined ? undefined : { userId, userInfo };
    const { subscriptions, shared } = this.channels.enter(app, channel(text), member);
    let found: Entered | undefined;
    this.connections++;
    const socketId = `${this.number + 1}.${this.connections}` as SocketId;
    const entry = {
      app,
      channel: channel(text),
      held: subscriptions,
      member,
      newcomer: { socketId },
      history,
    };
    const isIn = await this.authority.join(entry, (entered) => {
      found = entered;
      this.entryAt.set(shared.topic, this.audience.received.get(shared.topic)?.length ?? 0);
      this.audience.enter(shared.topic);
    });
    if (isIn && found !== undefined) return found;
    const held = this.channels.leave(app, shared.topic, member);
    await this.authority.leave({
      app,
      channel: channel(text),
      held: held.subscriptions,
      userId: held.ofUser === 0 ? userId : undefined,
    });
    return 'full';
  }

  /** A connection unsubscribes from a channel. */
  async leave(app: App, text: string, userId?: string): Promise<void> {
    await this.end(app, text, { userId });
  }

  /** A connection closes that is in a channel. */
  async lose(app: App, text: string, userId: string): Promise<void> {
    const graceSeconds = presenceRuleOf(app, channel(text).text)?.graceSeconds;
    await this.end(app, text, { userId, graceSeconds: graceSeconds || undefined });
  }

  private async end(
    app: App,
    text: string,
    { userId, graceSeconds }: Pick<Exit, 'userId' | 'graceSeconds'>,
  ): Promise<void> {
    const member = userId === undefined ? undefined : { userId, userInfo: undefined };
    const topic = topicOf(app, channel(text));
    const held = this.channels.leave(app, topic, member);
    this.audience.exit(topic);
    await this.authority.leave({
      app,
      channel: channel(text),
      held: held.subscriptions,
      userId: held.ofUser === 0 ? userId : undefined,
      graceSeconds: held.ofUser === 0 ? graceSeconds : undefined,
    });
  }

  /** Returns the id of the event if the channel keeps a history. */
  async publish(
    app: App,
    text: string,
    name: string,
    except?: SocketId,
    idempotencyKey?: string,
  ): Promise<EventId | undefined> {
    const event: ChannelEvent = { app, channel: channel(text), name, data: 'data', except };
    return await this.authority.publish({
      app,
      channel: event.channel.text,
      makeFrame: () => eventMessage(event.name, event.channel.text, event.data),
      except,
      cause: 'backend',
      idempotencyKey,
      remember: event.channel.cached ? { name, data: event.data } : undefined,
    });
  }

  async signIn(app: App, userId: string): Promise<boolean> {
    const key = `${app.id} ${userId}`;
    const signedIn = [...(this.users.get(key) ?? []), {}];
    this.users.set(key, signedIn);
    const isIn = await this.authority.signIn(app, userId, signedIn.length);
    if (!isIn) this.users.set(key, signedIn.slice(1));
    return isIn;
  }

  async signOut(app: App, userId: string): Promise<void> {
    const key = `${app.id} ${userId}`;
    const left = (this.users.get(key) ?? []).slice(1);
    this.users.set(key, left);
    if (left.length === 0 || app.limits.connectionsPerUser > 0) {
      await this.authority.signOut(app, userId, left.length);
    }
  }

  async watch(app: App, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const online = await this.authority.watch(app, userIds);
    for (const userId of userIds) this.audience.enter(watchTopic(app, userId));
    return online;
  }

  async unwatch(app: App, userIds: readonly string[]): Promise<void> {
    for (const userId of userIds) this.audience.exit(watchTopic(app, userId));
    await this.authority.unwatch(app, userIds);
  }

  /** Gives a reader every frame of a channel from now on. Returns how to stop that. */
  read(app: App, text: string, reader: Reader): () => void {
    return this.audience.read(topicOf(app, channel(text)), reader);
  }

  /** What was sent to a channel since this was last asked. */
  received(app: App, text: string): readonly string[] {
    const topic = topicOf(app, channel(text));
    this.entryAt.delete(topic);
    return this.audience.received.get(topic)?.splice(0) ?? [];
  }

  /** What of this the last newcomer of the loop got. */
  receivedAfterEntry(app: App, text: string): readonly string[] {
    const topic = topicOf(app, channel(text));
    return (this.audience.received.get(topic) ?? []).slice(this.entryAt.get(topic) ?? 0);
  }

  /** Changes of watched users since this was last asked. */
  watched(): readonly string[] {
    const watched: string[] = [];
    for (const [name, received] of this.audience.received) {
      if (name.includes('/#watch-')) watched.push(...received.splice(0));
    }
    return watched;
  }

  /** The users whose connections were ended since this was last asked. */
  ended(): readonly string[] {
    return this.terminated.splice(0);
  }
}
