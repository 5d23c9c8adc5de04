import type { Topic } from '../../channels/event.ts';
import type { CachedEvent, Clock, EventCache } from '../../channels/ports.ts';

/** Events, and characters of their data, that are remembered at most; beyond them the oldest go first. */
const EVENTS_MAX = 100_000;
const CHARACTERS_MAX = 128 * 1024 * 1024;

/** The last event of each cache channel, in this process. Answers at once. */
export class MemoryEventCache implements EventCache {
  // In the order in which they were put, which is also the order in which they expire.
  private readonly events = new Map<Topic, CachedEvent>();
  private characters = 0;
  private readonly clock: Clock;
  private readonly eventsMax: number;
  private readonly charactersMax: number;

  constructor(clock: Clock, eventsMax = EVENTS_MAX, charactersMax = CHARACTERS_MAX) {
    this.clock = clock;
    this.eventsMax = eventsMax;
    this.charactersMax = charactersMax;
  }

  put(topic: Topic, event: CachedEvent): void {
    this.forget(topic);
    this.events.set(topic, event);
    this.characters += event.data.length;
    for (const [oldest, { expiresAt }] of this.events) {
      const full = this.events.size > this.eventsMax || this.characters > this.charactersMax;
      if (!full && expiresAt > this.clock.now()) break;
      this.forget(oldest);
    }
  }

  get(topic: Topic): CachedEvent | undefined {
    const event = this.events.get(topic);
    if (event === undefined || event.expiresAt > this.clock.now()) return event;
    this.forget(topic);
    return undefined;
  }

  private forget(topic: Topic): void {
    const event = this.events.get(topic);
    if (event === undefined) return;
    this.events.delete(topic);
    this.characters -= event.data.length;
  }
}
