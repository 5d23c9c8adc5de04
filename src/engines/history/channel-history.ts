import type { ChannelText } from '../../channels/channel-name.ts';
import { type EventId, newEventId, numberOf } from '../../channels/history/event-id.ts';
import type { SocketId } from '../../channels/socket-id.ts';

/** How many forgotten events may accumulate at the front of the array before it is copied. */
const FORGOTTEN_MAX = 64;

/**
 * The last events of one channel, oldest first. Their numbers have no gaps.
 *
 * A client may resume after a kept event, or after the last forgotten one. After any other event, some may be
 * missing, so the client learns of a gap.
 */
export class ChannelHistory {
  readonly channel: ChannelText;
  /** The event before the first kept one: the last forgotten event, or number 0. */
  before: EventId;
  bytes = 0;
  private events: (KeptEvent | undefined)[] = [];
  /** The index of the first kept event in `events`. */
  private first = 0;
  private lastNumber: number;

  constructor(channel: ChannelText, before = newEventId(0)) {
    this.channel = channel;
    this.before = before;
    this.lastNumber = numberOf(before);
  }

  get size(): number {
    return this.events.length - this.first;
  }

  get oldest(): KeptEvent | undefined {
    return this.events[this.first];
  }

  /** The id of the newest event, even if that is forgotten. */
  get newest(): EventId {
    return this.events[this.events.length - 1]?.id ?? this.before;
  }

  /** Makes the id of the next event. The caller then calls `append` or `skip` with it. */
  nextId(): EventId {
    return newEventId(this.lastNumber + 1);
  }

  /** Whether this is the number of the next event. */
  isNext(id: EventId): boolean {
    return numberOf(id) === this.lastNumber + 1;
  }

  /** Adds the next event. */
  append(event: KeptEvent): void {
    this.events.push(event);
    this.bytes += event.bytes;
    this.lastNumber++;
  }

  /**
   * Assigns the next number to an event that is not kept. The caller has already forgotten all earlier events,
   * because a history has no gaps.
   */
  skip(id: EventId): void {
    this.before = id;
    this.lastNumber++;
  }

  /** Forgets the oldest event. */
  shift(): KeptEvent | undefined {
    const event = this.events[this.first];
    if (event === undefined) return undefined;
    this.before = event.id;
    this.bytes -= event.bytes;
    this.events[this.first] = undefined;
    this.first++;
    if (this.first === this.events.length || this.first > Math.max(FORGOTTEN_MAX, this.size)) {
      this.events = this.events.slice(this.first);
      this.first = 0;
    }
    return event;
  }

  /**
   * Returns the number of kept events up to and including this one; `undefined` if a client cannot resume after it.
   */
  countUpTo(id: EventId): number | undefined {
    if (id === this.before) return 0;
    const oldest = this.oldest;
    if (oldest === undefined) return undefined;
    const index = numberOf(id) - numberOf(oldest.id);
    return this.at(index)?.id === id ? index + 1 : undefined;
  }

  /** Returns a kept event, counted from the oldest. */
  at(index: number): KeptEvent | undefined {
    return index < 0 ? undefined : this.events[this.first + index];
  }
}

/** Memory of an event besides its frame, in bytes. */
const EVENT_BYTES = 200;

/** An event in a history, and a link in the list of all events that its app keeps, oldest first. */
export class KeptEvent {
  readonly id: EventId;
  /** The frame that was sent, with the id of the event. */
  readonly frame: string;
  /** When it was published. */
  readonly timeMs: number;
  /** The connection that the event was not sent to. */
  readonly except: SocketId | undefined;
  /** The size of the event, as counted against the limits. */
  readonly bytes: number;
  readonly history: ChannelHistory;
  older: KeptEvent | undefined = undefined;
  newer: KeptEvent | undefined = undefined;

  constructor(
    history: ChannelHistory,
    event: Pick<KeptEvent, 'id' | 'frame' | 'timeMs' | 'except'>,
  ) {
    this.history = history;
    this.id = event.id;
    this.frame = event.frame;
    this.timeMs = event.timeMs;
    this.except = event.except;
    this.bytes = keptBytes(event.frame);
  }
}

/**
 * Returns the size of an event towards the limits: about its memory. A text with a character beyond ASCII may take two bytes
 * for each character.
 */
export function keptBytes(frame: string): number {
  const isAscii = Buffer.byteLength(frame) === frame.length;
  return EVENT_BYTES + (isAscii ? frame.length : 2 * frame.length);
}
