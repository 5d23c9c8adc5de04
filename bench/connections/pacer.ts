import type { AppAddress } from '../bench-app.ts';
import { Histogram } from '../load/histogram.ts';
import { KernelSockets } from '../load/kernel-sockets.ts';
import { BenchClient, type ClientOwner, type Destination } from './client.ts';
import type { Subscriptions } from './subscriptions.ts';

/** How long those under way at the end may take. */
const LAST_OUT_MS = 5000;

/** What the measured part of a run came to. */
export interface Passage {
  /** Connections made, subscribed and closed again, per second. */
  readonly perSecond: number;
  /** From the first packet to the confirmed subscription. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Visitors that come, subscribe and leave again; whenever one has left, another comes. */
export class Pacer implements ClientOwner {
  readonly #sockets = new KernelSockets();
  readonly #destination: Destination;
  readonly #subscriptions: readonly Subscriptions[];
  readonly #atOnce: number;
  #comers = 0;
  #underWay = 0;
  #completed = 0;
  #isOpen = false;
  #latency: Histogram | undefined;

  /** Clients take the subscriptions in turn. `atOnce` of them are connected at the same time. */
  constructor(app: AppAddress, subscriptions: readonly Subscriptions[], atOnce: number) {
    this.#destination = { app, sockets: this.#sockets, owner: this };
    this.#subscriptions = subscriptions;
    this.#atOnce = atOnce;
  }

  /** Lets clients pass; the warm-up is there for the compilers of both sides. */
  run(warmupSeconds: number, seconds: number, onWarm: () => void): Passage {
    this.#isOpen = true;
    this.#admitAll();
    this.#pollFor(warmupSeconds * 1000);
    onWarm();

    const latency = new Histogram();
    this.#latency = latency;
    const before = this.#completed;
    const tookMs = this.#pollFor(seconds * 1000);
    const completed = this.#completed - before;
    this.#latency = undefined;

    this.#isOpen = false;
    this.#letOut();
    return {
      perSecond: (completed / tookMs) * 1000,
      p50Ms: latency.quantileMs(0.5),
      p99Ms: latency.quantileMs(0.99),
      maxMs: latency.maxMs,
    };
  }

  subscribed(client: BenchClient): void {
    this.#latency?.record(performance.now() - client.startedMs);
    client.leave();
  }

  left(): void {
    this.#underWay -= 1;
    this.#completed += 1;
    if (this.#isOpen) this.#admit();
  }

  lost(_visitor: BenchClient, why: string): void {
    throw new Error(`a connection was lost: ${why}`);
  }

  #admitAll(): void {
    while (this.#underWay < this.#atOnce) this.#admit();
  }

  #admit(): void {
    const each = this.#subscriptions[this.#comers % this.#subscriptions.length];
    if (each === undefined) throw new Error('there must be a each to have');
    this.#comers += 1;
    this.#underWay += 1;
    new BenchClient(this.#destination, each);
  }

  /** Reads on for so long; gives how long it was. */
  #pollFor(ms: number): number {
    const startMs = performance.now();
    for (;;) {
      const leftMs = startMs + ms - performance.now();
      if (leftMs <= 0) return ms - leftMs;
      this.#sockets.poll(leftMs);
    }
  }

  /** Reads on until nobody is under way. */
  #letOut(): void {
    const deadlineMs = performance.now() + LAST_OUT_MS;
    while (this.#underWay > 0) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.#underWay} connections were not answered, or not ended`);
      }
      this.#sockets.poll(5);
    }
  }
}
