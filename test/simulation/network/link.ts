import type { Context } from '../kernel/context.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { type Delays, Pipe } from './pipe.ts';

/** How long after a cut an end may learn of it. Milliseconds. */
const NOTICED_MS = 50;

/** One end of a connection. */
export interface LinkEnd {
  readonly context: Context;
  /** The program has closed it, or knows that it is over. */
  isOver: boolean;
  /** The other end has closed the connection. */
  onEnded: () => void;
  /** The connection is broken. */
  onLost: () => void;
}

/** A TCP connection: two directions, which can be closed, cut, silent or slow. */
export class Link {
  readonly client: LinkEnd;
  readonly server: LinkEnd;
  readonly up: Pipe;
  readonly down: Pipe;
  readonly port: number;
  private readonly kernel: Kernel;
  private readonly forget: () => void;

  constructor(
    kernel: Kernel,
    { client, server }: { readonly client: Context; readonly server: Context },
    given: { readonly delays: Delays; readonly port: number; readonly forget: () => void },
  ) {
    this.kernel = kernel;
    this.client = endOf(client);
    this.server = endOf(server);
    this.up = new Pipe(kernel, server, given.delays);
    this.down = new Pipe(kernel, client, given.delays);
    this.port = given.port;
    this.forget = given.forget;
  }

  /** An end closes the connection: the other one learns of it behind everything that was sent. */
  end(from: LinkEnd): void {
    if (from.isOver) return;
    from.isOver = true;
    const [pipe, to] = from === this.client ? [this.up, this.server] : [this.down, this.client];
    pipe.send(0, () => {
      if (to.isOver) return;
      to.isOver = true;
      this.forget();
      to.onEnded();
    });
    if (to.isOver) this.forget();
  }

  /** The connection breaks at once, and both ends learn of it soon. */
  cut(): void {
    if (this.up.isCut) return;
    this.up.isCut = true;
    this.down.isCut = true;
    this.forget();
    for (const end of [this.client, this.server]) this.lose(end);
  }

  /** The program at one end is gone. `isKept`: what it has sent still arrives. */
  die(dead: LinkEnd, isKept: boolean): void {
    const [pipe, other] = dead === this.client ? [this.up, this.server] : [this.down, this.client];
    dead.isOver = true;
    if (!isKept) {
      this.cut();
      return;
    }
    pipe.send(0, () => {
      this.forget();
      this.lose(other);
    });
  }

  /** Nothing arrives from now on, and nobody learns of it. */
  silence(): void {
    this.up.isSilent = true;
    this.down.isSilent = true;
  }

  private lose(end: LinkEnd): void {
    const tell = () => {
      if (end.isOver) return;
      end.isOver = true;
      end.onLost();
    };
    this.kernel.after(this.kernel.random.next() * NOTICED_MS, tell, end.context);
  }
}

function endOf(context: Context): LinkEnd {
  return { context, isOver: false, onEnded: () => undefined, onLost: () => undefined };
}
