import type { Header, Line, LineOf, Op } from '../history/line.ts';
import { Beliefs, type Believers, Roster } from './beliefs.ts';
import { Events, NEVER } from './events.ts';
import { Faults } from './faults.ts';
import { Graph, type Sorted } from './graph.ts';
import { addTo, firstOf, Ints, NONE, Times } from './lists.ts';
import {
  type Chain,
  type Channel,
  type Client,
  type Connection,
  type Double,
  isLive,
  type View,
} from './model.ts';
import { Publishes } from './publishes.ts';
import { Texts } from './texts.ts';

/** A stay or an absence that is longer is reported by webhooks. Milliseconds. */
export const REPORTED_MS = 3000;

/** After this time, a killed server has sent its last event. Milliseconds. */
const SURELY_GONE_MS = 1000;

/** Lines after which lists and counts may change for a while. */
export const CHANGES: ReadonlySet<Op> = new Set([
  'open',
  'close',
  'subscribe',
  'subscribed',
  'unsubscribe',
  'fault',
]);

/** What is known after the lines so far. Says nothing about right and wrong. */
export class Recording {
  readonly header: Header;
  readonly faults = new Faults();
  readonly clients = new Map<number, Client>();
  readonly channels: Channel[] = [];
  readonly chains: Chain[] = [];
  readonly events = new Events();
  /** In which order clients have received events: known after the last line. */
  readonly received = new Graph();
  /** By event the one before it in its batch. */
  readonly batched = new Ints();
  readonly publishes = new Publishes();
  /** Events that were triggered again with their idempotency key. */
  private readonly repeated = new Set<number>();
  /** All subscriptions that were confirmed, in that order, and how late an event was sent that one of them or of those before has. */
  private readonly confirmedViews: View[] = [];
  private latestSents: readonly number[] | undefined;
  deliveries = 0;
  triggers = 0;
  /** When a subscription, a member or a fault last changed. */
  changedAt = 0;
  /** Subscriptions that clients want, and those that are confirmed. */
  private wanted = 0;
  private confirmed = 0;
  /** Subscribers who have a list of members, and who were told a count. */
  readonly lists: Believers = { all: 0, wrong: 0 };
  readonly counts: Believers = { all: 0, wrong: 0 };
  private allSorted: Sorted | undefined;
  private receivedLength = 0;
  private readonly named = new Map<string, Channel>();
  private readonly times = new Times();
  /** The connection that has or had each socket. */
  private readonly sockets = new Map<string, number>();
  private readonly owners: (Connection | undefined)[] = [];
  /** By idempotency key and channel, and by batch and channel: the last event. */
  private readonly keys = new Texts();
  private readonly keyed = new Ints();

  constructor(header: Header) {
    this.header = header;
  }

  /** The number of lines so far, which is that of the next one. */
  get line(): number {
    return this.times.length;
  }

  /** The time of the last line. */
  get t(): number {
    return this.line === 0 ? 0 : this.at(this.line - 1);
  }

  /** The time of a line. */
  at(line: number): number {
    return line === NEVER ? Number.POSITIVE_INFINITY : this.times.get(line);
  }

  /** Whether all clients have every subscription that they want, and every list of members is right. */
  get isRight(): boolean {
    return this.wanted === this.confirmed && this.lists.wrong === 0;
  }

  /** The subscription that a line is about, if that connection has it. */
  viewOf(line: Line): View | undefined {
    if (!('c' in line && 'ch' in line)) return undefined;
    const view = this.clients.get(line.c)?.views.get(line.ch);
    return view?.connection.n === line.n ? view : undefined;
  }

  /** The event in a channel, or `NONE`. */
  eventOf(name: string, channel: string): number {
    const known = this.named.get(channel);
    return known === undefined ? NONE : this.events.find(name, known.index);
  }

  /** The channel of an event. */
  channelOf(event: number): Channel {
    const channel = this.channels[this.events.channel.get(event)];
    if (channel === undefined) throw new Error(`There is no event ${event}`);
    return channel;
  }

  /** The connection that has or had a socket. */
  ofSocket(socket: number): Connection | undefined {
    return this.owners[socket];
  }

  /** Whether an event is not for a client, because it excludes one of its sockets, or because it is its own. */
  isNotFor(event: number, { sockets }: Client): boolean {
    const { sender, except } = this.events;
    return sockets.has(sender.get(event)) || sockets.has(except.get(event));
  }

  /**
   * Whether what somebody receives at a time as an event may be another one: Redis has lost its data, and the keys with them, since the
   * event was sent, and it was repeated with its key.
   */
  mayBeAnother(event: number, t: number): boolean {
    if (!this.repeated.has(event)) return false;
    return this.faults.any(['redis-lost'], this.at(this.events.sent.get(event)), t);
  }

  /** Takes a line, with the subscription and the event that it is about. */
  apply(line: Line, view: View | undefined, event: number): void {
    this.times.push(line.t);
    if (CHANGES.has(line.op)) {
      const { until = 0 } = line as { readonly until?: number };
      this.changedAt = Math.max(this.changedAt, line.t, until);
    }
    switch (line.op) {
      case 'open':
        return this.open(line);
      case 'close': {
        const client = this.clients.get(line.c);
        if (client?.connection?.n === line.n) this.disconnect(client, line.heard);
        return;
      }
      case 'subscribe':
        return this.subscribe(line);
      case 'subscribed':
        if (view?.confirmed === NEVER && view.ended === NEVER) this.confirm(line, view);
        return;
      case 'unsubscribe': {
        if (view === undefined) return;
        if (view.isWanted) this.wanted--;
        view.isWanted = false;
        return this.end(view);
      }
      case 'event':
        this.deliveries++;
        if (event !== NONE) this.deliver(view, event);
        return;
      case 'joined':
        if (view?.members?.has(line.user) === true) return;
        return this.changeList(view, (members) => members.add(line.user));
      case 'left':
        return this.changeList(view, (members) => members.remove(line.user));
      case 'counted':
        if (view === undefined) return;
        if (isLive(view)) view.channel.counts.change(view.count, line.count);
        view.count = line.count;
        return;
      case 'trigger':
        return this.trigger(line);
      case 'whisper': {
        const connection = this.clients.get(line.c)?.connection;
        if (connection?.n !== line.n || this.events.isSent(line.e)) return;
        this.events.sender.set(this.add(line.e, this.channelNamed(line.ch)), connection.socket);
        return;
      }
      case 'answer':
        return this.answer(line);
      case 'fault':
        return this.faults.add(line);
      default:
        this.publishes.apply(line);
    }
  }

  /** Marks the events of a chain with the places where they came first, until the next chain is marked, and takes out `doubles`. */
  mark(chain: Chain, doubles: Double[]): void {
    const { events } = this;
    for (let at = 0; at < chain.events.length; at++) {
      const event = chain.events.get(at);
      if (events.chain.get(event) === chain.index) {
        doubles.push([events.at.get(event), at, event]);
        chain.events.set(at, NONE);
      } else {
        events.chain.set(event, chain.index);
        events.at.set(event, at);
      }
    }
  }

  /** The order of events in what clients have received, and in batches. */
  get sorted(): Sorted {
    if (this.allSorted !== undefined) return this.allSorted;
    const { received, batched } = this;
    this.receivedLength = received.length;
    batched.each((before, event) => {
      received.add(before);
      received.add(event);
      received.end();
    });
    this.allSorted = received.sort(this.events.size);
    return this.allSorted;
  }

  /** By event, the circle in which it is if batches do not count; 0: none. */
  get circles(): Int32Array {
    const { circle } = this.sorted;
    if (circle.every((number) => number === 0)) return circle;
    return this.received.sort(this.events.size, this.receivedLength).circle;
  }

  /** A channel, which is a new one if there was none. */
  channelNamed(name: string): Channel {
    const known = this.named.get(name);
    if (known !== undefined) return known;
    const isReplayed = (rule: string) =>
      rule.endsWith('*') ? name.startsWith(rule.slice(0, -1)) : rule === name;
    const channel: Channel = {
      index: this.channels.length,
      name,
      events: new Ints(),
      live: new Set(),
      present: new Roster(),
      lists: new Beliefs(this.lists),
      counts: new Beliefs(this.counts),
      stays: new Map(),
      attempts: new Map(),
      ends: new Map(),
      replays: this.header.rules.replay.some(isReplayed),
      isCached: /^(?:private-encrypted-|private-|presence-)?cache-/.test(name),
    };
    this.channels.push(channel);
    this.named.set(name, channel);
    return channel;
  }

  /** Whether clients of other servers went on to receive: an earlier subscription has an event that was sent a while after this time. */
  isOutlived(t: number): boolean {
    let latest = 0;
    this.latestSents ??= this.confirmedViews.map(({ latestSent }) => {
      latest = latestSent === NONE ? latest : Math.max(latest, this.at(latestSent));
      return latest;
    });
    const views = firstOf(
      this.confirmedViews.length,
      (at) => this.at(this.confirmedViews[at]?.confirmed ?? 0) > t,
    );
    return (this.latestSents[views - 1] ?? 0) > t + SURELY_GONE_MS;
  }

  private get now(): number {
    return this.line - 1;
  }

  private socketOf(text: string): number {
    const socket = this.sockets.get(text) ?? this.sockets.size;
    this.sockets.set(text, socket);
    return socket;
  }

  private open({ c, n, socket }: LineOf<'open'>): void {
    let client = this.clients.get(c);
    if (client === undefined) {
      client = {
        id: c,
        connection: undefined,
        user: undefined,
        views: new Map(),
        sockets: new Set(),
      };
      this.clients.set(c, client);
    }
    this.disconnect(client);
    const connection = {
      client,
      n,
      socket: this.socketOf(socket),
      opened: this.now,
      closed: NEVER,
    };
    client.connection = connection;
    client.sockets.add(connection.socket);
    this.owners[connection.socket] = connection;
  }

  /** Ends a connection. `heard`: what was sent after this time is lost with it. */
  private disconnect(client: Client, heard = Infinity): void {
    if (client.connection === undefined) return;
    const ended = Math.min(
      this.now,
      firstOf(this.line, (line) => this.at(line) > heard),
    );
    client.connection.closed = ended;
    client.connection = undefined;
    for (const view of client.views.values()) {
      if (view.ended !== NEVER) continue;
      for (const who of whoOf(view)) addTo(view.channel.ends, who, this.t);
      this.end(view, ended);
    }
  }

  private subscribe({ c, n, ch, user, after = '' }: LineOf<'subscribe'>): void {
    const client = this.clients.get(c);
    const connection = client?.connection;
    if (client === undefined || connection?.n !== n) return;
    const before = client.views.get(ch);
    // A second subscription of one connection is refused, and the first one stays.
    if (before?.connection === connection && isLive(before)) return;
    if (before !== undefined) this.end(before);
    if (before?.isWanted !== true) this.wanted++;
    if (user !== undefined) client.user = user;
    client.views.set(ch, {
      connection,
      channel: this.channelNamed(ch),
      user,
      after,
      asked: this.now,
      confirmed: NEVER,
      ended: NEVER,
      isWanted: true,
      chain: before?.isWanted === true ? before.chain : undefined,
      from: 0,
      received: 0,
      missed: 0,
      latestSent: NONE,
      number: NONE,
      members: undefined,
      count: undefined,
    });
  }

  private confirm({ members, resume }: LineOf<'subscribed'>, view: View): void {
    const { channel, user } = view;
    const { client } = view.connection;
    const resumes = resume?.ok === true && view.after !== '';
    const before = resumes ? view.chain : undefined;
    const chain = before ?? this.newChain(client, channel);
    chain.views.push(view);
    view.chain = chain;
    view.from = chain.events.length;
    if (resumes) view.missed = resume.missed;
    view.confirmed = this.now;
    if (members !== undefined) view.members = new Roster(members);
    channel.lists.change(undefined, view.members?.fingerprint);
    channel.counts.change(undefined, view.count);
    channel.live.add(view);
    if (channel.live.size === 1) this.beginStay(channel, '');
    if (user !== undefined) {
      if (!channel.present.has(user)) this.beginStay(channel, user);
      channel.present.add(user);
    }
    this.changeTruth(channel);
    this.confirmedViews.push(view);
    this.confirmed++;
  }

  private newChain(client: Client, channel: Channel): Chain {
    const index = this.chains.length;
    const chain = { index, client, channel, views: [], events: new Ints(), lines: new Ints() };
    this.chains.push(chain);
    return chain;
  }

  /** Ends a subscription, once. */
  private end(view: View, at = this.now): void {
    if (view.ended !== NEVER) return;
    const { channel, user, members, count } = view;
    const wasLive = isLive(view);
    view.ended = at;
    view.members = undefined;
    if (view.confirmed === NEVER) {
      const attempt = { from: this.at(view.asked), until: this.t };
      for (const who of whoOf(view)) addTo(channel.attempts, who, attempt);
    }
    if (!wasLive) return;
    channel.lists.change(members?.fingerprint, undefined);
    channel.counts.change(count, undefined);
    channel.live.delete(view);
    if (channel.live.size === 0) this.endStay(channel, '');
    if (user !== undefined) {
      channel.present.remove(user);
      if (!channel.present.has(user)) this.endStay(channel, user);
    }
    this.changeTruth(channel);
    this.confirmed--;
  }

  private changeList(view: View | undefined, change: (members: Roster) => void): void {
    if (view?.members === undefined) return;
    const before = view.members.fingerprint;
    change(view.members);
    view.channel.lists.change(before, view.members.fingerprint);
  }

  private changeTruth({ lists, counts, present, live }: Channel): void {
    lists.becomesTrue(present.fingerprint);
    counts.becomesTrue(live.size);
  }

  private beginStay({ stays }: Channel, user: string): void {
    const last = stays.get(user)?.at(-1);
    if (last !== undefined && this.t - last.until <= REPORTED_MS) {
      last.until = Number.POSITIVE_INFINITY;
    } else addTo(stays, user, { from: this.t, until: Number.POSITIVE_INFINITY });
  }

  private endStay({ stays }: Channel, user: string): void {
    const last = stays.get(user)?.at(-1);
    if (last !== undefined) last.until = this.t;
  }

  private deliver(view: View | undefined, event: number): void {
    const { events } = this;
    if (events.seen.get(event) === NEVER) events.seen.set(event, this.now);
    if (view?.chain === undefined || !isLive(view)) return;
    const { chain } = view;
    const before = view.received === 0 ? NONE : chain.events.get(chain.events.length - 1);
    if (before !== NONE && events.next.get(before) === NONE) events.next.set(before, event);
    chain.events.push(event);
    chain.lines.push(this.now);
    view.received++;
    view.latestSent = Math.max(view.latestSent, events.sent.get(event));
  }

  private trigger({ e, ch, except, key, batch }: LineOf<'trigger'>): void {
    const { events, keyed } = this;
    this.triggers++;
    if (events.isSent(e)) {
      for (const event of events.named(e)) {
        events.hope(event, 1);
        if (key !== undefined) this.repeated.add(event);
      }
      return;
    }
    for (const name of new Set(ch)) {
      const channel = this.channelNamed(name);
      const ofKey = key === undefined ? NONE : this.keys.add(`${channel.index} key ${key}`);
      // A key that was used before stands for the event that it was used for.
      const same = keyed.get(ofKey);
      const event = this.add(e, channel, same);
      if (same !== NONE) {
        events.hope(same, 1);
        this.repeated.add(same);
        continue;
      }
      if (ofKey !== NONE) keyed.set(ofKey, event);
      if (except !== undefined) events.except.set(event, this.socketOf(except));
      if (batch === undefined) continue;
      const ofBatch = this.keys.add(`${channel.index} batch ${batch}`);
      if (keyed.get(ofBatch) !== NONE) this.batched.set(event, keyed.get(ofBatch));
      keyed.set(ofBatch, event);
    }
  }

  private add(name: string, channel: Channel, same = NONE): number {
    const event = this.events.add(name, channel.index, this.now, same);
    if (same === NONE) channel.events.push(event);
    return event;
  }

  private answer({ e, status }: LineOf<'answer'>): void {
    const { accepted } = this.events;
    for (const event of this.events.named(e)) {
      if (status >= 400 && status < 500) this.events.hope(event, -1);
      if (status === 200 && accepted.get(event) === NEVER) accepted.set(event, this.now);
    }
  }
}

/** Whom a subscription is of: anybody (`''`), and its user. */
function whoOf({ user }: View): readonly string[] {
  return user === undefined ? [''] : ['', user];
}
