import type { Socket } from 'node:net';
import type { Timers } from '../../../runtime/ports.ts';
import type { RedisProcess } from './check-server.ts';
import { type CommandArgs, encodeCommand } from './encode-command.ts';
import { RedisAway, RedisError, type Reply } from './reply.ts';
import { NotRedis, ReplyReader } from './reply-reader.ts';

/** A command that was sent. Exactly one of its methods is called, once. */
export interface SentCommand {
  onReply(reply: Reply): void;
  onLost(why: string): void;
}

/** The callbacks of a connection. */
export interface RedisConnectionOwner {
  /** Called once, before the commands in flight are lost. */
  onEnd(why: string): void;
  /** A command was answered, after this time. */
  onAnswered?(ms: number): void;
  /** Handles a message of a subscription. Without this method, everything is the reply to a command. */
  onPush?(kind: PushKind, channel: string, payload: Reply): void;
}

export type PushKind = 'message' | 'subscribe' | 'unsubscribe';

export interface RedisConnectionOptions {
  readonly timers: Timers;
  /** The timeout of a reply. */
  readonly deadlineMs: number;
}

interface InFlight {
  readonly command: SentCommand;
  readonly sentAtMs: number;
}

/**
 * The pause between finding a reply overdue and giving up, because our own loop may have been blocked. Milliseconds.
 */
const SECOND_LOOK_MS = 200;
/** The limit of bytes that may wait for the end of the turn. */
const WRITE_CHARACTERS_MAX = 1024 * 1024;
/** Settled commands are removed from the list in batches of this size. */
const DROP_STEP = 1024;

/**
 * One connection to Redis, from the open socket to its end. It never reconnects and never repeats a command.
 *
 * What is sent in one turn of the event loop goes out in one write. An overdue reply closes the connection: Redis
 * answers in order, so nothing after it could be read either.
 */
export class RedisConnection {
  /** The Redis process at the other end, once it is known. */
  process: RedisProcess | undefined;
  private readonly socket: Socket;
  private readonly owner: RedisConnectionOwner;
  private readonly options: RedisConnectionOptions;
  private readonly reader = new ReplyReader((reply) => this.take(reply));
  private out = '';
  private isFlushPlanned = false;
  private inFlight: InFlight[] = [];
  private settled = 0;
  private isEnded = false;
  private isLate = false;
  private stopTimer: (() => void) | undefined;
  /** When the last bytes arrived. */
  heardAtMs: number;
  /** Whether anything has arrived. */
  hasHeard = false;
  /** The error of the socket that has ended the connection. */
  fault: Error | undefined;

  constructor(socket: Socket, owner: RedisConnectionOwner, options: RedisConnectionOptions) {
    this.socket = socket;
    this.owner = owner;
    this.options = options;
    this.heardAtMs = options.timers.now();
    socket.on('data', (bytes: Buffer) => this.read(bytes));
    socket.on('error', (error) => {
      this.fault = error;
    });
    socket.on('close', () => this.end(this.fault?.message ?? 'Redis has closed the connection'));
  }

  /** Commands in flight. */
  get waiting(): number {
    return this.inFlight.length - this.settled;
  }

  request(args: CommandArgs): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.send(encodeCommand(args), {
        onReply: (reply) => (reply instanceof RedisError ? reject(reply) : resolve(reply)),
        onLost: (why) => reject(new RedisAway(why, true)),
      });
    });
  }

  send(text: string, command: SentCommand): void {
    if (this.isEnded) return command.onLost('the connection has ended');
    this.inFlight.push({ command, sentAtMs: this.options.timers.now() });
    if (this.stopTimer === undefined) this.watch(this.options.deadlineMs);
    this.write(text);
  }

  /** Sends a command whose replies are pushes. */
  write(text: string): void {
    if (this.isEnded) return;
    this.out += text;
    if (this.out.length > WRITE_CHARACTERS_MAX) return this.flush();
    if (this.isFlushPlanned) return;
    this.isFlushPlanned = true;
    setImmediate(() => {
      this.isFlushPlanned = false;
      this.flush();
    });
  }

  /** Closes the connection now. Commands in flight are lost. */
  end(why: string): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.stopTimer?.();
    this.socket.destroy();
    this.owner.onEnd(why);
    const lost = this.inFlight.slice(this.settled);
    this.inFlight = [];
    this.settled = 0;
    for (const { command } of lost) command.onLost(why);
  }

  /** Writes the commands that were collected in this turn of the loop. */
  flush(): void {
    if (this.isEnded || this.out === '') return;
    const text = this.out;
    this.out = '';
    this.socket.write(text);
  }

  private read(bytes: Buffer): void {
    if (this.isEnded) return;
    this.heardAtMs = this.options.timers.now();
    this.hasHeard = true;
    try {
      this.reader.read(bytes);
    } catch (error) {
      if (!(error instanceof NotRedis)) throw error;
      this.end(error.message);
    }
  }

  private take(reply: Reply): void {
    if (this.isEnded) return;
    const { owner } = this;
    if (owner.onPush !== undefined && Array.isArray(reply)) {
      const [word, channel, payload = null] = reply;
      const kind = PUSHES.get(word ?? null);
      if (kind !== undefined) return owner.onPush(kind, String(channel), payload);
    }
    const first = this.inFlight[this.settled];
    if (first === undefined) {
      return this.end(
        reply instanceof RedisError ? reply.message : 'a reply that nobody asked for',
      );
    }
    this.settled += 1;
    if (this.settled === this.inFlight.length || this.settled === DROP_STEP) {
      this.inFlight.splice(0, this.settled);
      this.settled = 0;
    }
    owner.onAnswered?.(this.heardAtMs - first.sentAtMs);
    first.command.onReply(reply);
    // From then on, a demoted primary refuses writes.
    if (reply instanceof RedisError && reply.code === 'READONLY') this.end(reply.message);
  }

  private watch(delayMs: number): void {
    this.stopTimer = this.options.timers.after(delayMs, () => this.check());
  }

  private check(): void {
    this.stopTimer = undefined;
    const oldest = this.inFlight[this.settled];
    if (oldest === undefined) {
      this.isLate = false;
      return;
    }
    const { timers, deadlineMs } = this.options;
    const leftMs = oldest.sentAtMs + deadlineMs - timers.now();
    if (leftMs > 0) {
      this.isLate = false;
      return this.watch(leftMs);
    }
    if (this.isLate) return this.end(`no reply within ${deadlineMs} ms`);
    // If this loop was blocked, the reply may be in the socket, unread.
    this.isLate = true;
    this.watch(SECOND_LOOK_MS);
  }
}

/** What a push begins with. In a cluster, streams have words of their own. */
const PUSHES: ReadonlyMap<Reply, PushKind> = new Map(
  (['message', 'subscribe', 'unsubscribe'] as const).flatMap((kind) => [
    [kind, kind],
    [`s${kind}`, kind],
  ]),
);
