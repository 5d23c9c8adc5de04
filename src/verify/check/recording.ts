import type { Header, Line, LineOf } from '../history/line.ts';
import { Faults } from './faults.ts';
import type { Chain, Channel, Client, Connection, Item, Sending, View } from './model.ts';
import { Roster } from './roster.ts';

/** A stay or an absence that is longer is reported by webhooks. Milliseconds. */
export const REPORTED_MS = 3000;

interface Delivery {
  readonly line: Line | undefined;
  readonly view: View | undefined;
  readonly item: Item | undefined;
}

/** Reads the name of a channel as a rule. */
function matches(rules: readonly string[], name: string): boolean {
  return rules.some((rule) =>
    rule.endsWith('*') ? name.startsWith(rule.slice(0, -1)) : rule === name,
  );
}

/** What is known after the lines so far. Says nothing about right and wrong. */
export class Recording {
  readonly header: Header;
  readonly faults = new Faults();
  readonly clients = new Map<number, Client>();
  readonly channels = new Map<string, Channel>();
  readonly chains: Chain[] = [];
  private readonly sent = new Map<string, Sending>();
  /** By idempotency key and channel. */
  private readonly keyed = new Map<string, Item>();
  private delivery: Delivery = { line: undefined, view: undefined, item: undefined };
  private readonly sockets = new Map<string, Connection>();
  readonly items: Item[] = [];
  triggers = 0;
  deliveries = 0;
  line = 0;
  t = 0;
  /** When a subscription, a member or a fault last changed. */
  changedAt = 0;
  /** Confirmed subscriptions. */
  confirmed = 0;

  constructor(header: Header) {
    this.header = header;
  }

  /** The distinct deliveries of a chain, each event where it came first. Marks the events. */
  *distinct(chain: Chain): Iterable<readonly [item: Item, at: number]> {
    for (const [at, item] of chain.items.entries()) {
      if (item.chain === chain.index) continue;
      item.chain = chain.index;
      item.at = at;
      yield [item, at];
    }
  }

  /** Takes away the marks of a rule before the next one goes through the chains. */
  clearMarks(): void {
    for (const item of this.items) item.chain = -1;
  }

  /** Whether all clients have every subscription that they want, and every list of members is right. */
  get isRight(): boolean {
    let wanted = 0;
    for (const client of this.clients.values()) wanted += client.wanted.size;
    if (wanted !== this.confirmed) return false;
    for (const { live, present } of this.channels.values()) {
      for (const { members } of live) if (members?.equals(present) === false) return false;
    }
    return true;
  }

  /** The subscription that a line is about, if that connection has it. */
  viewOf({ c, n, ch }: { readonly c: number; readonly n: number; readonly ch: string }) {
    const view = this.clients.get(c)?.views.get(ch);
    return view?.connection.n === n ? view : undefined;
  }

  /** The subscription and the event of a delivery. Several rules ask for the same line, one after the other. */
  deliveryOf(line: LineOf<'event'>): Delivery {
    if (this.delivery.line !== line) {
      const [view, item] = [this.viewOf(line), this.itemOf(line.e, line.ch)];
      this.delivery = { line, view, item };
    }
    return this.delivery;
  }

  /** An event in a channel, if it was sent there. */
  itemOf(name: string, channel: string): Item | undefined {
    return this.sent.get(name)?.items.find((item) => item.channel.name === channel);
  }

  isSent(name: string): boolean {
    return this.sent.has(name);
  }

  /** The connection that has or had a socket. */
  ofSocket(socket: string): Connection | undefined {
    return this.sockets.get(socket);
  }

  apply(line: Line): void {
    this.line++;
    this.t = line.t;
    switch (line.op) {
      case 'open':
        return this.open(line);
      case 'close':
        return this.close(line);
      case 'subscribe':
        return this.subscribe(line);
      case 'subscribed':
        return this.subscribedTo(line);
      case 'unsubscribe': {
        const view = this.viewOf(line);
        if (view === undefined) return;
        this.changedAt = line.t;
        view.connection.client.wanted.delete(line.ch);
        view.connection.client.chains.delete(line.ch);
        return this.end(view);
      }
      case 'event':
        return this.deliver(line);
      case 'joined': {
        const members = this.viewOf(line)?.members;
        if (members?.has(line.user) === false) members.add(line.user);
        return;
      }
      case 'left':
        this.viewOf(line)?.members?.remove(line.user);
        return;
      case 'counted': {
        const view = this.viewOf(line);
        if (view !== undefined) view.count = line.count;
        return;
      }
      case 'trigger':
        return this.trigger(line);
      case 'whisper':
        return this.whisper(line);
      case 'answer':
        return this.answer(line);
      case 'fault':
        this.changedAt = Math.max(line.t, line.until ?? 0);
        return this.faults.add(line);
      default:
    }
  }

  channelOf(name: string): Channel {
    const known = this.channels.get(name);
    if (known !== undefined) return known;
    const channel: Channel = {
      name,
      items: [],
      chains: [],
      live: new Set(),
      present: new Roster(),
      stays: new Map(),
      replays: matches(this.header.rules.replay, name),
      isCached: /^(?:private-encrypted-|private-|presence-)?cache-/.test(name),
    };
    this.channels.set(name, channel);
    return channel;
  }

  private open({ c, n, socket, t }: LineOf<'open'>): void {
    let client = this.clients.get(c);
    if (client === undefined) {
      client = {
        id: c,
        connection: undefined,
        user: undefined,
        views: new Map(),
        wanted: new Set(),
        chains: new Map(),
        sockets: new Set(),
      };
      this.clients.set(c, client);
    }
    this.disconnect(client);
    client.connection = { client, n, socket, openedAt: t, closedAt: Number.POSITIVE_INFINITY };
    client.sockets.add(socket);
    this.sockets.set(socket, client.connection);
    this.changedAt = t;
  }

  private close({ c, n }: LineOf<'close'>): void {
    const client = this.clients.get(c);
    if (client?.connection?.n === n) this.disconnect(client);
  }

  private disconnect(client: Client): void {
    if (client.connection === undefined) return;
    this.changedAt = this.t;
    client.connection.closedAt = this.t;
    client.connection = undefined;
    for (const view of client.views.values()) this.end(view);
  }

  private subscribe({ c, n, ch, user, after, t }: LineOf<'subscribe'>): void {
    const client = this.clients.get(c);
    const connection = client?.connection;
    if (client === undefined || connection?.n !== n) return;
    const channel = this.channelOf(ch);
    const before = client.views.get(ch);
    if (before !== undefined) this.end(before);
    client.wanted.add(ch);
    if (user !== undefined) client.user = user;
    client.views.set(ch, {
      connection,
      channel,
      user,
      after,
      askedLine: this.line,
      confirmedAt: Number.POSITIVE_INFINITY,
      confirmedLine: Number.POSITIVE_INFINITY,
      endedAt: Number.POSITIVE_INFINITY,
      endedLine: Number.POSITIVE_INFINITY,
      chain: undefined,
      from: 0,
      received: 0,
      missed: 0,
      resumed: undefined,
      latestSent: 0,
      members: undefined,
      count: undefined,
    });
    this.changedAt = t;
  }

  private subscribedTo(line: LineOf<'subscribed'>): void {
    const view = this.viewOf(line);
    if (view === undefined || view.chain !== undefined || view.endedLine <= this.line) return;
    const { channel } = view;
    const { client } = view.connection;
    const { ok = false, missed = 0 } = line.resume ?? {};
    const before = client.chains.get(line.ch);
    const resumes = ok && view.after !== undefined && view.after !== '';
    const chain = resumes && before !== undefined ? before : this.newChain(client, channel);
    chain.views.push(view);
    view.chain = chain;
    view.from = chain.items.length;
    view.missed = resumes ? missed : 0;
    if (line.resume !== undefined && view.after !== undefined && view.after !== '') {
      view.resumed = ok;
    }
    view.confirmedAt = line.t;
    view.confirmedLine = this.line;
    if (line.members !== undefined) view.members = new Roster(line.members);
    channel.live.add(view);
    if (channel.live.size === 1) this.beginStay(channel, '');
    if (view.user !== undefined) {
      if (!channel.present.has(view.user)) this.beginStay(channel, view.user);
      channel.present.add(view.user);
    }
    this.confirmed++;
    this.changedAt = line.t;
  }

  private newChain(client: Client, channel: Channel): Chain {
    const index = this.chains.length;
    const chain: Chain = { index, client, channel, views: [], items: [], times: [] };
    this.chains.push(chain);
    channel.chains.push(chain);
    client.chains.set(channel.name, chain);
    return chain;
  }

  /** Ends a subscription, once. */
  private end(view: View): void {
    if (view.endedLine <= this.line) return;
    view.endedAt = this.t;
    view.endedLine = this.line;
    if (view.chain === undefined) return;
    const { channel, user } = view;
    channel.live.delete(view);
    if (channel.live.size === 0) this.endStay(channel, '');
    if (user !== undefined) {
      channel.present.remove(user);
      if (!channel.present.has(user)) this.endStay(channel, user);
    }
    this.confirmed--;
  }

  private beginStay({ stays }: Channel, user: string): void {
    const all = stays.get(user) ?? [];
    stays.set(user, all);
    const last = all.at(-1);
    if (last !== undefined && this.t - last.until <= REPORTED_MS) {
      last.until = Number.POSITIVE_INFINITY;
    } else all.push({ from: this.t, until: Number.POSITIVE_INFINITY });
  }

  private endStay({ stays }: Channel, user: string): void {
    const last = stays.get(user)?.at(-1);
    if (last !== undefined) last.until = this.t;
  }

  private deliver(line: LineOf<'event'>): void {
    this.deliveries++;
    const { view, item } = this.deliveryOf(line);
    if (item === undefined) return;
    if (item.seenLine > this.line) {
      item.seenAt = line.t;
      item.seenLine = this.line;
    }
    item.id ??= line.id;
    if (view?.chain === undefined || view.endedLine <= this.line) return;
    const before = view.received === 0 ? undefined : view.chain.items.at(-1);
    if (before !== undefined) before.next ??= item;
    view.chain.items.push(item);
    view.chain.times.push(line.t);
    view.received++;
    view.latestSent = Math.max(view.latestSent, item.sending.sentLine);
  }

  private trigger({ e, ch, except, key, batch, t }: LineOf<'trigger'>): void {
    this.triggers++;
    const known = this.sent.get(e);
    if (known !== undefined) {
      known.attempts++;
      return;
    }
    const sending = this.newSending({ name: e, except, batch, t });
    for (const name of ch) {
      const keyInChannel = key === undefined ? undefined : `${key}\n${name}`;
      // A key that was used before stands for the event that it was used for.
      const same = keyInChannel === undefined ? undefined : this.keyed.get(keyInChannel);
      if (same !== undefined) same.sending.attempts++;
      const item = same ?? this.newItem(sending, name);
      sending.items.push(item);
      if (keyInChannel !== undefined) this.keyed.set(keyInChannel, item);
    }
  }

  private whisper({ c, n, ch, e, t }: LineOf<'whisper'>): void {
    const connection = this.clients.get(c)?.connection;
    if (connection?.n !== n || this.sent.has(e)) return;
    const sending = this.newSending({ name: e, sender: connection, t });
    sending.items.push(this.newItem(sending, ch));
  }

  private newSending({
    name,
    sender,
    except,
    batch,
    t,
  }: {
    readonly name: string;
    readonly sender?: Connection;
    readonly except?: string | undefined;
    readonly batch?: number | undefined;
    readonly t: number;
  }): Sending {
    const sending: Sending = {
      name,
      sender,
      sentAt: t,
      sentLine: this.line,
      except,
      batch,
      attempts: 1,
      refusals: 0,
      acceptedAt: Number.POSITIVE_INFINITY,
      acceptedLine: Number.POSITIVE_INFINITY,
      items: [],
    };
    this.sent.set(name, sending);
    return sending;
  }

  private newItem(sending: Sending, channelName: string): Item {
    const channel = this.channelOf(channelName);
    const item: Item = {
      sending,
      channel,
      index: this.items.length,
      id: undefined,
      seenAt: Number.POSITIVE_INFINITY,
      seenLine: Number.POSITIVE_INFINITY,
      next: undefined,
      chain: -1,
      at: -1,
    };
    channel.items.push(item);
    this.items.push(item);
    return item;
  }

  private answer({ e, status, ids }: LineOf<'answer'>): void {
    const named = this.sent.get(e);
    if (named === undefined) return;
    this.answered(named, status);
    // The events of a key that was used before belong to another one.
    const others = named.items.filter(({ sending }) => sending !== named);
    for (const sending of new Set(others.map((item) => item.sending))) {
      this.answered(sending, status);
    }
    if (ids !== undefined) for (const item of named.items) item.id ??= ids[item.channel.name];
  }

  private answered(sending: Sending, status: number): void {
    if (status >= 400 && status < 500) sending.refusals++;
    if (status !== 200 || sending.acceptedLine <= this.line) return;
    sending.acceptedAt = this.t;
    sending.acceptedLine = this.line;
  }
}
