import type { AppAddress } from '../bench-app.ts';
import { eventData } from './bench-event.ts';
import type { Crowd } from './crowd.ts';
import type { Publishers } from './publishers.ts';
import { triggerRequest } from './trigger-request.ts';
import type { Voice } from './voice.ts';

/** In which order channels have their turn. */
export type ChannelOrder = 'in-turn' | 'random';

/** Any odd number far from a simple fraction of 2³²: multiples of it are spread over all of that. */
const SPREADING = 2_654_435_769;

/** Which channel an event is for: the same at each run, also where it is random. */
export function channelOf(order: ChannelOrder, sequence: number, channels: number): number {
  if (order === 'in-turn') return sequence % channels;
  // Mixed again, since multiples alone are spread too evenly for chance.
  let mixed = Math.imul(sequence, SPREADING);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85eb_ca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) % channels;
}

/** Backends: each event is a signed request over one of the publishers' connections. */
export class Triggers implements Voice {
  readonly copies: number;
  readonly #app: AppAddress;
  readonly #crowd: Crowd;
  readonly #publishers: Publishers;
  readonly #order: ChannelOrder;
  #requests: Buffer[] = [];
  #nextSequence = 0;

  constructor(app: AppAddress, crowd: Crowd, publishers: Publishers, order: ChannelOrder) {
    this.#app = app;
    this.#crowd = crowd;
    this.#publishers = publishers;
    this.#order = order;
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
      const channel = channels[channelOf(this.#order, sequence, channels.length)] ?? '';
      return triggerRequest(this.#app, channel, eventData(sequence, dataBytes));
    });
    return first;
  }

  send(index: number): void {
    const request = this.#requests[index];
    if (request !== undefined) this.#publishers.send(request);
  }
}
