import type { AppAddress } from '../bench-app.ts';
import { ClosedLoop } from '../load/closed-loop.ts';
import { BenchClient, type ClientOwner, type Destination } from './client.ts';
import type { Subscriptions } from './subscriptions.ts';

/** Visitors that come, subscribe and leave again; whenever one has left, another comes. */
export class Pacer extends ClosedLoop implements ClientOwner {
  protected underWay = 0;
  private readonly destination: Destination;
  private readonly subscriptions: readonly Subscriptions[];
  private readonly atOnce: number;
  private comers = 0;

  /** Assigns subscriptions to clients in turn. `atOnce` of them are connected at the same time. */
  constructor(app: AppAddress, subscriptions: readonly Subscriptions[], atOnce: number) {
    super();
    this.destination = { app, sockets: this.sockets, owner: this };
    this.subscriptions = subscriptions;
    this.atOnce = atOnce;
  }

  subscribed(client: BenchClient): void {
    this.latency?.record(performance.now() - client.startedMs);
    client.leave();
  }

  left(): void {
    this.underWay -= 1;
    this.completed += 1;
    if (this.isOpen) this.admit();
  }

  lost(_visitor: BenchClient, why: string): void {
    throw new Error(`a connection was lost: ${why}`);
  }

  protected fill(): void {
    while (this.underWay < this.atOnce) this.admit();
  }

  private admit(): void {
    const each = this.subscriptions[this.comers % this.subscriptions.length];
    if (each === undefined) throw new Error('a client needs subscriptions');
    this.comers += 1;
    this.underWay += 1;
    new BenchClient(this.destination, each);
  }
}
