import type { AppAddress } from '../../bench-app.ts';
import { eventData } from '../bench-event.ts';
import type { Publishers } from '../publishers.ts';
import type { Crowd } from '../subscribers.ts';
import { triggerRequest } from '../trigger-request.ts';
import type { EventSource } from './event-source.ts';

/** An odd number whose multiples are distributed evenly over 2³². */
const SPREADING = 2_654_435_769;

/** The pseudo-random channel of an event: the same in every run. */
export function channelOf(sequence: number, channels: number): number {
  // Mixed again, because multiples alone are spread too evenly for chance.
  let mixed = Math.imul(sequence, SPREADING);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85eb_ca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) % channels;
}

/** Backends: each event is a signed request over one of the publishers' connections. */
export class Triggers implements EventSource {
  readonly copies: number;
  readonly #app: AppAddress;
  readonly #crowd: Crowd;
  readonly #publishers: Publishers;
  #requests: Buffer[] = [];
  #nextSequence = 0;

  constructor(app: AppAddress, crowd: Crowd, publishers: Publishers) {
    this.#app = app;
    this.#crowd = crowd;
    this.#publishers = publishers;
    this.copies = crowd.subscribersEach;
  }

  get answered(): number {
    return this.#publishers.acceptedCount + this.#publishers.refusedCount;
  }

  get refused(): number {
    return this.#publishers.refusedCount;
  }

  get firstRefusal(): string {
    return this.#publishers.firstRefusal;
  }

  prepare(events: number, dataBytes: number): number {
    this.#publishers.fill();
    const first = this.#nextSequence;
    this.#nextSequence += events;
    const { channels } = this.#crowd;
    this.#requests = Array.from({ length: events }, (_, index) => {
      const sequence = first + index;
      const channel = channels[channelOf(sequence, channels.length)] ?? '';
      return triggerRequest(this.#app, channel, eventData(sequence, dataBytes));
    });
    return first;
  }

  send(index: number): void {
    const request = this.#requests[index];
    if (request !== undefined) this.#publishers.send(request);
  }
}
