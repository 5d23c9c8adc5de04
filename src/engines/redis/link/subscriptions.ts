import type { Timers } from '../../../runtime/ports.ts';
import type { EngineMeter } from '../../engine-meter.ts';
import type { PushKind, RedisConnection } from './connection.ts';
import { encodeCommand } from './encode-command.ts';
import { RedisAway, type Reply } from './reply.ts';

export interface SubscriptionsOptions {
  readonly timers: Timers;
  /** The timeout of a confirmation, and of the first probe on a connection. */
  readonly deadlineMs: number;
  /** After this silence, a probe is published. It must arrive within the same time. */
  readonly silenceMs: number;
  /** This process's own channel, for the probes. */
  readonly probeChannel: string;
  readonly publish: (channel: string, payload: string) => Promise<unknown>;
  /** Whether the channels belong to a slot of a cluster. */
  readonly isSharded: boolean;
  readonly meter: EngineMeter;
}

/** The callbacks of the subscriptions. */
export interface SubscriptionsOwner {
  onMessage(channel: string, payload: string): void;
  /** A new connection follows everything again. */
  onFollowed(): void;
  /** A probe has arrived, so published messages reach us. */
  onProbed(): void;
}

interface Channel {
  readonly name: string;
  isWanted: boolean;
  /** What Redis was asked for, or has confirmed. */
  state: 'off' | 'subscribing' | 'on' | 'unsubscribing';
  /** Whether it is in `changed`. */
  isChanged: boolean;
  /** Whether a new connection does not follow it yet. */
  isMissing: boolean;
  /** Callers that wait until Redis confirms. */
  waiting: PromiseWithResolvers<void>[];
}

/** The limit of channels in one command, so that it blocks Redis for less than 1 ms. */
const BATCH = 512;
/** The limit of channels without confirmation. */
const UNCONFIRMED_MAX = 4 * BATCH;

/**
 * The channels that this process follows, on a connection of their own.
 *
 * A channel stays followed across connections until `unfollow`. A message may still arrive after that.
 */
export class Subscriptions {
  private readonly options: SubscriptionsOptions;
  private readonly owner: SubscriptionsOwner;
  private readonly channels = new Map<string, Channel>();
  private connection: RedisConnection | undefined;
  /** Channels whose state differs from the wanted one, in the order of the calls. */
  private changed: Channel[] = [];
  private isSendingPlanned = false;
  private unconfirmed = 0;
  private askedAtMs = 0;
  /** Confirmations until a new connection follows everything again. */
  private missing = 0;
  private probes = 0;
  private probeSentAtMs: number | undefined;
  /** Whether a probe has arrived on this connection since the last `verify`. */
  private isVerified = false;
  private isLate = false;

  constructor(options: SubscriptionsOptions, owner: SubscriptionsOwner) {
    this.options = options;
    this.owner = owner;
  }

  get size(): number {
    return this.channels.size;
  }

  /** Resolves when Redis has confirmed it, however long Redis is away. Rejects after `unfollow` or `close`. */
  follow(name: string): Promise<void> {
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = {
        name,
        isWanted: false,
        state: 'off',
        isChanged: false,
        isMissing: false,
        waiting: [],
      };
      this.channels.set(name, channel);
    }
    if (!channel.isWanted) this.want(channel, true);
    if (channel.state === 'on') return Promise.resolve();
    const waiting = Promise.withResolvers<void>();
    channel.waiting.push(waiting);
    return waiting.promise;
  }

  unfollow(name: string): void {
    const channel = this.channels.get(name);
    if (channel?.isWanted !== true) return;
    this.want(channel, false);
    for (const { reject } of channel.waiting.splice(0)) {
      reject(new RedisAway('not followed', false));
    }
  }

  /** Follows everything on a new connection. */
  attach(connection: RedisConnection): void {
    this.connection = connection;
    this.options.meter.count('engineFollowedAgain', this.channels.size);
    this.changed = [];
    this.unconfirmed = 1;
    this.askedAtMs = this.options.timers.now();
    connection.write(encodeCommand([this.subscribe, this.options.probeChannel]));
    for (const channel of this.channels.values()) {
      channel.isChanged = true;
      channel.isMissing = true;
      this.changed.push(channel);
    }
    // The channel of the probes is one of them.
    this.missing = this.changed.length + 1;
    this.sendChanges();
  }

  /** The connection has closed. */
  detach(): void {
    this.connection = undefined;
    this.isVerified = false;
    this.isLate = false;
    this.probeSentAtMs = undefined;
    for (const channel of this.channels.values()) {
      channel.state = 'off';
      if (!channel.isWanted) this.channels.delete(channel.name);
    }
  }

  close(): void {
    this.detach();
    for (const { waiting } of this.channels.values()) {
      for (const { reject } of waiting) reject(new RedisAway('the server is stopping', false));
    }
    this.channels.clear();
  }

  onPush(kind: PushKind, name: string, payload: Reply): void {
    if (kind !== 'message') this.onConfirmed(kind, name);
    else if (name === this.options.probeChannel) this.onProbe(payload);
    else this.owner.onMessage(name, String(payload));
  }

  /** Publishes a probe, to check that messages still arrive. */
  verify(): void {
    this.isVerified = false;
    this.probe();
  }

  /** Closes a connection that is silent for too long. Called several times per `silenceMs`. */
  tick(): void {
    const { connection } = this;
    if (connection === undefined) return;
    const { timers, deadlineMs, silenceMs } = this.options;
    const nowMs = timers.now();
    const probeMsMax = this.isVerified ? silenceMs : deadlineMs;
    const isUnconfirmed =
      this.unconfirmed > 0 && nowMs - Math.max(this.askedAtMs, connection.heardAtMs) > deadlineMs;
    const isUnanswered =
      this.probeSentAtMs !== undefined && nowMs - this.probeSentAtMs > probeMsMax;
    if (isUnconfirmed || isUnanswered) {
      // If this loop was blocked, the answer may be in the socket, unread. The next tick reads it.
      const why = isUnconfirmed ? 'a subscription is not confirmed' : 'no messages arrive';
      if (!this.isLate) {
        this.isLate = true;
        return;
      }
      if (isUnanswered) this.options.meter.count('engineProbesUnanswered');
      return connection.end(why);
    }
    this.isLate = false;
    if (this.probeSentAtMs === undefined && nowMs - connection.heardAtMs > silenceMs) this.probe();
  }

  private want(channel: Channel, isWanted: boolean): void {
    channel.isWanted = isWanted;
    // Otherwise it changes when Redis has confirmed the earlier request.
    if (channel.state !== 'off' && channel.state !== 'on') return;
    if (channel.isChanged) return;
    channel.isChanged = true;
    this.changed.push(channel);
    if (this.isSendingPlanned) return;
    this.isSendingPlanned = true;
    setImmediate(() => {
      this.isSendingPlanned = false;
      this.sendChanges();
    });
  }

  /** Sends changed subscriptions to Redis, provided that it has confirmed most of the earlier ones. */
  private sendChanges(): void {
    const { connection } = this;
    if (connection === undefined) return;
    if (this.unconfirmed === 0) this.askedAtMs = this.options.timers.now();
    let taken = 0;
    while (taken < this.changed.length && this.unconfirmed < UNCONFIRMED_MAX) {
      const batch = this.changed.slice(taken, taken + BATCH);
      taken += batch.length;
      this.ask(connection, batch);
    }
    this.changed.splice(0, taken);
    connection.flush();
  }

  private ask(connection: RedisConnection, batch: readonly Channel[]): void {
    const subscribe: string[] = [];
    const unsubscribe: string[] = [];
    for (const channel of batch) {
      channel.isChanged = false;
      if (channel.isWanted && channel.state === 'off') {
        channel.state = 'subscribing';
        subscribe.push(channel.name);
      } else if (!channel.isWanted && channel.state === 'on') {
        channel.state = 'unsubscribing';
        unsubscribe.push(channel.name);
      } else if (!channel.isWanted && channel.state === 'off') {
        this.channels.delete(channel.name);
        this.onFollowed(channel);
      }
    }
    this.unconfirmed += subscribe.length + unsubscribe.length;
    if (subscribe.length > 0) connection.write(encodeCommand([this.subscribe, ...subscribe]));
    if (unsubscribe.length > 0) {
      connection.write(encodeCommand([this.unsubscribe, ...unsubscribe]));
    }
  }

  private get subscribe(): string {
    return this.options.isSharded ? 'SSUBSCRIBE' : 'SUBSCRIBE';
  }

  private get unsubscribe(): string {
    return this.options.isSharded ? 'SUNSUBSCRIBE' : 'UNSUBSCRIBE';
  }

  private onConfirmed(kind: 'subscribe' | 'unsubscribe', name: string): void {
    const channel = this.channels.get(name);
    if (kind === 'unsubscribe' && channel?.state !== 'unsubscribing') {
      this.connection?.end('Redis has ended a subscription: the slot is at another master');
      return;
    }
    this.unconfirmed -= 1;
    if (name === this.options.probeChannel) this.onFewerMissing();
    if (channel !== undefined) {
      channel.state = kind === 'subscribe' ? 'on' : 'off';
      this.onFollowed(channel);
      if (channel.isWanted !== (kind === 'subscribe')) this.want(channel, channel.isWanted);
      else if (!channel.isWanted) this.channels.delete(name);
      else for (const { resolve } of channel.waiting.splice(0)) resolve();
    }
    if (this.changed.length > 0 && this.unconfirmed <= UNCONFIRMED_MAX - BATCH) this.sendChanges();
  }

  private onFollowed(channel: Channel): void {
    if (!channel.isMissing) return;
    channel.isMissing = false;
    this.onFewerMissing();
  }

  private onFewerMissing(): void {
    this.missing -= 1;
    if (this.missing === 0) this.owner.onFollowed();
  }

  private probe(): void {
    if (this.connection === undefined) return;
    this.probes += 1;
    const sentAtMs = this.options.timers.now();
    this.probeSentAtMs = sentAtMs;
    this.options.publish(this.options.probeChannel, String(this.probes)).catch(() => {
      // The other connection is away, which says nothing about this one. A probe follows when it is back.
      if (this.probeSentAtMs === sentAtMs) this.probeSentAtMs = undefined;
    });
  }

  private onProbe(payload: Reply): void {
    if (payload !== String(this.probes)) return;
    this.probeSentAtMs = undefined;
    this.isVerified = true;
    this.owner.onProbed();
  }
}
