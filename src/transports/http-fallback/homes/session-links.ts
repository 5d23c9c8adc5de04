import type { Timers } from '../../../runtime/ports.ts';
import { Arrivals, type ArrivalsMessage } from './arrivals.ts';
import { SessionHomeServer } from './home-server.ts';
import { RemoteHome } from './remote-home.ts';
import type { LocalSessions, ReceiveRequest, SessionHome, SessionHomes } from './session-home.ts';
import { isQuestion, type SessionMessage } from './session-messages.ts';

/** From one loop of this process to another. */
export type SessionLinkMessage = SessionMessage | ArrivalsMessage;

export interface SessionLinksOptions {
  /** The number of this loop, and of all loops. */
  readonly loop: number;
  readonly loops: number;
  /** The sessions of this loop. */
  readonly sessions: LocalSessions;
  /** Sends a message to another loop. Messages arrive in order. */
  readonly send: (loop: number, message: SessionLinkMessage) => void;
  readonly sendBufferBytes: number;
  /** Monotonic. */
  readonly timers: Timers;
  /** Runs something once the loop has handled everything that arrived in this turn. */
  readonly afterTurn: (run: () => void) => void;
}

/**
 * The sessions on all loops of this process. All loops share the port, so a request may come to any of them. A
 * session lives on the loop that its path determines.
 */
export class SessionLinks implements SessionHomes {
  private readonly options: SessionLinksOptions;
  private readonly homes: readonly (RemoteHome | undefined)[];
  private readonly servers: readonly SessionHomeServer[];
  private readonly arrivals: Arrivals;

  constructor(options: SessionLinksOptions) {
    const { loop, loops, sessions, send, sendBufferBytes, timers, afterTurn } = options;
    this.options = options;
    const all = Array.from({ length: loops }, (_, index) => index);
    this.homes = all.map((index) =>
      index === loop
        ? undefined
        : new RemoteHome({
            ask: (question) => send(index, { type: 'session', ...question }),
            sendBufferBytes,
            timers,
          }),
    );
    this.servers = all.map(
      (index) =>
        new SessionHomeServer(sessions, (answer) => send(index, { type: 'session', ...answer })),
    );
    const others = all.filter((index) => index !== loop);
    this.arrivals = new Arrivals({ others, send, afterTurn });
  }

  receivingAt({ session }: ReceiveRequest): SessionHome {
    return this.homeOf(session);
  }

  knowing(session: string): SessionHome {
    return this.homeOf(session);
  }

  private homeOf(session: string): SessionHome {
    const { loops, sessions } = this.options;
    if (loops === 1) return sessions;
    return this.homes[Number(Bun.hash.crc32(session)) % loops] ?? sessions;
  }

  afterArrivals(run: () => void): void {
    this.arrivals.after(run);
  }

  receive(from: number, message: SessionLinkMessage): void {
    if ('arrivals' in message) this.arrivals.receive(from, message);
    else if (isQuestion(message)) this.servers[from]?.asked(message);
    else this.homes[from]?.answered(message);
  }

  /** Called once a second. */
  check(): void {
    for (const home of this.homes) home?.check();
  }
}
