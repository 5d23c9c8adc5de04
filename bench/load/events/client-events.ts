import { CLIENT_EVENT_NAME, eventData } from '../bench-event.ts';
import { clientMessage } from '../frames.ts';
import type { Crowd } from '../subscribers.ts';
import type { EventSource } from './event-source.ts';

/** Client events: each is sent by another connection, to the other subscribers of its channel. */
export class ClientEvents implements EventSource {
  readonly copies: number;
  readonly #crowd: Crowd;
  #messages: Uint8Array[] = [];
  #nextSequence = 0;
  #sent = 0;

  constructor(crowd: Crowd) {
    this.#crowd = crowd;
    this.copies = crowd.subscribersEach - 1;
  }

  /** The protocol has no confirmation of a client event, only an error. */
  get answered(): number {
    return this.#sent;
  }

  get refused(): number {
    return this.#crowd.scoldingCount;
  }

  get firstRefusal(): string {
    return this.#crowd.firstScolding;
  }

  prepare(events: number, dataBytes: number): number {
    const first = this.#nextSequence;
    this.#nextSequence += events;
    this.#sent = 0;
    const { channels } = this.#crowd;
    this.#messages = Array.from({ length: events }, (_, index) => {
      const channel = channels[index % channels.length] ?? '';
      const data = eventData(first + index, dataBytes);
      return clientMessage({ event: CLIENT_EVENT_NAME, channel, data });
    });
    return first;
  }

  send(index: number): void {
    const { channels } = this.#crowd;
    const listeners = this.#crowd.listeners(channels[index % channels.length] ?? '');
    const turn = Math.floor(index / channels.length) % Math.max(1, listeners.length);
    const message = this.#messages[index];
    // Counted even if no connection is left to send it: the lost connection is counted, too.
    this.#sent += 1;
    if (message !== undefined) listeners[turn]?.send(message);
  }
}
