import { type PlaceHolder, Places } from '../runtime/fairness/places.ts';
import type { Timers } from '../runtime/ports.ts';
import {
  COUNTS_TICKS,
  RECORDS_PER_TICK,
  STREAMS_MAX,
  STREAMS_PER_APP_MAX,
  TICK_MS,
} from './limits.ts';
import { Merger } from './merger.ts';
import { NearNames } from './near-names.ts';
import { Nodes } from './nodes.ts';
import { type AppTick, instanceIn, type WatchedApp, type WatchFilter } from './records.ts';
import { type StreamEnd, type StreamQuery, WatchStream } from './stream.ts';
import { type ClusterLink, WatchersElsewhere } from './watchers-elsewhere.ts';

export interface WatchesOptions {
  /** The name of this server. */
  readonly node: string;
  readonly timers: Timers;
  /** How many loops of this server record events, and whether other servers do. */
  readonly loops: number;
  readonly link: ClusterLink | undefined;
  /** Sends all loops of this server the apps and instances to watch from now on. */
  readonly watch: (apps: readonly WatchedApp[]) => void;
  /** Finds the occupied channel that was most likely meant: the channel itself, if it is occupied. */
  readonly findNear: (appId: string, channel: string) => Promise<string | undefined>;
  readonly onSkipped: (records: number) => void;
  /** Called when the number of streams has changed. */
  readonly onStreams: (streams: number) => void;
}

/** The limit of streams is reached. */
export class TooManyStreams extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'TooManyStreams';
  }
}

/** The owner of a stream, and how long the stream may last. */
export interface StreamOwner extends Pick<PlaceHolder, 'owner' | 'isAdmin'> {
  readonly lifeMs: number;
  /** Called when the stream has ended or its reader is gone. */
  readonly onClosed?: () => void;
}

/** An open stream, and how to give its places back. */
interface OpenStream {
  readonly stream: WatchStream;
  readonly close: () => void;
}

/** How long a record waits for additions of other threads or servers. Milliseconds. */
const SETTLE_THREADS_MS = 150;
const SETTLE_CLUSTER_MS = 500;
/** Shorter for records of another server, whose transfer took a while. */
const SETTLE_ELSEWHERE_MS = 300;

/** How often this server repeats to the others what it watches, in ticks. */
const STATE_TICKS = 20;

/** The limit of an app's filters that loops apply. With more, loops pass on everything. */
const FILTERS_MAX = 4;

/** All live streams of a server. While there are none, nothing runs, neither here nor on other servers. */
export class Watches {
  private readonly options: WatchesOptions;
  private readonly open = new Set<OpenStream>();
  private readonly places = new Places(STREAMS_MAX);
  /** The places of each watched app or instance. */
  private readonly placesOfApps = new Map<string, Places>();
  private readonly mergers = new Map<string, Merger>();
  private readonly elsewhere: WatchersElsewhere | undefined;
  private readonly near: NearNames;
  private readonly nodes: Nodes;
  private watched = '';
  private ticks = 0;
  private cancelTick: (() => void) | undefined;

  constructor(options: WatchesOptions) {
    this.options = options;
    const { node, timers, link, findNear } = options;
    this.nodes = new Nodes(node);
    this.near = new NearNames({
      timers,
      find: findNear,
      found: (appId, update) => {
        const batch = { events: [], updates: [update], skipped: {} };
        for (const stream of this.streamsOf(appId)) stream.offer(batch);
      },
    });
    if (link === undefined) return;
    this.elsewhere = new WatchersElsewhere({
      node,
      timers,
      link,
      onChange: () => this.changed(),
      onTicks: (from, ticks) => {
        this.nodes.seen(from, timers.now());
        this.merge(from, ticks);
      },
    });
  }

  /** Opens a stream. Throws `TooManyStreams`. */
  start(query: StreamQuery, { owner, isAdmin, lifeMs, onClosed }: StreamOwner): WatchStream {
    const { appId, filter, showsPayloads } = query;
    const holder: PlaceHolder = {
      owner,
      isAdmin,
      displaced() {
        stream.end('displaced');
        // At once, because its reader may never read to the end.
        opened.close();
      },
    };
    const places = this.takePlaces(appId, holder);
    const { node, timers, onSkipped } = this.options;
    const instance = instanceIn(appId);
    const payloads = showsPayloads ? 'show' : 'hide';
    const stream = new WatchStream({
      timers,
      query,
      hello: {
        node,
        ...(instance === undefined ? { app: appId, payloads } : { instance }),
        kinds: filter.kinds ?? null,
        perTick: RECORDS_PER_TICK,
        tickMs: TICK_MS,
        nodes: this.nodes.list(timers.now()),
      },
      onSkipped,
      onClosed: () => opened.close(),
    });
    const cancelEnd = timers.after(lifeMs, () => stream.end('time'));
    const opened: OpenStream = {
      stream,
      close: () => {
        if (!this.open.delete(opened)) return;
        onClosed?.();
        cancelEnd();
        for (const one of places) one.release(holder);
        this.streamsChanged();
      },
    };
    this.open.add(opened);
    this.streamsChanged();
    return stream;
  }

  private takePlaces(appId: string, holder: PlaceHolder): readonly Places[] {
    const ofApp = this.placesOfApps.get(appId) ?? new Places(STREAMS_PER_APP_MAX);
    const places = [ofApp, this.places];
    // Nobody loses a place in vain.
    if (!places.every((one) => one.canTake(holder)) || !places.every((one) => one.take(holder))) {
      for (const one of places) one.release(holder);
      throw new TooManyStreams(
        `Too many live streams: at most ${STREAMS_MAX}, and ${STREAMS_PER_APP_MAX} of one app or instance, the last of each for an admin of the whole server; close one`,
      );
    }
    this.placesOfApps.set(appId, ofApp);
    return places;
  }

  private streamsChanged(): void {
    for (const [id, { taken }] of this.placesOfApps) if (taken === 0) this.placesOfApps.delete(id);
    this.options.onStreams(this.open.size);
    this.changed();
    this.elsewhere?.state(this.watchedHere());
  }

  /** Handles what a loop of this server has recorded. */
  receive(ticks: readonly AppTick[]): void {
    this.merge(this.options.node, ticks);
    this.elsewhere?.add(ticks);
  }

  /** Handles a message of another server. Returns `false` if it is for others or cannot be read. */
  receiveFrom(loop: string, text: string): boolean {
    return this.elsewhere?.receive(loop, text) === true;
  }

  /** A message to another server has arrived, or its receiver no longer exists. */
  delivered(loop: string, isReceived: boolean): void {
    this.elsewhere?.delivered(loop, isReceived);
  }

  /** Ends the streams of apps and instances that no longer exist. */
  endGone(isThere: (watched: string) => boolean): void {
    for (const { stream } of this.open) {
      const { appId } = stream.query;
      const why = instanceIn(appId) === undefined ? 'app-gone' : 'instance-gone';
      if (!isThere(appId)) stream.end(why);
    }
  }

  /** Ends all streams. */
  stop(why: StreamEnd = 'stopping'): void {
    for (const { stream } of this.open) stream.end(why);
    this.cancelTick?.();
    this.cancelTick = undefined;
  }

  private streamsOf(appId: string): readonly WatchStream[] {
    return [...this.open].flatMap(({ stream }) => (stream.query.appId === appId ? stream : []));
  }

  private merge(node: string, ticks: readonly AppTick[]): void {
    const nowMs = this.options.timers.now();
    const { node: own, link, loops } = this.options;
    const settleLoopsMs = loops > 1 ? SETTLE_THREADS_MS : 0;
    const settleHereMs = link === undefined ? settleLoopsMs : SETTLE_CLUSTER_MS;
    const dueMs = nowMs + (node === own ? settleHereMs : SETTLE_ELSEWHERE_MS);
    for (const tick of ticks) this.mergers.get(tick.appId)?.add({ node, tick, nowMs, dueMs });
  }

  /** The filters of this server's streams. */
  private watchedHere(): readonly WatchedApp[] {
    const streams = [...this.open].map(({ stream }) => stream.query);
    return [...Map.groupBy(streams, ({ appId }) => appId)].map(([id, queries]) => ({
      id,
      filters: queries.map(({ filter }) => filter),
    }));
  }

  /** Applies what is watched now. */
  private changed(): void {
    const here = this.watchedHere();
    const { timers } = this.options;
    const ids = new Set(here.map(({ id }) => id));
    for (const id of this.mergers.keys()) if (!ids.has(id)) this.mergers.delete(id);
    for (const id of ids) if (!this.mergers.has(id)) this.mergers.set(id, new Merger());
    if (here.length === 0) this.nodes.clear();

    const all = [...here, ...(this.elsewhere?.apps ?? [])];
    const watched = [...Map.groupBy(all, ({ id }) => id)].map(([id, apps]) => ({
      id,
      filters: together(apps.flatMap(({ filters }) => filters)),
    }));
    const text = JSON.stringify(watched);
    if (text !== this.watched) this.options.watch(watched);
    this.watched = text;
    if (watched.length > 0) this.cancelTick ??= timers.after(TICK_MS, () => this.tick());
  }

  private tick(): void {
    const { timers } = this.options;
    this.cancelTick = undefined;
    this.ticks++;
    const nowMs = timers.now();
    const withCounts = this.ticks % COUNTS_TICKS === 0;
    for (const [appId, merger] of this.mergers) {
      const batch = merger.take(nowMs);
      const counts = withCounts ? merger.takeCounts() : undefined;
      for (const stream of this.streamsOf(appId)) {
        stream.offer(batch);
        if (counts !== undefined) stream.offerCounts(counts);
      }
      this.near.add(appId, batch.events);
    }
    const nodes = this.nodes.changed(nowMs);
    if (nodes !== undefined) for (const { stream } of this.open) stream.offerNodes(nodes);
    this.elsewhere?.flush();
    if (this.ticks % STATE_TICKS === 0 && this.open.size > 0) {
      this.elsewhere?.state(this.watchedHere());
    }
    if (this.watched !== '[]') this.cancelTick ??= timers.after(TICK_MS, () => this.tick());
  }
}

/** The union of several watchers' filters. */
function together(filters: readonly WatchFilter[]): readonly WatchFilter[] {
  const different = new Map(filters.map((filter) => [JSON.stringify(filter), filter]));
  return different.size > FILTERS_MAX ? [{}] : [...different.values()];
}
