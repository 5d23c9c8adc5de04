import type { App } from '../../src/channels/app.ts';
import { type Topic, topicOf } from '../../src/channels/event.ts';
import type { Audience, SendOptions } from '../../src/channels/ports.ts';
import type { SocketId } from '../../src/channels/socket-id.ts';
import { LocalChannels } from '../../src/channels/subscribing/local-channels.ts';
import { eventMessage } from '../../src/channels/wire.ts';
import type { RedisLoop } from './redis-loops.ts';
import { appWith, channel, presenceRules } from './values.ts';

/** A presence channel whose members stay for a while without connections. */
export const STAYING = 'presence-staying';
const GRACE_SECONDS = 5;

/** The app of all nodes. */
export const app: App = {
  ...appWith({ presenceMembers: 5, memberChangesPerSecond: 2 }),
  presence: presenceRules({ channels: STAYING, graceSeconds: GRACE_SECONDS }),
  subscriptionCounts: true,
  webhooks: [
    {
      url: 'http://localhost/',
      events: ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'],
      batching: true,
    },
  ],
};

/** The users that every node watches. */
export const USERS = ['1', '2', '3', '4', '5', '6'];

/** A connection in one channel, and what its client knows. */
export class Client {
  readonly socketId: SocketId;
  readonly text: string;
  readonly userId: string | undefined;
  readonly members = new Set<string>();
  /** Events in their order, the one first that the channel remembered. */
  readonly events: string[] = [];
  /** Events, and members as `+ann` and `-ann`, in their order. */
  readonly seen: string[] = [];
  /** The last subscription count that it was sent. */
  count: number | undefined;
  /** The subscriptions of its loop were cut. */
  mayHaveMissed = false;

  constructor(socketId: SocketId, text: string, userId: string | undefined) {
    this.socketId = socketId;
    this.text = text;
    this.userId = userId;
  }

  receive(frame: string): void {
    const { event, data } = JSON.parse(frame);
    this.note(event, data);
    if (event === 'pusher_internal:member_added') {
      const { user_id: userId } = JSON.parse(data);
      // Only one of a user's connections is left out when the others are told late.
      if (userId === this.userId && this.members.has(userId)) return;
      if (this.members.has(userId)) throw new Error(`${userId} was added twice to ${this.text}`);
      this.members.add(userId);
    } else if (event === 'pusher_internal:member_removed') {
      const { user_id: userId } = JSON.parse(data);
      if (!this.members.delete(userId)) throw new Error(`${userId} was removed twice`);
    } else if (event === 'pusher_internal:subscription_count') {
      this.count = JSON.parse(data).subscription_count;
    } else {
      this.events.push(event);
    }
  }

  private note(event: string, data: string): void {
    if (event === 'pusher_internal:subscription_count') return;
    const sign = { 'pusher_internal:member_added': '+', 'pusher_internal:member_removed': '-' }[
      event
    ];
    this.seen.push(sign === undefined ? event : `${sign}${JSON.parse(data).user_id}`);
  }
}

/** The clients of one loop, as `subscribe` and `leaveChannel` handle them. */
export class Node implements Pick<Audience, 'send'> {
  loop!: RedisLoop;
  readonly clients = new Set<Client>();
  private readonly byTopic = new Map<Topic, Set<Client>>();
  /** Those who have not entered yet. */
  readonly entering = new Set<Client>();
  readonly signedIn = new Map<string, number>();
  private readonly signingIn: string[] = [];
  readonly online = new Set<string>();
  private readonly channels = new LocalChannels();
  private readonly number: number;
  private connections = 0;
  private readonly problems: unknown[];

  constructor(number: number, problems: unknown[]) {
    this.number = number;
    this.problems = problems;
  }

  send(topic: Topic, makeFrame: () => string, { except }: SendOptions = {}): number {
    if (topic.includes('/#watch-')) return this.watched(makeFrame());
    const inside = this.byTopic.get(topic) ?? [];
    const received = [...inside].filter(({ socketId }) => socketId !== except);
    for (const client of received) {
      try {
        client.receive(makeFrame());
      } catch (error) {
        this.problems.push(error);
      }
    }
    return received.length;
  }

  async join(text: string, userId: string | undefined): Promise<void> {
    const name = channel(text);
    const member = userId === undefined ? undefined : { userId, userInfo: undefined };
    const { subscriptions, shared } = this.channels.enter(app, name, member);
    this.connections++;
    const socketId = `${this.number}.${this.connections}` as SocketId;
    const client = new Client(socketId, text, userId);
    this.entering.add(client);
    const entry = { app, channel: name, held: subscriptions, member, newcomer: { socketId } };
    const isIn = await this.loop.engine
      .join(entry, ({ members, cached }) => {
        for (const one of members) client.members.add(one.userId);
        if (cached !== undefined) client.events.push(cached.name);
        if (userId !== undefined && !client.members.has(userId)) {
          this.problems.push(new Error(`A newcomer is not among the members of ${text}`));
        }
        this.clients.add(client);
        const inside = this.byTopic.get(shared.topic) ?? new Set();
        this.byTopic.set(shared.topic, inside.add(client));
      })
      .catch((error) => {
        this.channels.leave(app, shared.topic, member);
        throw error;
      })
      .finally(() => this.entering.delete(client));
    if (!isIn) await this.stateLeft(client);
  }

  async leave(client: Client, graceSeconds?: number): Promise<void> {
    this.clients.delete(client);
    this.byTopic.get(topicOf(app, channel(client.text)))?.delete(client);
    await this.stateLeft(client, graceSeconds);
  }

  /** Its connection has ended, and it did not leave on purpose. */
  async lose(client: Client): Promise<void> {
    await this.leave(client, client.text === STAYING ? GRACE_SECONDS : undefined);
  }

  async publish(text: string, event: string): Promise<void> {
    const { text: name, cached } = channel(text);
    await this.loop.engine.publish({
      app,
      channel: name,
      makeFrame: () => eventMessage(event, name, ''),
      cause: 'backend',
      remember: cached ? { name: event, data: '' } : undefined,
    });
  }

  async signIn(userId: string): Promise<void> {
    this.signedIn.set(userId, (this.signedIn.get(userId) ?? 0) + 1);
    this.signingIn.push(userId);
    await this.loop.engine.signIn(app, userId, this.signedIn.get(userId) ?? 0);
    this.signingIn.splice(this.signingIn.indexOf(userId), 1);
  }

  async signOut(userId: string): Promise<void> {
    const left = (this.signedIn.get(userId) ?? 0) - 1;
    // A connection that is signing in is signed out later.
    if (left < 0 || this.signingIn.includes(userId)) return;
    if (left > 0) this.signedIn.set(userId, left);
    else this.signedIn.delete(userId);
    if (left === 0) await this.loop.engine.signOut(app, userId, 0);
  }

  async watch(): Promise<void> {
    for (const userId of await this.loop.engine.watch(app, USERS)) this.online.add(userId);
  }

  private async stateLeft({ text, userId }: Client, graceSeconds?: number): Promise<void> {
    const name = channel(text);
    const member = userId === undefined ? undefined : { userId, userInfo: undefined };
    const held = this.channels.leave(app, topicOf(app, name), member);
    await this.loop.engine.leave({
      app,
      channel: name,
      held: held.subscriptions,
      userId: held.ofUser === 0 ? userId : undefined,
      graceSeconds: held.ofUser === 0 ? graceSeconds : undefined,
    });
  }

  private watched(frame: string): number {
    for (const { name, user_ids } of JSON.parse(JSON.parse(frame).data).events) {
      for (const userId of user_ids) {
        const isNew = name === 'online' ? !this.online.has(userId) : this.online.has(userId);
        if (!isNew) this.problems.push(new Error(`${userId} was reported ${name} twice`));
        if (name === 'online') this.online.add(userId);
        else this.online.delete(userId);
      }
    }
    return 1;
  }
}
