import type { App, HistoryRule } from '../../channels/app.ts';
import type { ChannelText } from '../../channels/channel-name.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { EMPTY_PAGE, type HistoryPage, type HistoryQuery } from '../../channels/history/page.ts';
import type { FoundHistory, HistoryRequest } from '../../channels/history/resume.ts';
import type { Publication } from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';
import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { Timers } from '../../runtime/ports.ts';
import { AppHistories } from './app-histories.ts';
import { ChannelHistory, KeptEvent } from './channel-history.ts';
import { findPlace, lastFrames } from './find-place.ts';
import { readPage } from './read-page.ts';
import type { SavedChannel, SavedEvent } from './saved-history.ts';

/** The limit because of which an event was forgotten. */
export type HistoryLimit = 'seconds' | 'events' | 'bytes' | 'app' | 'server';

/** Counts forgotten events. */
export interface HistoryMeter {
  readonly count: (counter: 'historyForgotten', by: number, bound: HistoryLimit) => void;
}

export interface HistoriesOptions {
  readonly timers: Timers;
  readonly meter: HistoryMeter;
  /** The limit of all events on this home. */
  readonly bytesMax: number;
  /** The limit of idle histories (empty, without subscribers) on this home. Each takes about 500 bytes. */
  readonly idleMax: number;
  /** The number of homes that share the limit of an app. */
  readonly homes: number;
  /** Whether anybody is subscribed to a channel. */
  readonly isOccupied: (app: App, channel: ChannelText) => boolean;
}

/** An event to be added to a history. */
export type NewEvent = Pick<Publication, 'app' | 'channel' | 'makeFrame' | 'except'>;

/** Where saved histories are restored to. */
export interface RestoreOptions {
  /** `undefined`: the app no longer exists. */
  readonly appOf: (id: string) => App | undefined;
  /** Whether this loop is the home of a channel. */
  readonly isHome: (app: App, channel: ChannelText) => boolean;
}

/** How long an idle history is remembered. Milliseconds. */
const IDLE_MS = 3_600_000;

/** The pause between two searches for events that are too old. Milliseconds. */
const SWEEP_MS = 1000;

/** Each search covers one sixtieth of all histories, but at least this many. */
const SWEEP_PART = 60;
const SWEPT_MIN = 1000;

/**
 * The histories of all channels of this home. Every operation takes constant time per event that it returns or
 * forgets. At the limit of the server, the app with the most loses its oldest event.
 */
export class Histories {
  private readonly options: HistoriesOptions;
  private readonly apps = new Map<string, AppHistories>();
  private readonly bytes: FairBudget;
  private readonly idle: FairBudget;
  private eventCount = 0;
  private channelCount = 0;
  private swept: Iterator<[AppHistories, ChannelHistory]> | undefined;
  private stopSweep: (() => void) | undefined;
  private isSaved = false;

  constructor(options: HistoriesOptions) {
    this.options = options;
    this.bytes = new FairBudget(options.bytesMax);
    this.idle = new FairBudget(options.idleMax);
  }

  get size(): { readonly events: number; readonly bytes: number } {
    return { events: this.eventCount, bytes: this.bytes.total };
  }

  /** Numbers an event and keeps it. Returns its id, and its frame including the id. */
  append({ app, channel, makeFrame, except }: NewEvent, rule: HistoryRule): KeptEvent {
    // After `save`, clients that resume after the restart would miss it.
    if (this.isSaved) throw new Error('The server is about to stop, and has saved its histories');
    const { of, history } = this.open(app, channel);
    const timeMs = this.options.timers.now();
    const id = history.nextId();
    const event = new KeptEvent(history, { id, frame: makeFrame(id), timeMs, except });
    this.keep(of, event, { rule, nowMs: timeMs });
    return event;
  }

  /** Keeps an event as the newest of its channel, unless it exceeds a limit by itself. */
  private keep(
    of: AppHistories,
    event: KeptEvent,
    { rule, nowMs }: { readonly rule: HistoryRule; readonly nowMs: number },
  ): void {
    const { history, id } = event;
    // First, because making room below could remove this history as an idle one.
    this.markUsed(of, history.channel);
    this.expire(of, history, rule.seconds, nowMs);
    while (history.size >= rule.events) this.shift(of, history, 'events');
    while (history.size > 0 && history.bytes + event.bytes > rule.bytes) {
      this.shift(of, history, 'bytes');
    }
    if (event.bytes <= rule.bytes && this.makeRoom(of, event)) {
      of.append(event);
      this.bytes.add(of.app.id, event.bytes);
      this.eventCount++;
      return;
    }
    while (history.size > 0) this.shift(of, history, 'bytes');
    history.skip(id);
    this.noteIdle(of, history);
  }

  /** Returns everything that must survive a restart. From now on, no event is numbered. */
  *save(): Generator<SavedChannel | SavedEvent> {
    this.isSaved = true;
    for (const of of this.apps.values()) {
      const appId = of.app.id;
      for (const { channel, before } of of.channels.values()) {
        yield { kind: 'channel', appId, channel, before };
      }
      for (let event = of.oldest; event !== undefined; event = event.newer) {
        const { id, timeMs, except, frame } = event;
        yield { kind: 'event', appId, channel: event.history.channel, id, timeMs, except, frame };
      }
    }
  }

  /**
   * Restores saved histories, within today's rules and limits. Must be called before any event is numbered. Throws if
   * the saved events are not consecutive, and then restores nothing.
   */
  restore(saved: Iterable<SavedChannel | SavedEvent>, options: RestoreOptions): void {
    try {
      this.restoreAll(saved, options);
    } catch (error) {
      for (const [of, history] of [...this.walk()]) this.remove(of, history);
      throw error;
    }
  }

  private restoreAll(
    saved: Iterable<SavedChannel | SavedEvent>,
    { appOf, isHome }: RestoreOptions,
  ): void {
    const nowMs = this.options.timers.now();
    for (const one of saved) {
      const app = appOf(one.appId);
      const rule = app && historyRuleOf(app, one.channel);
      if (app === undefined || rule === undefined || !isHome(app, one.channel)) continue;
      if (one.kind === 'channel') {
        this.open(app, one.channel, one.before);
        continue;
      }
      const known = this.find(app, one.channel);
      if (known === undefined) throw new Error(`${one.channel} has an event before its history`);
      const { of, history } = known;
      if (!history.isNext(one.id)) throw new Error(`${one.id} does not follow ${history.newest}`);
      // The clock may have been set back.
      const timeMs = Math.min(one.timeMs, nowMs);
      this.keep(of, new KeptEvent(history, { ...one, timeMs }), { rule, nowMs });
    }
    for (const [of, history] of [...this.walk()]) this.noteIdle(of, history);
  }

  /** Returns what a new subscriber of a channel gets from its history. */
  enter(entry: {
    readonly app: App;
    readonly channel: ChannelText;
    readonly rule: HistoryRule;
    readonly request: HistoryRequest;
    readonly socketId: SocketId;
  }): FoundHistory | undefined {
    const { app, channel, rule, request, socketId } = entry;
    const known = this.find(app, channel);
    // A client that cannot resume needs no place, so no history is created for it.
    if (known === undefined && request.place === undefined) return undefined;
    const { of, history } = known ?? this.open(app, channel);
    this.markUsed(of, channel);
    this.expire(of, history, rule.seconds);
    if (request.place === undefined || request.place.after === 'none') {
      const outcome = request.place && 'begun';
      const frames = lastFrames(history, rule.replay, request.roomBytes);
      return { id: history.newest, outcome, frames };
    }
    return findPlace(history, request.place, { roomBytes: request.roomBytes, socketId });
  }

  /** Returns a page of a channel's history. Begins the history if there is none, so that a client can resume after its newest id. */
  page(app: App, channel: ChannelText, query: HistoryQuery): HistoryPage {
    const rule = historyRuleOf(app, channel);
    if (rule === undefined) return EMPTY_PAGE;
    const { of, history } = this.open(app, channel);
    this.expire(of, history, rule.seconds);
    this.noteIdle(of, history);
    return readPage(history, query);
  }

  /** Forgets the history of a channel. */
  forget(app: App, channel: ChannelText): void {
    const known = this.find(app, channel);
    if (known !== undefined) this.remove(known.of, known.history);
  }

  /** Forgets all histories of an app. */
  forgetApp(appId: string): void {
    const of = this.apps.get(appId);
    for (const history of [...(of?.channels.values() ?? [])]) if (of) this.remove(of, history);
  }

  /** Must be called when the last subscriber of a channel has left. */
  vacated(app: App, channel: ChannelText): void {
    const known = this.find(app, channel);
    if (known !== undefined) this.noteIdle(known.of, known.history);
  }

  /** The newest id of a channel, even if its event is forgotten; `undefined` if the channel has no history. */
  newestOf(app: App, channel: ChannelText): EventId | undefined {
    return this.apps.get(app.id)?.channels.get(channel)?.newest;
  }

  /** Forgets what apps may no longer keep after a change of their settings. */
  review(): void {
    for (const of of this.apps.values()) {
      for (const history of of.channels.values()) {
        if (historyRuleOf(of.app, history.channel) === undefined) this.remove(of, history);
      }
    }
  }

  /** Stops the search for expired events. */
  stop(): void {
    this.stopSweep?.();
    this.stopSweep = undefined;
  }

  private find(app: App, channel: ChannelText) {
    const of = this.apps.get(app.id);
    const history = of?.channels.get(channel);
    return of === undefined || history === undefined ? undefined : { of, history };
  }

  private open(app: App, channel: ChannelText, before?: EventId) {
    let of = this.apps.get(app.id);
    if (of === undefined) {
      of = new AppHistories(app);
      this.apps.set(app.id, of);
    }
    let history = of.channels.get(channel);
    if (history === undefined) {
      history = new ChannelHistory(channel, before);
      of.channels.set(channel, history);
      this.channelCount++;
      if (this.stopSweep === undefined) this.sweepLater();
    }
    return { of, history };
  }

  /** Forgets events until another one fits; `false` if that is impossible. */
  private makeRoom(of: AppHistories, { history, bytes }: KeptEvent): boolean {
    const { historyBytes } = of.app.limits;
    const ofApp = historyBytes === 0 ? Number.POSITIVE_INFINITY : historyBytes / this.options.homes;
    while (of.bytes + bytes > ofApp) if (!this.shiftOldest(of, history, 'app')) return false;
    for (;;) {
      const yielding = this.bytes.ownerToEvict(of.app.id, bytes);
      if (yielding === undefined) return true;
      const loser = this.apps.get(yielding);
      if (loser === undefined || !this.shiftOldest(loser, history, 'server')) return false;
    }
  }

  private shiftOldest(of: AppHistories, growing: ChannelHistory, why: HistoryLimit): boolean {
    const { oldest } = of;
    if (oldest === undefined) return false;
    this.shift(of, oldest.history, why);
    if (oldest.history !== growing) this.noteIdle(of, oldest.history);
    return true;
  }

  private expire(
    of: AppHistories,
    history: ChannelHistory,
    seconds: number,
    nowMs = this.options.timers.now(),
  ): void {
    const sinceMs = nowMs - seconds * 1000;
    for (let { oldest } = history; oldest !== undefined; oldest = history.oldest) {
      if (oldest.timeMs > sinceMs) return;
      this.shift(of, history, 'seconds');
    }
  }

  private shift(of: AppHistories, history: ChannelHistory, why: HistoryLimit): void {
    const event = of.shift(history);
    if (event === undefined) return;
    this.bytes.release(of.app.id, event.bytes);
    this.eventCount--;
    this.options.meter.count('historyForgotten', 1, why);
  }

  /** Marks an empty history without subscribers as idle. It is removed an hour later. */
  private noteIdle(of: AppHistories, history: ChannelHistory): void {
    const { channel } = history;
    if (history.size > 0 || of.idle.has(channel)) return;
    if (this.options.isOccupied(of.app, channel)) return;
    for (;;) {
      const yielding = this.idle.ownerToEvict(of.app.id);
      if (yielding === undefined) break;
      const loser = this.apps.get(yielding);
      const oldest = loser?.idle.oldest();
      const forgotten = oldest === undefined ? undefined : loser?.channels.get(oldest);
      if (loser === undefined || forgotten === undefined) return this.remove(of, history);
      this.remove(loser, forgotten);
    }
    // It may have been the app's last history.
    if (of.channels.get(channel) !== history) return;
    of.idle.set(channel, this.options.timers.now());
    this.idle.add(of.app.id);
  }

  private markUsed(of: AppHistories, channel: ChannelText): void {
    if (of.idle.size > 0 && of.idle.delete(channel)) this.idle.release(of.app.id);
  }

  private remove(of: AppHistories, history: ChannelHistory): void {
    this.markUsed(of, history.channel);
    for (let event = of.shift(history); event !== undefined; event = of.shift(history)) {
      this.bytes.release(of.app.id, event.bytes);
      this.eventCount--;
    }
    of.channels.delete(history.channel);
    this.channelCount--;
    if (of.channels.size === 0) this.apps.delete(of.app.id);
  }

  private sweepLater(): void {
    this.stopSweep = this.options.timers.after(SWEEP_MS, () => {
      this.stopSweep = undefined;
      this.sweep();
      if (this.channelCount > 0) this.sweepLater();
    });
  }

  /** Removes expired events from the next histories, and histories that have been idle for an hour. */
  private sweep(): void {
    const forgottenSinceMs = this.options.timers.now() - IDLE_MS;
    let left = Math.max(SWEPT_MIN, Math.ceil(this.channelCount / SWEEP_PART));
    for (; left > 0; left--) {
      this.swept ??= this.walk();
      const { done, value } = this.swept.next();
      if (done === true) {
        this.swept = undefined;
        return;
      }
      const [of, history] = value;
      const rule = historyRuleOf(of.app, history.channel);
      if (rule === undefined) this.remove(of, history);
      else {
        this.expire(of, history, rule.seconds);
        this.noteIdle(of, history);
        const idleSinceMs = of.idle.get(history.channel);
        if (idleSinceMs !== undefined && idleSinceMs <= forgottenSinceMs) this.remove(of, history);
      }
    }
  }

  private *walk(): Generator<[AppHistories, ChannelHistory], undefined> {
    for (const of of this.apps.values()) {
      for (const history of of.channels.values()) yield [of, history];
    }
  }
}
