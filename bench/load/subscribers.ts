import type { AppAddress } from '../bench-app.ts';
import { SequenceReader } from './bench-event.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import { LastRead } from './last-read.ts';
import { type Audience, type Seat, Subscriber } from './subscriber.ts';
import type { Tally } from './tally.ts';

/** How many connect at the same time; well under any server's queue of unaccepted connections. */
const CONNECTING_MAX = 100;
const FILLED_WITHIN_MS = 20_000;
/** For crowds whose connecting takes a while. */
const FILLED_PER_CONNECTION_MS = 3;

/** Which channels there are and how many listen to each. */
export interface CrowdSize {
  readonly channels: number;
  readonly subscribersEach: number;
  /** Public if this is not given. */
  readonly kind?: 'public' | 'private' | 'presence';
}

/** How many joins a member stays for: until half of all channels have had another one. */
export function comingsWhileInside(channels: number): number {
  return Math.ceil(channels / 2);
}

/** All subscribers of one load process. What they receive is counted by the current tally. */
export class Crowd implements Audience {
  readonly sequences: SequenceReader;
  readonly lastRead = new LastRead();
  readonly channels: readonly string[];
  readonly subscribersEach: number;
  /** Where deliveries are counted; nowhere between steps. */
  tally: Tally | undefined;
  readonly #sockets: KernelSockets;
  readonly #app: AppAddress;
  /** The subscribers that are connected, by channel. */
  readonly #present = new Map<string, Subscriber[]>();
  /** The seats of those who are not connected. */
  readonly #missing: Seat[];
  readonly #connecting = new Set<Subscriber>();
  #reads = 0;
  #lost = 0;
  #scoldings = 0;
  #firstScolding = '';

  constructor(sockets: KernelSockets, app: AppAddress, size: CrowdSize) {
    this.#sockets = sockets;
    this.#app = app;
    // A member's number is that of the join. The departure has the number after the join of another member.
    this.sequences = new SequenceReader(2 * comingsWhileInside(size.channels) + 1);
    const kind = size.kind ?? 'public';
    const prefix = kind === 'public' ? '' : `${kind}-`;
    // One width for all names, so that all events are laid out alike.
    this.channels = Array.from(
      { length: size.channels },
      (_, number) => `${prefix}bench-${String(number).padStart(6, '0')}`,
    );
    this.subscribersEach = size.subscribersEach;
    for (const channel of this.channels) this.#present.set(channel, []);
    this.#missing = this.channels.flatMap((channel) =>
      Array.from({ length: size.subscribersEach }, (_, number) => ({
        channel,
        userId: kind === 'presence' ? `seat-${number}` : undefined,
      })),
    );
  }

  /** Reads of subscribers that brought something, since the start. */
  get reads(): number {
    return this.#reads;
  }

  /** Connections that have ended since the crowd was last filled. */
  get lostCount(): number {
    return this.#lost;
  }

  /** Errors that the server has reported since then. */
  get scoldingCount(): number {
    return this.#scoldings;
  }

  /** The first of them; empty if there was none. */
  get firstScolding(): string {
    return this.#firstScolding;
  }

  /** The subscribers of a channel. */
  listeners(channel: string): readonly Subscriber[] {
    return this.#present.get(channel) ?? [];
  }

  /**
   * Connects those who are missing: everybody at first, later those whose connection was lost.
   * Returns when the server has confirmed every subscription.
   */
  fill(): void {
    this.#lost = 0;
    this.#scoldings = 0;
    this.#firstScolding = '';
    const withinMs = FILLED_WITHIN_MS + this.#missing.length * FILLED_PER_CONNECTION_MS;
    const deadlineMs = performance.now() + withinMs;
    while (this.#missing.length + this.#connecting.size > 0) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.#connecting.size} subscriptions were not confirmed in time`);
      }
      while (this.#connecting.size < CONNECTING_MAX) {
        const seat = this.#missing.pop();
        if (seat === undefined) break;
        this.#connecting.add(new Subscriber(this, this.#sockets, this.#app, seat));
      }
      this.#sockets.poll(10);
    }
  }

  subscribed(subscriber: Subscriber): void {
    this.#connecting.delete(subscriber);
    this.#present.get(subscriber.seat.channel)?.push(subscriber);
  }

  read(): void {
    this.#reads += 1;
  }

  arrived(sequence: number, nowMs: number): void {
    this.tally?.arrived(sequence, nowMs);
  }

  scolded(subscriber: Subscriber, why: string): void {
    if (this.#connecting.has(subscriber)) throw new Error(`could not subscribe: ${why}`);
    if (this.#scoldings === 0) this.#firstScolding = why;
    this.#scoldings += 1;
  }

  lost(subscriber: Subscriber, why: string): void {
    if (this.#connecting.has(subscriber)) throw new Error(`could not subscribe: ${why}`);
    this.#lost += 1;
    const present = this.#present.get(subscriber.seat.channel) ?? [];
    const at = present.indexOf(subscriber);
    if (at >= 0) present.splice(at, 1);
    this.#missing.push(subscriber.seat);
  }
}
