import type { Topic } from '../channels/event.ts';
import type { EventId } from '../channels/history/event-id.ts';
import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import { OldestFirst } from '../runtime/oldest-first.ts';
import type { Clock } from '../runtime/ports.ts';

export interface RememberedEvent {
  readonly name: string;
  readonly data: string;
  /** If the channel keeps a history. */
  readonly id?: EventId | undefined;
  /** By the clock of the cache. */
  readonly expiresAt: number;
}

/** In insertion order, which is also the order of expiry. */
type AppEvents = OldestFirst<Topic, RememberedEvent>;

/** The last event of each cache channel. At a limit, the app with the most events loses its oldest one. */
export class EventCache {
  private readonly apps = new Map<string, AppEvents>();
  private readonly events: FairBudget;
  private readonly characters: FairBudget;
  private readonly clock: Clock;
  /** Where the search for expired events continues. */
  private walk: Iterator<[string, AppEvents]> = this.apps.entries();

  /** The limits for all apps together: events, and characters of their data. */
  constructor(clock: Clock, eventsMax: number, charactersMax: number) {
    this.clock = clock;
    this.events = new FairBudget(eventsMax);
    this.characters = new FairBudget(charactersMax);
  }

  put(topic: Topic, event: RememberedEvent): void {
    const app = appOf(topic);
    this.forget(app, topic);
    this.forgetExpired(app);
    this.forgetExpired(this.nextApp());
    for (;;) {
      const yielding =
        this.events.ownerToEvict(app) ?? this.characters.ownerToEvict(app, event.data.length);
      if (yielding === undefined) break;
      // The event alone exceeds the limit, or its app's share.
      if (!this.forgetOldest(yielding)) return;
    }
    const events = this.apps.get(app) ?? new OldestFirst();
    this.apps.set(app, events.set(topic, event));
    this.events.add(app);
    this.characters.add(app, event.data.length);
  }

  get(topic: Topic): RememberedEvent | undefined {
    const app = appOf(topic);
    const event = this.apps.get(app)?.get(topic);
    if (event === undefined || event.expiresAt > this.clock.now()) return event;
    this.forget(app, topic);
    return undefined;
  }

  remove(topic: Topic): void {
    this.forget(appOf(topic), topic);
  }

  /** Forgets all events of an app. */
  forgetApp(app: string): void {
    for (const topic of [...(this.apps.get(app)?.keys() ?? [])]) this.forget(app, topic);
  }

  /** Returns `false` if the app has none. */
  private forgetOldest(app: string): boolean {
    const oldest = this.apps.get(app)?.oldest();
    if (oldest !== undefined) this.forget(app, oldest);
    return oldest !== undefined;
  }

  private forgetExpired(app: string | undefined): void {
    const events = app === undefined ? undefined : this.apps.get(app);
    if (app === undefined || events === undefined) return;
    const nowMs = this.clock.now();
    for (;;) {
      const oldest = events.oldest();
      const expiresAt = oldest === undefined ? undefined : events.get(oldest)?.expiresAt;
      if (oldest === undefined || expiresAt === undefined || expiresAt > nowMs) return;
      this.forget(app, oldest);
    }
  }

  /** Yields one app after the other, so that expired events of idle apps are dropped, too. */
  private nextApp(): string | undefined {
    const { done, value } = this.walk.next();
    if (done !== true) return value[0];
    this.walk = this.apps.entries();
    return undefined;
  }

  private forget(app: string, topic: Topic): void {
    const events = this.apps.get(app);
    const event = events?.get(topic);
    if (events === undefined || event === undefined) return;
    events.delete(topic);
    if (events.size === 0) this.apps.delete(app);
    this.events.release(app);
    this.characters.release(app, event.data.length);
  }
}

/** App ids have no slash. */
function appOf(topic: Topic): string {
  return topic.slice(0, topic.indexOf('/'));
}
