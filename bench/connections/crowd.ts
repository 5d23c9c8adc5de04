import type { AppAddress } from '../bench-app.ts';
import { KernelSockets } from '../load/kernel-sockets.ts';
import { BenchClient, type ClientOwner, type Destination } from './client.ts';
import type { Subscriptions } from './subscriptions.ts';

const GATHERED_WITHIN_MS = 60_000;

/** Visitors that come and stay. */
export class ConnectionCrowd implements ClientOwner {
  readonly #sockets = new KernelSockets();
  readonly #destination: Destination;
  readonly #connectingMax: number;
  readonly #present = new Set<BenchClient>();
  #connecting = 0;

  /**
   * The limit of concurrent connection attempts. It must stay below Bun's backlog of 512: a client beyond the backlog
   * retries after a second, and then the kernel's timer is measured.
   */
  constructor(app: AppAddress, connectingMax: number) {
    this.#destination = { app, sockets: this.#sockets, owner: this };
    this.#connectingMax = connectingMax;
  }

  /** Connects a client for each of these; returns when every subscription is confirmed. */
  gather(subscriptions: readonly Subscriptions[]): void {
    const deadlineMs = performance.now() + GATHERED_WITHIN_MS;
    let next = 0;
    while (next < subscriptions.length || this.#connecting > 0) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.#connecting} connections were not subscribed in time`);
      }
      while (this.#connecting < this.#connectingMax) {
        const each = subscriptions[next];
        if (each === undefined) break;
        next += 1;
        this.#connecting += 1;
        new BenchClient(this.#destination, each);
      }
      this.#sockets.poll(10);
    }
  }

  /** Waits, answering pings. */
  rest(seconds: number): void {
    const endMs = performance.now() + seconds * 1000;
    for (;;) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) return;
      this.#sockets.poll(leftMs);
    }
  }

  subscribed(client: BenchClient): void {
    this.#connecting -= 1;
    this.#present.add(client);
  }

  left(): void {
    throw new Error('nobody here says goodbye');
  }

  lost(_visitor: BenchClient, why: string): void {
    throw new Error(`a connection was lost: ${why}`);
  }
}
