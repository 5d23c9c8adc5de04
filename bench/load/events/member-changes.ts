import type { AppAddress } from '../../bench-app.ts';
import { sequenceText } from '../bench-event.ts';
import { clientMessage } from '../frames.ts';
import type { KernelSockets } from '../kernel-sockets.ts';
import { subscribeMessage } from '../subscribe-message.ts';
import { type Crowd, comingsWhileInside } from '../subscribers.ts';
import type { EventSource } from './event-source.ts';
import { RoamingClient } from './roaming-client.ts';

const SETTLED_WITHIN_MS = 5000;

/**
 * Whether the event with this index is a join or a departure, and of whom: of the one whose turn it is, or was,
 * to join. The number of a join is twice its turn above the first of the step.
 */
export function deedAt(index: number, channels: number): { turn: number; isComing: boolean } {
  const turn = index >> 1;
  return index % 2 === 0
    ? { turn, isComing: true }
    : { turn: turn - comingsWhileInside(channels), isComing: false };
}

/** One join or departure, ready to be sent. */
interface Deed {
  readonly roamer: RoamingClient;
  readonly isComing: boolean;
  readonly message: Uint8Array;
}

/**
 * Members that join and leave, one per channel. Events with even numbers are joins, in one channel after the other,
 * and the member's id is that number. The event after each is the departure of the member who joined some channels
 * before. So a member stays for half of the time, and those who stay receive each join and each departure once.
 */
export class MemberChanges implements EventSource {
  readonly copies: number;
  readonly #app: AppAddress;
  readonly #crowd: Crowd;
  readonly #sockets: KernelSockets;
  #roamers: RoamingClient[] = [];
  #deeds: Deed[] = [];
  #nextSequence = 0;
  #goings = 0;

  constructor(app: AppAddress, crowd: Crowd, sockets: KernelSockets) {
    this.#app = app;
    this.#crowd = crowd;
    this.#sockets = sockets;
    if (crowd.channels.length < 2) throw new RangeError('nobody can come while it is there');
    this.copies = crowd.subscribersEach;
  }

  /** A join is answered with the roster, a departure with nothing. */
  get answered(): number {
    return this.#goings + this.#answers;
  }

  get refused(): number {
    return this.#roamers.reduce((sum, { refusals }) => sum + refusals, 0);
  }

  get firstRefusal(): string {
    return this.#roamers.find(({ refusals }) => refusals > 0)?.firstRefusal ?? '';
  }

  prepare(events: number): number {
    const { channels } = this.#crowd;
    const inside = comingsWhileInside(channels.length);
    this.#gather();
    // The remaining members leave. A gap in the numbers distinguishes them from those of this step.
    const first = this.#nextSequence + 4 * channels.length;
    this.#nextSequence = first + events + (events % 2);
    for (const roamer of this.#roamers) {
      if (roamer.isInside) roamer.send(going(roamer));
      roamer.isInside = false;
      roamer.count();
    }
    // Those who leave first must have joined.
    for (let turn = -inside; turn < 0; turn += 1) {
      const roamer = this.#wandererOf(turn);
      roamer.send(this.#coming(roamer, first + 2 * turn));
      roamer.isInside = true;
    }
    this.#waitFor(() => {
      if (this.refused > 0) throw new Error(`a member may not come: ${this.firstRefusal}`);
      return this.#answers >= inside;
    });
    for (const roamer of this.#roamers) roamer.count();
    this.#goings = 0;

    this.#deeds = Array.from({ length: events }, (_, index) => {
      const { turn, isComing } = deedAt(index, channels.length);
      const roamer = this.#wandererOf(turn);
      const message = isComing ? this.#coming(roamer, first + index) : going(roamer);
      return { roamer, isComing, message };
    });
    return first;
  }

  send(index: number): void {
    const deed = this.#deeds[index];
    if (deed === undefined) return;
    if (!deed.isComing) this.#goings += 1;
    deed.roamer.isInside = deed.isComing;
    deed.roamer.send(deed.message);
  }

  get #answers(): number {
    return this.#roamers.reduce((sum, { answers }) => sum + answers, 0);
  }

  /** Connects those that are not connected. */
  #gather(): void {
    this.#roamers = this.#crowd.channels.map((channel, index) => {
      const before = this.#roamers[index];
      return before === undefined || before.isLost
        ? new RoamingClient(this.#sockets, this.#app, channel)
        : before;
    });
    this.#waitFor(() => this.#roamers.every(({ socketId }) => socketId !== ''));
  }

  /** Whose turn it is to join; turns before the first of a step have negative numbers. */
  #wandererOf(turn: number): RoamingClient {
    const roamer = this.#roamers.at(turn % this.#roamers.length);
    if (roamer === undefined) throw new Error('nobody is there to come');
    return roamer;
  }

  #coming({ socketId, channel }: RoamingClient, sequence: number): Uint8Array {
    return clientMessage(subscribeMessage(this.#app, socketId, channel, sequenceText(sequence)));
  }

  #waitFor(isSo: () => boolean): void {
    const deadlineMs = performance.now() + SETTLED_WITHIN_MS;
    while (!isSo()) {
      if (performance.now() > deadlineMs) throw new Error('members could not come in time');
      this.#sockets.poll(5);
    }
  }
}

function going({ channel }: RoamingClient): Uint8Array {
  return clientMessage({ event: 'pusher:unsubscribe', data: { channel } });
}
