import type { AppAddress } from '../bench-app.ts';
import { SequenceReader } from './bench-event.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import { type Audience, Subscriber } from './subscriber.ts';
import type { Tally } from './tally.ts';

/** How many connect at the same time; well under any server's queue of unaccepted connections. */
const CONNECTING_MAX = 100;
const FILLED_WITHIN_MS = 20_000;

/** Which channels there are and how many listen to each. */
export interface CrowdSize {
  readonly channels: number;
  readonly subscribersEach: number;
}

/** All subscribers of one load process. What they hear goes to the tally of the moment. */
export class Crowd implements Audience {
  readonly sequences = new SequenceReader();
  readonly channels: readonly string[];
  readonly subscribersEach: number;
  tally: Tally | undefined;
  readonly #sockets: KernelSockets;
  readonly #app: AppAddress;
  /** The channel of each subscriber that is not connected. */
  readonly #missing: string[];
  readonly #connecting = new Set<Subscriber>();
  #lost = 0;

  constructor(sockets: KernelSockets, app: AppAddress, size: CrowdSize) {
    this.#sockets = sockets;
    this.#app = app;
    // One width for all names, so that all events are laid out alike.
    this.channels = Array.from(
      { length: size.channels },
      (_, number) => `bench-${String(number).padStart(6, '0')}`,
    );
    this.subscribersEach = size.subscribersEach;
    this.#missing = this.channels.flatMap((channel) =>
      Array.from({ length: size.subscribersEach }, () => channel),
    );
  }

  /** Connections that have ended since the crowd was last filled. */
  get lostCount(): number {
    return this.#lost;
  }

  /**
   * Connects those who are missing: everybody at first, later those whose connection was lost.
   * Returns when the server has confirmed every subscription.
   */
  fill(): void {
    this.#lost = 0;
    const deadlineMs = performance.now() + FILLED_WITHIN_MS;
    while (this.#missing.length + this.#connecting.size > 0) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.#connecting.size} subscriptions were not confirmed in time`);
      }
      while (this.#connecting.size < CONNECTING_MAX) {
        const channel = this.#missing.pop();
        if (channel === undefined) break;
        this.#connecting.add(new Subscriber(this, this.#sockets, this.#app, channel));
      }
      this.#sockets.poll(10);
    }
  }

  subscribed(subscriber: Subscriber): void {
    this.#connecting.delete(subscriber);
  }

  arrived(sequence: number, nowMs: number): void {
    this.tally?.arrived(sequence, nowMs);
  }

  lost(subscriber: Subscriber, why: string): void {
    if (this.#connecting.has(subscriber)) throw new Error(`could not subscribe: ${why}`);
    this.#lost += 1;
    this.#missing.push(subscriber.channel);
  }
}
