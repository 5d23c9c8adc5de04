import type { Timers } from '../runtime/ports.ts';
import { STREAMS_MAX } from './limits.ts';
import type { AppTick, WatchedApp } from './records.ts';

/** How servers reach each other. */
export interface ClusterLink {
  /** Sends a text to every other server. */
  toAll(text: string): void;
  /** Sends a text to one. Each is answered by `said`. */
  to(loop: string, text: string): void;
}

/** What servers say to each other about watching. */
type ClusterMessage =
  /** Everything that a server watches; repeated, and forgotten if it is not. */
  | { readonly type: 'watch'; readonly node: string; readonly apps: readonly WatchedApp[] }
  /** What the loops of a server have seen for the one that watches; also empty, so that it is known to be there. */
  | { readonly type: 'ticks'; readonly node: string; readonly ticks: readonly AppTick[] };

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
  /** Other servers watch something else than before. */
  readonly onChange: () => void;
  /** Another server has seen this. */
  readonly onTicks: (node: string, ticks: readonly AppTick[]) => void;
}

/** A server that does not repeat what it watches is forgotten. Milliseconds. */
const FORGOTTEN_MS = 6000;

/** Servers that may watch at the same time. */
const WATCHERS_MAX = 32;

/** Texts on their way to one server. */
const IN_FLIGHT_MAX = 2;

/** Ticks that wait for them; beyond it, they are left out. */
const WAITING_MAX = 64;

/** How often a server that has seen nothing says that it is there. Milliseconds. */
const HERE_MS = 1000;

/** What this server watches on others, and what others watch on this one. */
export class WatchersElsewhere {
  private readonly options: WatchersElsewhereOptions;
  /** By the loop that speaks for the server. */
  private readonly watchers = new Map<string, WatcherElsewhere>();

  constructor(options: WatchersElsewhereOptions) {
    this.options = options;
  }

  get apps(): readonly WatchedApp[] {
    return [...this.watchers.values()].flatMap(({ apps }) => apps);
  }

  /** Says to all servers what this one watches. */
  state(apps: readonly WatchedApp[]): void {
    const { node, link } = this.options;
    link.toAll(JSON.stringify({ type: 'watch', node, apps } satisfies ClusterMessage));
  }

  /** Takes what another server has said. What this version does not understand is ignored. */
  receive(from: string, text: string): void {
    const message = readMessage(text);
    if (message === undefined) return;
    if (message.type === 'ticks') return this.options.onTicks(message.node, message.ticks);
    const apps = message.apps.slice(0, STREAMS_MAX);
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

  /** A text has arrived, or nobody was there to take it. */
  delivered(to: string, isReceived: boolean): void {
    const watcher = this.watchers.get(to);
    if (watcher === undefined) return;
    watcher.inFlight--;
    if (isReceived) return;
    this.watchers.delete(to);
    this.options.onChange();
  }

  /** Keeps records of this server for the servers that watch it. */
  add(ticks: readonly AppTick[]): void {
    for (const { apps, waiting } of this.watchers.values()) {
      for (const tick of ticks) {
        if (waiting.length < WAITING_MAX && apps.some(({ id }) => id === tick.appId)) {
          waiting.push(tick);
        }
      }
    }
  }

  /** Sends queued messages. Called with each tick. */
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

/** Servers of one cluster trust each other, but may have different versions. */
function readMessage(text: string): ClusterMessage | undefined {
  let message: Partial<Record<string, unknown>>;
  try {
    message = Object(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { type, node, apps, ticks } = message;
  if (typeof node !== 'string') return undefined;
  if (type === 'watch' && Array.isArray(apps) && apps.every(isWatchedApp)) {
    return { type, node, apps };
  }
  return type === 'ticks' && Array.isArray(ticks) && ticks.every(isTick)
    ? { type, node, ticks }
    : undefined;
}

function isWatchedApp(app: unknown): app is WatchedApp {
  const { id, filters } = Object(app);
  return (
    typeof id === 'string' &&
    Array.isArray(filters) &&
    filters.every((filter) => Array.isArray(Object(filter).kinds ?? []))
  );
}

function isTick(tick: unknown): tick is AppTick {
  const { appId, loop, records, heard, skipped } = Object(tick);
  return (
    typeof appId === 'string' &&
    typeof loop === 'string' &&
    Array.isArray(records) &&
    Array.isArray(heard) &&
    typeof skipped === 'object' &&
    skipped !== null
  );
}
