import type { Context } from '../kernel/context.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { Link } from './link.ts';
import { type Delays, delayOf } from './pipe.ts';
import type { ArrivingRequest, ServerSide } from './sides.ts';

/** Changes what servers send: a planted fault. Each function returns what is sent instead. */
export interface Tampering {
  /** A frame to a client. */
  frames: ((socket: object, frame: string) => readonly string[]) | undefined;
  /** Whether a request of a backend is answered with 200 and thrown away. */
  swallows: ((request: ArrivingRequest) => boolean) | undefined;
  /** Messages of a loop to another one, or to the background loop. */
  messages: ((messages: unknown) => unknown) | undefined;
}

/** Something that listens on a port. */
export interface Listener {
  readonly port: number;
  readonly context: Context;
  /** A client has connected. */
  accept(link: Link): ServerSide;
}

/** What breaks in a network. Changed by a world while it runs. */
export interface Trouble {
  /** How many connections are cut right behind a frame that has arrived at a client. */
  cutsBehindFrame: number;
}

/** Who listens where, and all connections. */
export class Network {
  readonly kernel: Kernel;
  readonly delays: Delays = { leastMs: 1, spreadMs: 20, stallChance: 0, stallMs: 0 };
  /** Between the loops of a server. */
  readonly loopDelays: Delays = { leastMs: 0.01, spreadMs: 0.5, stallChance: 0, stallMs: 0 };
  readonly trouble: Trouble = { cutsBehindFrame: 0 };
  readonly tampering: Tampering = { frames: undefined, swallows: undefined, messages: undefined };
  readonly links = new Set<Link>();
  /** Cuts behind frames so far. */
  cuts = 0;
  /** The ports behind each name: a load balancer that knows nothing of the servers' health. */
  readonly hosts = new Map<string, readonly number[]>();
  private readonly listeners: Listener[] = [];
  /** When the last message to a loop arrives. */
  private readonly postedUntilMs = new WeakMap<Context, number>();
  private ports = 0;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  /** A port that nobody has. */
  newPort(): number {
    return ++this.ports;
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  unlisten(server: Listener): void {
    const place = this.listeners.indexOf(server);
    if (place >= 0) this.listeners.splice(place, 1);
  }

  /** Opens a connection to one of the listeners behind a name. Calls one of both in the context of the client. */
  connect(
    host: string,
    opened: (link: Link, server: ServerSide) => void,
    refused: () => void,
  ): void {
    const { kernel } = this;
    const { context } = kernel;
    const port = kernel.random.pickIfAny(this.hosts.get(host) ?? []);
    const arrive = () => {
      const server = kernel.random.pickIfAny(
        this.listeners.filter((one) => one.port === port && !one.context.isDead),
      );
      const back = delayOf(kernel, this.delays);
      if (server === undefined) return void kernel.after(back, refused, context);
      const link: Link = new Link(
        kernel,
        { client: context, server: server.context },
        {
          delays: this.delays,
          port: kernel.random.between(1024, 65_535),
          forget: () => void this.links.delete(link),
        },
      );
      this.links.add(link);
      const side = server.accept(link);
      const open = () => {
        // Its server may have died on the way.
        if (link.up.isCut || link.client.isOver) refused();
        else opened(link, side);
      };
      kernel.after(back, open, context);
    };
    kernel.after(delayOf(kernel, this.delays), arrive, kernel.world);
  }

  /**
   * Runs something in another loop of the same process. Each loop has one queue, so what was sent first runs first, whoever
   * has sent it.
   */
  post(to: Context, run: () => void): void {
    const { kernel } = this;
    const earliestMs = this.postedUntilMs.get(to) ?? 0;
    const atMs = Math.max(earliestMs, kernel.nowMs + delayOf(kernel, this.loopDelays));
    this.postedUntilMs.set(to, atMs);
    kernel.after(atMs - kernel.nowMs, run, to);
  }

  /** The process with these contexts is gone, by a signal or by itself. What it had sent arrives or not. */
  die(contexts: ReadonlySet<Context>): void {
    for (const server of this.listeners.filter(({ context }) => contexts.has(context))) {
      this.unlisten(server);
    }
    for (const link of [...this.links]) {
      for (const end of [link.server, link.client]) {
        if (contexts.has(end.context)) link.die(end, this.kernel.random.chance(0.5));
      }
    }
    for (const context of contexts) context.isDead = true;
  }

  /** A frame has arrived at a client. */
  arrived(link: Link): void {
    const { random } = this.kernel;
    if (!random.chance(this.trouble.cutsBehindFrame)) return;
    this.cuts++;
    this.kernel.trace?.('cut behind a frame');
    link.cut();
  }
}

let current: Network | undefined;

/** Sets the network of what is opened from now on. */
export function useNetwork(network: Network): void {
  current = network;
}

export function networkInUse(): Network {
  if (current === undefined) throw new Error('No world is being played');
  return current;
}
