import type { Server } from 'bun';
import type { Context } from '../kernel/context.ts';
import { Accepted, type Acceptor, type ServeOptions } from './accepted.ts';
import type { Link } from './link.ts';
import { type Listener, type Network, networkInUse } from './network.ts';
import { Topics } from './topics.ts';

/** What `Bun.serve` returns, with a network that can break. It has the methods that the server uses. */
class ModelledServer implements Acceptor, Listener {
  readonly network: Network;
  readonly context: Context;
  readonly options: ServeOptions;
  readonly port: number;
  readonly topics = new Topics();
  private readonly accepted = new Set<Accepted>();
  private readonly requests = new WeakMap<Request, Accepted>();
  private readonly stopped = Promise.withResolvers<void>();
  private isStopping = false;

  constructor(options: ServeOptions) {
    this.network = networkInUse();
    this.context = this.network.kernel.context;
    this.options = options;
    const { port = 0 } = options;
    this.port = port > 0 ? port : this.network.newPort();
    this.network.listen(this);
  }

  get pendingWebSockets(): number {
    let count = 0;
    for (const { socket } of this.accepted) if (socket !== undefined) count++;
    return count;
  }

  accept(link: Link): Accepted {
    const accepted = new Accepted(this, link);
    this.accepted.add(accepted);
    return accepted;
  }

  began(request: Request, accepted: Accepted): void {
    this.requests.set(request, accepted);
  }

  forget(accepted: Accepted): void {
    this.accepted.delete(accepted);
  }

  upgrade(request: Request, { data }: { readonly data: unknown }): boolean {
    const accepted = this.requests.get(request);
    return accepted?.request === request && accepted.upgrade(data);
  }

  requestIP(request: Request): { address: string; port: number; family: 'IPv4' } | null {
    const accepted = this.requests.get(request);
    return accepted === undefined
      ? null
      : { address: accepted.address, port: accepted.link.port, family: 'IPv4' };
  }

  timeout(): void {
    // Idle connections cost nothing here.
  }

  subscriberCount(topic: string): number {
    return this.topics.count(topic);
  }

  publish(topic: string, frame: string): number {
    return this.topics.publish(topic, frame);
  }

  async stop(closesAll = false): Promise<void> {
    this.isStopping = true;
    this.network.unlisten(this);
    if (closesAll) for (const accepted of [...this.accepted]) accepted.close();
    this.settle();
    await this.stopped.promise;
  }

  settle(): void {
    if (!this.isStopping) return;
    for (const accepted of [...this.accepted]) if (!accepted.isBusy) accepted.close();
    if (this.accepted.size === 0) this.stopped.resolve();
  }
}

/** In place of the function of the runtime. */
export function modelledServe(options: ServeOptions): Server<unknown> {
  return new ModelledServer(options) as unknown as Server<unknown>;
}
