import type { Timers } from '../../../runtime/ports.ts';
import { Recent, RecentSet } from '../../../runtime/recent.ts';
import type { PackedAddress } from '../../clients/addresses/packed-address.ts';
import { type ConnectionProblem, closeCodes } from '../../clients/closing/close-codes.ts';
import { closeLine } from '../lines.ts';
import type { Outlet } from '../receiver.ts';
import { SessionHomeServer } from './home-server.ts';
import { readSessionMessage } from './read-session-message.ts';
import { RemoteHome } from './remote-home.ts';
import type {
  LocalHome,
  LocalSessions,
  ReceiveRequest,
  SessionHome,
  SessionHomes,
} from './session-home.ts';
import { isQuestion, type SessionMessage } from './session-messages.ts';

/** How often this loop renews the claims of its sessions. Milliseconds. */
const RENEW_MS = 20_000;

/** How long a request that has arrived at another server may need to become known here. Milliseconds. */
const ARRIVAL_MS = 250;

/** The limit of sessions that must learn of a lost message, and of those that might have to. */
const LOSSES_MAX = 8192;

/**
 * After which time a session is searched that nobody had claimed when a message of its client came: the loop that has it may be the
 * only one that cannot reach Redis. The time doubles with each search, and after the last one the session counts as over. Milliseconds.
 */
const SEARCHED_MS = 1_000;
const SEARCHED_MAX_MS = 128_000;

/** Carries messages between the loops of all servers, and knows which of them has a session. */
export interface SessionBus {
  readonly self: string;
  /** Claims the session unless a loop has it, and returns the loop that has it. Rejects if Redis does not answer. */
  claim(session: string): Promise<string>;
  /** Returns the loop that has the session. Rejects if Redis does not answer. */
  find(session: string): Promise<string | undefined>;
  /** Claims the session for this loop, even if another loop has it. */
  take(session: string): void;
  renew(sessions: readonly string[]): Promise<void>;
  /** Gives up the claim of this loop. A claim of another loop stays. */
  release(session: string): void;
  /** Keeps for a loop that a session of it has lost a message. Rejects if Redis does not answer. */
  noteLoss(loop: string, session: string): Promise<void>;
  /** The sessions that others have noted for this loop. Rejects unless its messages arrive. */
  losses(): Promise<readonly string[]>;
  send(to: string, text: string): void;
  listen(listener: SessionBusListener): void;
}

export interface SessionBusListener {
  onMessage(from: string, text: string): void;
  /** Messages of a loop may be missing; `undefined`: of any. */
  onLoss(from: string | undefined): void;
}

export interface SessionClusterOptions {
  readonly bus: SessionBus;
  /** The sessions of this loop. */
  readonly sessions: LocalSessions;
  /** Whether an address has asked for too many sessions that do not exist. */
  readonly wouldRefuse: (address: PackedAddress) => boolean;
  readonly sendBufferBytes: number;
  /** Monotonic. */
  readonly timers: Timers;
}

/** A session that may have lost a message of its client. Monotonic milliseconds. */
interface PossibleLoss {
  readonly searchedAtMs: number;
  /** How long ago it was searched before. */
  readonly pausedMs: number;
}

/** Another loop: the sessions that it has, and its requests for sessions of this one. */
interface Peer {
  /** The sessions of the other loop. */
  readonly home: RemoteHome;
  /** The other loop's requests for sessions of this one. */
  readonly server: SessionHomeServer;
}

/**
 * The sessions on all loops of several servers. A session lives on the loop that got its first request. Requests that
 * come to another loop are forwarded.
 */
export class SessionCluster implements SessionHomes {
  private readonly options: SessionClusterOptions;
  private readonly peers = new Map<string, Peer>();
  /** By session of this loop, the other loop that last asked for it to hand over a message of its client. */
  private readonly senders = new Recent<string, string>(LOSSES_MAX);
  /** Sessions that may have lost a message of their client, and do not know: `pusher-js` does not look at the answer. */
  private readonly losses = new Recent<string, PossibleLoss>(LOSSES_MAX);
  /** Sessions of this loop that it could not claim. */
  private readonly unclaimed = new RecentSet<string>(LOSSES_MAX);
  /** Whether messages were missed, so that others may have noted losses. */
  private mustReadLosses = false;
  private renewedAtMs: number;

  constructor(options: SessionClusterOptions) {
    this.options = options;
    this.renewedAtMs = options.timers.now();
    options.bus.listen({
      onMessage: (from, text) => this.receive(from, readSessionMessage(text)),
      onLoss: (from) => this.lost(from),
    });
  }

  /** The streams that loops elsewhere write. This server must end them when it stops. */
  get size(): number {
    return [...this.all()].length;
  }

  *all(): Iterable<Outlet> {
    for (const { home } of this.peers.values()) yield* home.streams();
  }

  /** Lets loops elsewhere answer the polls that this one holds. Their clients can then poll another server. */
  releasePolls(): void {
    for (const { home } of this.peers.values()) home.releasePolls();
  }

  receivingAt(request: ReceiveRequest): SessionHome | Promise<SessionHome> {
    const { bus, sessions } = this.options;
    const { session } = request;
    // One that is refused anyhow costs Redis nothing.
    if (sessions.has(session) || !sessions.mayOpen(request)) return sessions;
    return bus.claim(session).then(
      (owner) => (owner === bus.self ? sessions : this.peer(owner).home),
      // While the claims cannot be read, this loop creates the session. If another loop had it, the client
      // reconnects.
      () => {
        this.unclaimed.add(session);
        return sessions;
      },
    );
  }

  knowing(
    session: string,
    address: PackedAddress,
  ): SessionHome | undefined | Promise<SessionHome | undefined> {
    const { bus, sessions, wouldRefuse } = this.options;
    if (sessions.has(session)) return sessions;
    if (wouldRefuse(address)) return undefined;
    const lost = () => {
      this.searchIn(SEARCHED_MS, session);
      return undefined;
    };
    return bus.find(session).then((owner) => {
      if (owner === undefined) return lost();
      return owner === bus.self ? undefined : this.peer(owner).home;
    }, lost);
  }

  /** Servers do not ask each other: a broken request would cost one message to each. */
  afterArrivals(run: () => void): void {
    this.options.timers.after(ARRIVAL_MS, run);
  }

  /** Renews claims, and forgets loops that have nothing under way here. Called once a second. */
  check(): void {
    const { bus, sessions, timers } = this.options;
    for (const [loop, { home, server }] of this.peers) {
      home.check();
      if (home.isIdle && server.isIdle) this.peers.delete(loop);
    }
    for (const [session, { searchedAtMs, pausedMs }] of [...this.losses]) {
      if (searchedAtMs > timers.now()) continue;
      this.losses.delete(session);
      this.reportLoss(session, pausedMs);
    }
    for (const session of this.unclaimed.takeAll()) this.claim(session);
    if (this.mustReadLosses) void this.readLosses();
    if (timers.now() - this.renewedAtMs < RENEW_MS) return;
    this.renewedAtMs = timers.now();
    void bus.renew(sessions.names());
  }

  private receive(from: string, message: SessionMessage): void {
    const { home, server } = this.peer(from);
    if (isQuestion(message)) server.asked(message);
    else home.answered(message);
  }

  private lost(from: string | undefined): void {
    if (from === undefined) this.mustReadLosses = true;
    for (const [loop, { home, server }] of this.peers) {
      if (from !== undefined && loop !== from) continue;
      home.missed();
      server.lost();
    }
    for (const [session, loop] of [...this.senders]) {
      if (from !== undefined && loop !== from) continue;
      this.senders.delete(session);
      this.options.sessions.lost(session, 'not-received');
    }
  }

  /** Ends the sessions that have lost messages of their clients while this loop could not be asked. */
  private async readLosses(): Promise<void> {
    this.mustReadLosses = false;
    const { bus, sessions } = this.options;
    try {
      for (const session of await bus.losses()) sessions.lost(session, 'not-received');
    } catch {
      this.mustReadLosses = true;
    }
  }

  private searchIn(pausedMs: number, session: string): void {
    this.losses.set(session, { searchedAtMs: this.options.timers.now() + pausedMs, pausedMs });
  }

  /** Ends a session that has lost a message of its client. Until its loop answers, this is tried again. */
  private reportLoss(session: string, pausedMs: number): void {
    const { bus, sessions } = this.options;
    bus.find(session).then(
      async (owner) => {
        if (owner === undefined) {
          if (pausedMs < SEARCHED_MAX_MS) this.searchIn(2 * pausedMs, session);
          return;
        }
        if (owner === bus.self) return sessions.lost(session, 'not-received');
        const { home } = this.peer(owner);
        if ((await home.appOf(session)) !== undefined) home.lost(session, 'not-received');
      },
      () => this.losses.set(session, { searchedAtMs: 0, pausedMs }),
    );
  }

  /** Claims a session that was opened while Redis did not answer, unless another loop has claimed it since. */
  private claim(session: string): void {
    const { bus, sessions } = this.options;
    if (!sessions.has(session)) return;
    bus.claim(session).catch(() => this.unclaimed.add(session));
  }

  /** The sessions of this loop, for another one that has found its claims. */
  private claimedFor(loop: string): LocalHome {
    const { bus, sessions } = this.options;
    return {
      receive(request, outlet) {
        // It may have been released since the other loop found it.
        if (!sessions.has(request.session)) bus.take(request.session);
        return sessions.receive(request, outlet);
      },
      appOf: (session) => {
        const app = sessions.appOf(session);
        if (app !== undefined) this.senders.set(session, loop);
        return app;
      },
      send: (request) => sessions.send(request),
      lost: (session, why) => sessions.lost(session, why),
    };
  }

  private peer(loop: string): Peer {
    const known = this.peers.get(loop);
    if (known !== undefined) return known;
    const { bus, sessions, sendBufferBytes, timers } = this.options;
    const send = (message: SessionMessage) => bus.send(loop, JSON.stringify(message));
    const peer: Peer = {
      home: new RemoteHome({
        ask: (question) => send({ type: 'session', ...question }),
        sendBufferBytes,
        timers,
        onMessageLost: (session) => this.searchIn(SEARCHED_MS, session),
        noteLoss: (session) => bus.noteLoss(loop, session),
        instead: {
          appOf: () => undefined,
          send: () => undefined,
          lost: () => undefined,
          receive(request, outlet) {
            bus.take(request.session);
            return sessions.receive(request, outlet);
          },
        },
      }),
      server: new SessionHomeServer(this.claimedFor(loop), (answer) =>
        send({ type: 'session', ...answer }),
      ),
    };
    this.peers.set(loop, peer);
    return peer;
  }
}

/** Ends a stream that this server holds for a session on another one. The client reconnects with a new session. */
export function endVisit(outlet: Outlet, problem: ConnectionProblem): void {
  const { code, message } = closeCodes[problem];
  outlet.write(closeLine(code, message));
  outlet.end();
}
