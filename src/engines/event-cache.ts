import type { ValueHead } from '../channels/appending/place-piece.ts';
import type { Topic } from '../channels/event.ts';
import type { EventId } from '../channels/history/event-id.ts';
import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import { OldestFirst } from '../runtime/oldest-first.ts';
import type { Clock } from '../runtime/ports.ts';
import { GrowingText } from './growing-text.ts';

/** A value to which producers append. */
export class GrowingValue {
  head: ValueHead;
  readonly text = new GrowingText();
  /** Whether somebody wants its producer to stop. */
  isStopped: boolean;

  constructor(head: ValueHead, isStopped: boolean) {
    this.head = head;
    this.isStopped = isStopped;
  }
}

export interface RememberedEvent {
  readonly name: string;
  /** Empty if it is a value: the value makes its data. */
  readonly data: string;
  readonly value?: GrowingValue | undefined;
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

  /** Replaces the event of a channel. `false`: there is no room for it. */
  put(topic: Topic, event: RememberedEvent): boolean {
    const app = appOf(topic);
    this.forget(app, topic);
    this.forgetExpired(app);
    this.forgetExpired(this.nextApp());
    const characters = charactersOf(event);
    for (;;) {
      const yielding =
        this.events.ownerToEvict(app) ?? this.characters.ownerToEvict(app, characters);
      if (yielding === undefined) break;
      // The event alone exceeds the limit, or its app's share.
      if (!this.forgetOldest(yielding)) return false;
    }
    const events = this.apps.get(app) ?? new OldestFirst();
    this.apps.set(app, events.set(topic, event));
    this.events.add(app);
    this.characters.add(app, characters);
    return true;
  }

  /** Makes the value of a channel longer, and the newest of its app. `false`: there is no room, and nothing has changed. */
  grow(topic: Topic, event: RememberedEvent, text: string): boolean {
    const app = appOf(topic);
    const events = this.apps.get(app);
    if (events?.get(topic)?.value !== event.value) throw new Error('Another event is remembered');
    events?.set(topic, event);
    this.forgetExpired(app);
    this.forgetExpired(this.nextApp());
    for (;;) {
      const yielding = this.characters.ownerToEvict(app, text.length);
      if (yielding === undefined) break;
      if (yielding === app && events?.size === 1) return false;
      this.forgetOldest(yielding);
    }
    event.value?.text.append(text);
    this.characters.add(app, text.length);
    return true;
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
    this.characters.release(app, charactersOf(event));
  }
}

function charactersOf({ data, value }: RememberedEvent): number {
  return value === undefined ? data.length : value.text.length;
}

/** App ids have no slash. */
function appOf(topic: Topic): string {
  return topic.slice(0, topic.indexOf('/'));
}
