import type { Timers } from '../runtime/ports.ts';
import { STREAMS_MAX } from './limits.ts';
import { type ClusterMessage, readMessage } from './read-message.ts';
import type { AppTick, WatchedApp } from './records.ts';

/** How servers reach each other. */
export interface ClusterLink {
  /** Sends a text to every other server. */
  toAll(text: string): void;
  /** Sends a text to one server. `delivered` is called with the result. */
  to(loop: string, text: string): void;
}

interface WatcherElsewhere {
  apps: readonly WatchedApp[];
  untilMs: number;
  waiting: AppTick[];
  /** Texts that were sent and not acknowledged. */
  inFlight: number;
  saidAtMs: number;
}

export interface WatchersElsewhereOptions {
  /** The name of this server. */
  readonly node: string;
  readonly timers: Timers;
  readonly link: ClusterLink;
  /** Called when other servers watch something new. */
  readonly onChange: () => void;
  /** Called with what another server has recorded. */
  readonly onTicks: (node: string, ticks: readonly AppTick[]) => void;
}

/** A server that stops repeating what it watches is forgotten after this time. Milliseconds. */
const FORGOTTEN_MS = 6000;

/** The limit of servers that may watch at the same time. */
const WATCHERS_MAX = 32;

/** The limit of texts in flight to one server. */
const IN_FLIGHT_MAX = 2;

/** The limit of ticks that wait for it. Beyond it, ticks are dropped. */
const WAITING_MAX = 64;

/** How often a server without records sends a sign of life. Milliseconds. */
const HERE_MS = 1000;

/** What this server watches on others, and what others watch on this one. */
export class WatchersElsewhere {
  private readonly options: WatchersElsewhereOptions;
  /** By the loop that represents the server. */
  private readonly watchers = new Map<string, WatcherElsewhere>();

  constructor(options: WatchersElsewhereOptions) {
    this.options = options;
  }

  get apps(): readonly WatchedApp[] {
    return [...this.watchers.values()].flatMap(({ apps }) => apps);
  }

  /** Announces to all servers what this one watches. */
  state(apps: readonly WatchedApp[]): void {
    const { node, link } = this.options;
    link.toAll(JSON.stringify({ type: 'watch', node, apps } satisfies ClusterMessage));
  }

  /** Handles a message of another server. Returns `false` if it is not for this class or cannot be read. */
  receive(from: string, text: string): boolean {
    const message = readMessage(text);
    if (message === undefined) return false;
    if (message.type === 'ticks') this.options.onTicks(message.node, message.ticks);
    else this.watched(from, message.apps);
    return true;
  }

  /** Another server says what it watches. */
  private watched(from: string, all: readonly WatchedApp[]): void {
    const apps = all.slice(0, STREAMS_MAX);
    const watcher = this.watchers.get(from);
    if (apps.length === 0) {
      if (this.watchers.delete(from)) this.options.onChange();
      return;
    }
    const nowMs = this.options.timers.now();
    const untilMs = nowMs + FORGOTTEN_MS;
    if (watcher !== undefined) {
      watcher.untilMs = untilMs;
      watcher.apps = apps;
    } else if (this.watchers.size < WATCHERS_MAX) {
      this.watchers.set(from, { apps, untilMs, waiting: [], inFlight: 0, saidAtMs: 0 });
    }
    this.options.onChange();
  }

  /** A text has arrived, or its receiver no longer exists. */
  delivered(to: string, isReceived: boolean): void {
    const watcher = this.watchers.get(to);
    if (watcher === undefined) return;
    watcher.inFlight--;
    if (isReceived) return;
    this.watchers.delete(to);
    this.options.onChange();
  }

  /** Queues records of this server for the servers that watch it. */
  add(ticks: readonly AppTick[]): void {
    for (const { apps, waiting } of this.watchers.values()) {
      for (const tick of ticks) {
        if (waiting.length < WAITING_MAX && apps.some(({ id }) => id === tick.appId)) {
          waiting.push(tick);
        }
      }
    }
  }

  /** Sends queued messages. Called once per tick. */
  flush(): void {
    const { node, timers, link } = this.options;
    const nowMs = timers.now();
    for (const [to, watcher] of this.watchers) {
      if (watcher.untilMs <= nowMs) {
        this.watchers.delete(to);
        this.options.onChange();
        continue;
      }
      const mustSpeak = watcher.waiting.length > 0 || nowMs - watcher.saidAtMs >= HERE_MS;
      if (!mustSpeak || watcher.inFlight >= IN_FLIGHT_MAX) continue;
      const { waiting } = watcher;
      watcher.waiting = [];
      watcher.inFlight++;
      watcher.saidAtMs = nowMs;
      link.to(to, JSON.stringify({ type: 'ticks', node, ticks: waiting } satisfies ClusterMessage));
    }
  }
}
