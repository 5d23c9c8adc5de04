import { Context } from '../kernel/context.ts';
import { Link } from '../network/link.ts';
import type { Network } from '../network/network.ts';
import { type Delays, delayOf } from '../network/pipe.ts';
import { ModelledSocket } from './modelled-socket.ts';
import { RedisModel } from './redis-model.ts';
import { encodeReply, type Reply } from './reply.ts';

/** A connection of a server to Redis. */
interface Line {
  readonly link: Link;
  readonly connection: ReturnType<RedisModel['connect']>;
}

/** How often what Redis sends arrives in two pieces, cut anywhere. */
const SPLIT = 0.05;

/** How much of a text is printed. Characters. */
const PRINTED = 200;

/** A Redis server in the network of a world. */
export class RedisHost {
  readonly context: Context;
  private readonly network: Network;
  private readonly model: RedisModel;
  private readonly delays: Delays;
  private readonly lines = new Set<Line>();
  /** From when on it accepts connections again. Milliseconds. */
  private startsAtMs = 0;
  /** By program, until when it cannot be reached from there. */
  private readonly unreachable = new Map<Context, number>();

  constructor(network: Network, name: string, delays: Delays) {
    this.context = new Context(name);
    this.network = network;
    this.delays = delays;
    const { kernel } = network;
    // The context is that of Redis whenever it runs something.
    const nowUs = () => Date.now() * 1000 + Math.floor((kernel.nowMs % 1) * 1000);
    const { trace } = kernel;
    this.model = new RedisModel({
      nowUs,
      random: kernel.random,
      trace: trace && ((words, reply) => trace(printed(words, reply))),
    });
  }

  /** Answers nobody until then, as after `SIGSTOP`. */
  pause(untilMs: number): void {
    this.context.pausedUntilMs = Math.max(this.context.pausedUntilMs, untilMs);
  }

  /** Ends, and starts again at that time without data. */
  lose(untilMs: number): void {
    this.startsAtMs = Math.max(this.startsAtMs, untilMs);
    // What it has sent arrives or not.
    for (const { link } of [...this.lines]) {
      link.die(link.server, this.network.kernel.random.chance(0.5));
    }
    this.lines.clear();
    this.model.restart();
  }

  /** Forgets its scripts. */
  forgetScripts(): void {
    this.model.forgetScripts();
  }

  /** Breaks the connections of some programs. */
  cut(from: ReadonlySet<Context>): void {
    for (const line of this.linesOf(from)) line.link.cut();
  }

  /** Runs the next command of some program, and breaks the connection before the answer. */
  loseReply(from: ReadonlySet<Context>): void {
    this.network.kernel.random.pickIfAny(this.linesOf(from))?.connection.loseReply();
  }

  /** Cannot be reached from some programs until then. */
  hide(from: ReadonlySet<Context>, untilMs: number): void {
    const { kernel } = this.network;
    for (const { link } of this.linesOf(from)) link.silence();
    for (const context of from) this.unreachable.set(context, untilMs);
    // Whoever has still waited learns then that the connection is gone.
    kernel.after(untilMs - kernel.nowMs, () => this.cut(from), kernel.world);
  }

  /** Opens a connection for the program that calls it. Without an answer, it calls neither. */
  connect(opened: (socket: ModelledSocket) => void, refused: () => void): void {
    const { kernel } = this.network;
    const { context } = kernel;
    const arrive = () => {
      const backMs = delayOf(kernel, this.delays);
      if (kernel.nowMs < (this.unreachable.get(context) ?? 0)) return;
      if (kernel.nowMs < this.startsAtMs) return void kernel.after(backMs, refused, context);
      const socket = this.accept(context);
      kernel.after(backMs, () => opened(socket), context);
    };
    kernel.after(delayOf(kernel, this.delays), arrive, kernel.world);
  }

  private accept(client: Context): ModelledSocket {
    const { kernel, links } = this.network;
    const forget = () => {
      links.delete(link);
      this.lines.delete(line);
    };
    const link: Link = new Link(
      kernel,
      { client, server: this.context },
      { delays: this.delays, port: kernel.random.between(1024, 65_535), forget },
    );
    const connection = this.model.connect({
      onBytes: (bytes) => {
        for (const part of this.piecesOf(bytes)) {
          link.down.send(part.length, () => socket.receive(part));
        }
      },
      onEnd: () => link.end(link.server),
    });
    const socket = new ModelledSocket(link, (bytes) => connection.receive(bytes));
    link.server.onEnded = () => connection.close();
    link.server.onLost = () => connection.close();
    const line = { link, connection };
    links.add(link);
    this.lines.add(line);
    return socket;
  }

  private piecesOf(bytes: Buffer): readonly Buffer[] {
    const { random } = this.network.kernel;
    if (!random.chance(SPLIT)) return [bytes];
    const at = random.between(0, bytes.length);
    return [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0);
  }

  private linesOf(from: ReadonlySet<Context>): readonly Line[] {
    return [...this.lines].filter(({ link }) => from.has(link.client.context));
  }
}

/** A command and its reply on one line. */
function printed(words: readonly string[], reply: Reply | undefined): string {
  const short = (text: string) => text.slice(0, PRINTED);
  const answer = reply === undefined ? '' : ` -> ${short(JSON.stringify(encodeReply(reply)))}`;
  return JSON.stringify(words.map(short)) + answer;
}

let current: ReadonlyMap<number, RedisHost> = new Map();

/** Sets the Redis servers of the world, by port. */
export function useRedis(hosts: ReadonlyMap<number, RedisHost>): void {
  current = hosts;
}

export function redisAt(port: number): RedisHost | undefined {
  return current.get(port);
}
