import { messageOf } from '../../../runtime/error-code.ts';
import { every } from '../../../runtime/time/every.ts';
import { Poller } from '../../../runtime/time/poller.ts';
import type { EngineMeter } from '../../engine-meter.ts';
import type { RedisEndpoint } from './address.ts';
import { checkServer, type RedisProcess } from './check-server.ts';
import { DataLine } from './cluster/data-line.ts';
import { lackOf, refusalKind } from './cluster/refusal.ts';
import { movedTo } from './cluster/slot-map.ts';
import { Commands, type SlotCommands } from './commands.ts';
import type { RedisConnection, RedisConnectionOwner } from './connection.ts';
import {
  type ClusterSlot,
  DEADLINE_MS,
  RedisConnector,
  type RedisConnectorOptions,
} from './connector.ts';
import { KeptConnection } from './kept-connection.ts';
import { lacksTimeOnly, PROBE, refusalIn } from './probe.ts';
import { RedisAway, RedisError, RedisRefused, RedisUnsuitable } from './reply.ts';
import type { RedisScript } from './script.ts';
import { Subscriptions, type SubscriptionsOwner } from './subscriptions.ts';

export interface RedisServerOptions extends RedisConnectorOptions {
  /** The prefix of the channel that this process follows to detect that messages no longer arrive. */
  readonly prefix: string;
  /** All scripts that may be run. */
  readonly scripts: readonly RedisScript[];
  readonly listener: RedisListener;
  readonly meter: EngineMeter;
  /** The longest silence of the subscriptions before a probe is sent. */
  readonly silenceMs?: number;
  /** How long the start waits for Redis; 10 s by default. */
  readonly startMs?: number;
  /** The limits for commands without a reply. Characters are about bytes. */
  readonly waitingMax?: number;
  readonly waitingCharactersMax?: number;
}

/** The callbacks of a server. None is called before `open` has resolved. */
export interface RedisListener {
  /**
   * Redis cannot be used, or published messages do not reach us. Commands wait from now on. Called again if Redis then
   * answers, but refuses commands.
   */
  onAway(away: Away): void;
  /** Redis works again. Commands run in this callback are sent before those that waited. */
  onBack(): void;
  /** From now on, messages are missed. Everything is followed again before `onBack`. */
  onGap(why: string): void;
  /** Must return at once and never throw. `loops`: how many loops of this process get it; 1 by default. */
  onMessage(channel: string, payload: string, loops?: number): void;
}

/** Since when, and why, Redis cannot be used. */
export interface Away {
  /** By the clock of `timers`. */
  readonly sinceMs: number;
  /** The latest reason. */
  readonly why: string;
  /** Redis answers, but refuses what we ask of it. `why` is what it says. */
  readonly isRefused: boolean;
  /** The server that is or was used, or the first one of the URL. */
  readonly server: string;
}

const SILENCE_MS = 5_000;
const WAITING_MAX = 50_000;
const WAITING_CHARACTERS_MAX = 32 * 1024 * 1024;
/** How long the start of the server waits for Redis. */
const START_MS = 10_000;
/** The limit of reasons that a start logs. */
const REASONS_MAX = 10;
/** How many checks are made per silence. */
const TICKS = 20;
/** How often a Redis that refuses commands is tried again. */
const REFUSED_POLL_MS = 1_000;
/** How often the sentinels are asked: a replaced primary may still be reachable. */
const SENTINEL_POLL_MS = 3_000;
/** How often a server of the cluster is asked, for the same reason. */
const CLUSTER_POLL_MS = 10_000;

/**
 * One Redis server, the primary that sentinels name, or the master of a slot of a cluster: a connection for commands and
 * one for subscriptions.
 *
 * It is up while both connections are open, all channels are followed, and a message published on the first has
 * arrived on the second. Otherwise it is away, and reconnects until `close`.
 */
export class RedisServer implements AsyncDisposable {
  readonly commands: Commands;
  readonly subscriptions: Subscriptions;
  private readonly options: RedisServerOptions;
  private readonly connector: RedisConnector;
  private readonly commandsConnection: KeptConnection;
  private readonly subscriptionsConnection: KeptConnection;
  private stopTicks: (() => void) | undefined;
  /** Asks the sentinels, or the cluster, who the primary is. */
  private readonly polling: Poller;
  private primary: RedisEndpoint | undefined;
  private commandsGoTo = '';
  /** What is known of the data of a slot. */
  private readonly line: DataLine | undefined;
  private areCommandsUp = false;
  private isFollowing = false;
  private isProbed = false;
  private triedAtMs = Number.NEGATIVE_INFINITY;
  /** The slot has refused the last probe, or commands. */
  private isStuck = false;
  /** Scripts may not ask for the time, so calls bring it. */
  private lacksTime = false;
  /** The clock of Redis, and when it was read. */
  private clock = { microseconds: 0, atMs: 0 };
  private isClosed = false;
  private awaySince: Away | undefined;
  private readonly opened = Promise.withResolvers<void>();
  private isOpened = false;
  private readonly loggedAtStart = new Set<string>();

  private constructor(options: RedisServerOptions) {
    const { timers, prefix, meter } = options;
    const { deadlineMs = DEADLINE_MS, silenceMs = SILENCE_MS, slot } = options;
    this.options = options;
    this.connector = new RedisConnector(options);
    this.line = slot && new DataLine(slot.map);
    this.polling = new Poller(timers, () => this.poll());
    const why = 'not connected yet';
    this.awaySince = { sinceMs: timers.now(), why, isRefused: false, server: this.master };
    this.commands = new Commands({
      timers,
      deadlineMs,
      waitingMax: options.waitingMax ?? WAITING_MAX,
      waitingCharactersMax: options.waitingCharactersMax ?? WAITING_CHARACTERS_MAX,
      scripts: [PROBE, ...options.scripts],
      onScriptRefused: () => this.onScriptRefused(),
      slot: slot && this.slotCommands(slot),
    });
    this.subscriptions = new Subscriptions(
      {
        timers,
        deadlineMs,
        silenceMs,
        probeChannel: `${prefix}probe:${crypto.randomUUID()}`,
        publish: (channel, payload) => this.publishProbe(channel, payload),
        isSharded: slot !== undefined,
        meter,
      },
      this.subscriptionsOwner(),
    );
    this.commandsConnection = this.keepCommands();
    this.subscriptionsConnection = this.keepSubscriptions();
  }

  /**
   * Resolves when Redis works. Rejects after 10 s, with `RedisRefused` if it answers, and otherwise with `RedisAway`: what
   * another program says may change while we wait, such as a password. Rejects with `RedisUrlInvalid` at once.
   */
  static async open(options: RedisServerOptions): Promise<RedisServer> {
    const server = new RedisServer(options);
    const stopTimer = options.timers.after(options.startMs ?? START_MS, () => {
      server.opened.reject(server.startFailure());
    });
    server.start();
    try {
      await server.opened.promise;
    } catch (error) {
      await server.close();
      throw error;
    } finally {
      stopTimer();
    }
    return server;
  }

  /** `undefined` while Redis can be used. */
  get away(): Away | undefined {
    return this.awaySince;
  }

  /** The Redis process that receives the commands. */
  get serverId(): string {
    return this.commandsGoTo;
  }

  /** The data that it has: of a slot, they stay the same at another master. */
  get dataId(): string {
    return this.line?.id ?? this.commandsGoTo;
  }

  private slotCommands(slot: ClusterSlot): SlotCommands {
    const { meter } = this.options;
    return {
      onRefused: (kind) => meter.count('engineRedirects', 1, kind),
      onMoved: (refusal) => {
        const named = this.primary && movedTo(refusal, this.primary);
        if (named !== undefined) slot.map.sentTo(named);
        this.commandsConnection.replace(refusalText(refusal, slot));
      },
      onStuck: (refusal) => {
        this.isStuck = true;
        this.leave(refusalText(refusal, slot));
      },
      mustLoad: () => slot.map.mustLoad(`${this.commandsGoTo} ${this.lacksTime}`),
      time: () => {
        const { microseconds, atMs } = this.clock;
        const passedMs = this.options.timers.now() - atMs;
        return this.lacksTime ? Math.floor(microseconds + passedMs * 1000) : undefined;
      },
    };
  }

  /** Closes both connections. Commands without a reply are rejected. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.stopTicks?.();
    void this.polling.stop();
    this.subscriptionsConnection.close();
    this.commandsConnection.close();
    this.subscriptions.close();
    this.commands.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private subscriptionsOwner(): SubscriptionsOwner {
    return {
      onMessage: (channel, payload) => this.options.listener.onMessage(channel, payload),
      onFollowed: () => {
        this.isFollowing = true;
        if (this.areCommandsUp) this.subscriptions.verify();
      },
      onProbed: () => {
        this.isProbed = true;
        this.comeBack();
      },
    };
  }

  private keepCommands(): KeptConnection {
    const { timers, meter } = this.options;
    const onAnswered = (ms: number) => meter.observe('engineAnswers', ms / 1000);
    return new KeptConnection({
      timers,
      connect: (onEnd) => this.connectCommands({ onEnd, onAnswered }),
      onUp: (connection) => {
        this.areCommandsUp = true;
        if (connection.process !== undefined) this.follow(connection.process);
        this.commands.attach(connection);
        if (this.isFollowing) this.subscriptions.verify();
      },
      onDown: (why) => {
        this.areCommandsUp = false;
        this.commands.detach(why);
        this.lost('commands', why);
      },
      onFailed: (error) => this.onFailed(error),
    });
  }

  private follow(process: RedisProcess): void {
    this.commandsGoTo = process.id;
    const { answeredAtMs } = this.commands;
    const nowMs = this.options.timers.now();
    this.readClock(process);
    const endpoint = this.primary ?? this.connector.firstEndpoint;
    this.line?.follow(process, { endpoint, nowMs, answeredAtMs });
  }

  /** Reads the clock of the master of a slot, and what its data come from. The next poll retries. */
  private async readInfo(): Promise<void> {
    const info = await this.commands.run(['INFO']);
    const { process } = checkServer(String(info), { isCluster: true });
    this.readClock(process);
    this.line?.confirm(process);
  }

  private readClock({ timeMicroseconds: microseconds }: RedisProcess): void {
    if (microseconds > 0) this.clock = { microseconds, atMs: this.options.timers.now() };
  }

  private keepSubscriptions(): KeptConnection {
    const { timers, listener } = this.options;
    return new KeptConnection({
      timers,
      connect: (onEnd) =>
        this.connectSubscriptions({
          onEnd,
          onPush: (kind, channel, payload) => this.subscriptions.onPush(kind, channel, payload),
        }),
      onUp: (connection) => this.subscriptions.attach(connection),
      onDown: (why) => {
        this.isFollowing = false;
        this.subscriptions.detach();
        this.lost('subscriptions', why);
        this.findLack(why);
        if (this.isOpened && !this.isClosed) listener.onGap(why);
      },
      onFailed: (error) => this.onFailed(error),
    });
  }

  private start(): void {
    void this.commandsConnection.start();
    void this.subscriptionsConnection.start();
    const { timers, silenceMs = SILENCE_MS } = this.options;
    this.stopTicks = every(timers, silenceMs / TICKS, () => this.tick());
    if (this.pollMs !== undefined) this.polling.wakeLater(this.pollMs);
  }

  private tick(): void {
    this.subscriptions.tick();
    if (this.awaySince === undefined) return;
    if (this.isStuck) {
      this.isStuck = false;
      this.tryAgain(0);
    } else if (this.awaySince.isRefused) this.tryAgain();
  }

  private lost(kind: 'commands' | 'subscriptions', why: string): void {
    if (!this.isClosed) this.options.meter.count('engineConnectionsLost', 1, kind);
    this.leave(why);
  }

  private leave(why: string, { isRefused = false } = {}): void {
    this.isProbed = false;
    if (this.isClosed) return;
    const { timers, log, listener, meter } = this.options;
    const before = this.awaySince;
    const sinceMs = before?.sinceMs ?? timers.now();
    this.awaySince = { sinceMs, why, isRefused, server: this.master };
    if (before === undefined) {
      meter.count('engineOutages');
      this.commands.hold(why);
    } else if (!this.isOpened || !isRefused || before.isRefused) return;
    const text = isRefused ? 'Redis refuses what this server asks of it' : 'Redis is away';
    log.warn(text, { server: this.master, why });
    listener.onAway(this.awaySince);
  }

  /** Logs each reason once, at once: an operator who watches the start must not wait for its end. */
  private logAtStart(why: string): void {
    if (this.isOpened || this.isClosed) return;
    if (this.loggedAtStart.has(why) || this.loggedAtStart.size >= REASONS_MAX) return;
    this.loggedAtStart.add(why);
    this.options.log.warn('Redis cannot be used yet', { server: this.master, why });
  }

  private startFailure(): RedisRefused | RedisAway {
    const { why = '', isRefused = false } = this.awaySince ?? {};
    return isRefused ? new RedisRefused(why) : new RedisAway(`Redis is away: ${why}`, false);
  }

  /** A script was refused. If all are, this server cannot work. */
  private onScriptRefused(): void {
    if (this.awaySince === undefined) this.tryAgain();
  }

  private tryAgain(pauseMs = REFUSED_POLL_MS): void {
    const nowMs = this.options.timers.now();
    if (nowMs - this.triedAtMs < pauseMs || !this.areCommandsUp || !this.isFollowing) return;
    this.triedAtMs = nowMs;
    this.subscriptions.verify();
  }

  private comeBack(): void {
    const { awaySince } = this;
    const isUp = this.areCommandsUp && this.isFollowing && this.isProbed;
    if (awaySince === undefined || !isUp) return;
    this.awaySince = undefined;
    this.commands.open();
    if (!this.isOpened) {
      this.isOpened = true;
      this.opened.resolve();
    } else {
      const { timers, log, listener } = this.options;
      const awayMs = Math.round(timers.now() - awaySince.sinceMs);
      log.info('Redis is back', { server: this.master, awayMs });
      listener.onBack();
    }
    this.commands.sendUnsent();
  }

  private async publishProbe(channel: string, payload: string): Promise<void> {
    if (!this.areCommandsUp) throw new RedisAway('no connection for commands', false);
    const why = await this.refusal(channel, payload);
    if (why === undefined) return;
    this.findLack(why);
    this.logAtStart(why);
    this.leave(why, { isRefused: true });
    throw new RedisAway(why, false);
  }

  private async refusal(channel: string, payload: string): Promise<string | undefined> {
    try {
      const probe = { keys: [channel], args: [payload] };
      let reply = await this.commands.scriptNow(PROBE, probe);
      if (this.options.slot !== undefined && lacksTimeOnly(reply)) {
        this.lacksTime = true;
        reply = await this.commands.scriptNow(PROBE, probe);
      }
      return refusalIn(reply);
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      const { slot } = this.options;
      const kind = slot && refusalKind(error);
      if (slot === undefined || kind === undefined) return error.message;
      const { onRefused, onMoved, onStuck } = this.slotCommands(slot);
      onRefused(kind);
      if (kind === 'moved') onMoved(error.message);
      else onStuck(error.message);
      throw new RedisAway(refusalText(error.message, slot), false);
    }
  }

  /** Rejects the start if the service lacks what every slot of a cluster needs. */
  private findLack(why: string): void {
    const lack = this.options.slot && lackOf(why);
    if (lack !== undefined) this.opened.reject(lack);
  }

  private onFailed(error: unknown): void {
    const why = messageOf(error);
    if (error instanceof RedisUnsuitable && !this.isOpened) return this.opened.reject(error);
    this.logAtStart(why);
    this.leave(why, { isRefused: error instanceof RedisRefused });
  }

  private async connectCommands(owner: RedisConnectionOwner): Promise<RedisConnection> {
    const primary = await this.connector.findPrimary();
    const connection = await this.connector.connect(primary, owner);
    if (connection.process !== undefined) await this.line?.examine(connection.process);
    this.take(primary, (why) => this.subscriptionsConnection.replace(why));
    return connection;
  }

  /** Connects to the server that the commands use, if it is known. */
  private async connectSubscriptions(owner: RedisConnectionOwner): Promise<RedisConnection> {
    // In a cluster, subscriptions may be the first that a master has ended.
    const known = this.options.slot === undefined ? this.primary : undefined;
    const primary = known ?? (await this.connector.findPrimary());
    const connection = await this.connector.connect(primary, owner);
    if (this.options.slot !== undefined) this.take(primary, (why) => this.commands.retire(why));
    return connection;
  }

  /** A connection to the primary is open. The other one must lead there too. */
  private take(primary: RedisEndpoint, replaceOther: (why: string) => void): void {
    if (isSame(primary, this.primary)) return;
    const isFirst = this.primary === undefined;
    this.primary = primary;
    if (!isFirst || this.options.slot === undefined) replaceOther('the primary has changed');
  }

  /** The host and port of the server that is or was used, or of the first one of the URL. */
  get master(): string {
    return nameOf(this.primary ?? this.connector.firstEndpoint);
  }

  /** Follows a failover, or a slot that was moved. If nobody answers, the connections stay. */
  private async poll(): Promise<number> {
    const primary = await this.connector.findPrimary().catch(() => undefined);
    const isOther = primary !== undefined && !isSame(primary, this.primary);
    if (isOther && this.areCommandsUp && !this.isClosed) {
      const why = `the primary is now ${nameOf(primary)}`;
      if (this.options.slot === undefined) this.commandsConnection.replace(why);
      else this.commands.retire(why);
    }
    if (this.line !== undefined && this.areCommandsUp) {
      await this.readInfo().catch(() => undefined);
    }
    return this.pollMs ?? Number.POSITIVE_INFINITY;
  }

  private get pollMs(): number | undefined {
    if (this.options.slot !== undefined) return CLUSTER_POLL_MS;
    return this.connector.hasSentinels ? SENTINEL_POLL_MS : undefined;
  }
}

/** What a refusal of a slot means, for operators. */
function refusalText(message: string, { number }: ClusterSlot): string {
  if (/^(?:ASK|TRYAGAIN)\b/.test(message)) return `slot ${number} is being moved`;
  return message.startsWith('MOVED') ? `slot ${number} is at another master` : message;
}

function isSame(a: RedisEndpoint, b: RedisEndpoint | undefined): boolean {
  return a.host === b?.host && a.port === b.port;
}

function nameOf({ host, port }: RedisEndpoint): string {
  return `${host}:${port}`;
}
