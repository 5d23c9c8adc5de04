import { readServerMessage } from '../../src/doctor/client/client-messages.ts';
import { eventually } from '../../testing/eventually.ts';
import type { AppClient, TestApp } from '../../testing/servers/test-app.ts';
import { NotedClient } from '../../testing/verify/noted-client.ts';
import type { TestHistory } from '../../testing/verify/test-history.ts';

/** The code of a connection that ended without one. */
const CUT = 1006;

/** All that one client has received, as its user would see it. */
export class View implements AsyncDisposable {
  readonly client: AppClient;
  /** Names of the events that backends sent, by channel, in their order. */
  readonly events = new Map<string, string[]>();
  /** Members by presence channel. */
  readonly members = new Map<string, Set<string>>();
  /** The last count by channel. */
  readonly counts = new Map<string, number>();
  /** Watched users who are online. */
  readonly online = new Set<string>();
  /** What was reported of a member or a watched user, as `+ann` and `-ann`. */
  readonly changes: string[] = [];
  /** What no server may send, and the checker has no rule for: a watched user who comes twice, or goes twice. */
  readonly problems: string[] = [];
  private readonly subscribed = new Map<string, PromiseWithResolvers<void>>();
  private readonly signedIn = Promise.withResolvers<void>();
  private readonly app: TestApp;
  private readonly noted: NotedClient | undefined;
  /** Whether the first list of watched users has come. */
  private isWatching = false;

  private constructor(app: TestApp, client: AppClient, noted: NotedClient | undefined) {
    this.app = app;
    this.client = client;
    this.noted = noted;
  }

  /** Connects. `history` gets all that follows. */
  static async open(app: TestApp, history?: TestHistory): Promise<View> {
    const client = await app.connect();
    const noted = history && new NotedClient(history, history.nextNumber());
    noted?.opened(client.socketId);
    void client.closed.then(({ code }) => noted?.closed(code ?? CUT));
    const view = new View(app, client, noted);
    client.handOver((text) => {
      const { event, channel = '', data } = JSON.parse(text);
      const message = readServerMessage(text);
      if (message !== undefined)
        noted?.hears(message, event.startsWith('pusher') ? undefined : event);
      view.take(event, channel, data);
    });
    return view;
  }

  /** Subscribes, as a user if it is a presence channel. Settles when the server has confirmed it. */
  async enters(channel: string, userId?: string): Promise<void> {
    const confirmed = Promise.withResolvers<void>();
    this.subscribed.set(channel, confirmed);
    const channelData = userId === undefined ? undefined : JSON.stringify({ user_id: userId });
    const isPublic = !/^(private|presence)-/.test(channel);
    const auth = isPublic ? {} : this.app.auth(this.client, channel, channelData);
    this.noted?.subscribes(channel, userId);
    this.client.send({ event: 'pusher:subscribe', data: { channel, ...auth } });
    const closed = this.client.closed.then(({ code }) => {
      throw new Error(`The connection was closed with ${code} instead of a subscription`);
    });
    await Promise.race([confirmed.promise, closed]);
  }

  leave(channel: string): void {
    this.noted?.unsubscribes(channel);
    this.client.send({ event: 'pusher:unsubscribe', data: { channel } });
    this.members.delete(channel);
  }

  async signsIn(id: string, watchlist: readonly string[] = []): Promise<void> {
    this.client.send(this.app.signIn(this.client, { id, watchlist }));
    await this.signedIn.promise;
  }

  eventsOf(channel: string): readonly string[] {
    return this.events.get(channel) ?? [];
  }

  membersOf(channel: string): readonly string[] {
    return [...(this.members.get(channel) ?? [])].toSorted();
  }

  /** Settles when an event was received. */
  async receive(channel: string, name: string): Promise<void> {
    await eventually(
      () => this.eventsOf(channel).at(-1),
      () => this.eventsOf(channel).includes(name),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.noted?.closed(CUT);
    await this.client[Symbol.asyncDispose]();
  }

  private take(event: string, channel: string, data: string): void {
    switch (event) {
      case 'pusher:ping':
        return this.client.send({ event: 'pusher:pong', data: {} });
      case 'pusher:signin_success':
        return this.signedIn.resolve();
      case 'pusher_internal:subscription_succeeded': {
        const { presence } = JSON.parse(data);
        if (presence !== undefined) this.members.set(channel, new Set(presence.ids));
        return this.subscribed.get(channel)?.resolve();
      }
      case 'pusher_internal:member_added':
        return this.change(this.members.get(channel), JSON.parse(data).user_id, true);
      case 'pusher_internal:member_removed':
        return this.change(this.members.get(channel), JSON.parse(data).user_id, false);
      case 'pusher_internal:watchlist_events':
        for (const { name, user_ids: userIds } of JSON.parse(data).events) {
          for (const userId of userIds) this.watch(userId, name === 'online');
        }
        this.isWatching = true;
        return;
      case 'pusher_internal:subscription_count':
        this.counts.set(channel, JSON.parse(data).subscription_count);
        return;
      case 'pusher:cache_miss':
        return;
      default:
        if (event.startsWith('pusher')) this.problems.push(`${event} ${data}`);
        else this.events.set(channel, [...this.eventsOf(channel), event]);
    }
  }

  private watch(userId: string, isOnline: boolean): void {
    const isAgain = this.online.has(userId) === isOnline;
    if (this.isWatching && isAgain) this.problems.push(`again: ${userId}`);
    if (this.isWatching) this.change(this.online, userId, isOnline);
    else if (isOnline) this.online.add(userId);
  }

  private change(all: Set<string> | undefined, userId: string, isThere: boolean): void {
    this.changes.push(`${isThere ? '+' : '-'}${userId}`);
    // After leaving, a change may still be on its way.
    if (isThere) all?.add(userId);
    else all?.delete(userId);
  }
}
