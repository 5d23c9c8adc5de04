import { after } from '../../channels/maybe-promise.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import type { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import type { Timers } from '../../runtime/ports.ts';
import { addressOf } from '../clients/addresses/packed-address.ts';
import { type Admitted, admitKey } from '../clients/admission.ts';
import type { Clients, RefusedClient } from '../clients/clients.ts';
import { closeCodes, type RefusalProblem } from '../clients/closing/close-codes.ts';
import { endWith } from '../clients/closing/end.ts';
import type { ClientConnections } from '../clients/connections.ts';
import { FlushTurns } from '../clients/frames/flush-turns.ts';
import type { HttpRoom } from '../clients/http-room.ts';
import { SMALL_ANSWER } from '../response-body.ts';
import type { UnreadAnswer, UnreadAnswers } from '../unread-answers.ts';
import {
  FallbackConnection,
  type SentMessages,
  type SessionEnd,
  type SessionEvents,
} from './fallback-connection.ts';
import type {
  LocalSessions,
  Loss,
  ReceiveRequest,
  SessionSendRequest,
} from './homes/session-home.ts';
import { closeLine, OPENED } from './lines.ts';
import { type Outlet, Receiver } from './receiver.ts';
import { RecentSessions } from './recent-sessions.ts';
import { ResponseEnd, type ResponseEnded } from './response-end.ts';

/** How long a session lives without a receive request, and how long a close waits for one. Milliseconds. Source: §10.2. */
const ALONE_MS = 10_000;

/** A response that is silent for this long gets a line: proxies cut from 30 s on. Milliseconds. Source: §9. */
const SILENT_MS = 25_000;

/** A receive request that may open a session. */
interface Opening {
  readonly request: ReceiveRequest;
  readonly receiver: Receiver;
  /** Whether its first poll was answered. */
  readonly isGreeted: boolean;
}

/** What sessions need of the connections of this loop. */
export type SessionClients = Pick<
  Clients,
  | 'mayConnect'
  | 'wouldRefuse'
  | 'refuse'
  | 'takePlace'
  | 'releasePlace'
  | 'makeRoomFor'
  | 'open'
  | 'noteActivity'
  | 'libraries'
  | 'received'
  | 'receivedControl'
  | 'closed'
  | 'closedTooSlow'
>;

export interface HttpSessionsOptions {
  readonly clients: SessionClients;
  readonly apps: AppDirectory;
  /** The connections of this loop, whatever carries them. */
  readonly connections: ClientConnections;
  /** The room for connections over HTTP on this loop. */
  readonly room: HttpRoom;
  readonly sendBufferBytes: number;
  /** Has what waits for closed sessions. */
  readonly unread: UnreadAnswers;
  /** Monotonic. */
  readonly timers: Timers;
  readonly afterTurn: (run: () => void) => void;
  /** The share of a core that this loop used recently, from 0 to 1. */
  readonly busyShare: (nowMs: number) => number;
  readonly log: Pick<RateLimitedLog, 'info'>;
  readonly meter: SessionMeter;
  /** Called when a session is not known here any more, or was not opened although it might have been. */
  readonly onForgotten?: (session: string) => void;
  /** See `SessionHomes`. */
  readonly afterArrivals: (run: () => void) => void;
}

/** Counts opened sessions by their transport. */
export interface SessionMeter {
  readonly count: (
    counter: 'fallbackConnectionsOpened',
    by: number,
    transport: 'xhr_streaming' | 'xhr_polling',
  ) => void;
}

/** The sessions that live on this loop. */
export class HttpSessions implements LocalSessions, SessionEvents {
  readonly timers: Timers;
  private readonly options: HttpSessionsOptions;
  private readonly clients: SessionClients;
  private readonly open = new Map<string, FallbackConnection>();
  /**
   * Sessions whose first poll was answered. They are no connections yet, because a client that has just learned that its
   * session is lost also sends such a poll.
   */
  private readonly halfOpen = new RecentSessions((session) => this.dropped(session));
  /** Sessions that have ended, so that a late copy of one of their requests does not open them again. */
  private readonly over = new RecentSessions((session) => this.dropped(session));
  private readonly flushTurns: FlushTurns<FallbackConnection>;
  /** Sessions that are connections. */
  private connected = 0;
  /** Sessions whose first request waits for a place, with the later requests of each. */
  private readonly placing = new Map<string, (() => void)[]>();
  /** What waits for closed sessions, which are no connections any more. */
  private readonly unread = new Map<FallbackConnection, UnreadAnswer>();
  private isStopping = false;

  constructor(options: HttpSessionsOptions) {
    this.options = options;
    this.timers = options.timers;
    this.clients = options.clients;
    this.flushTurns = new FlushTurns({
      now: () => options.timers.now(),
      busyShare: options.busyShare,
      afterTurn: options.afterTurn,
      after: (delayMs, run) => options.timers.after(delayMs, run),
      flush: (connection) => this.flush(connection),
    });
  }

  get isPausing(): boolean {
    return this.flushTurns.isPausing;
  }

  /** Open connections. */
  get size(): number {
    return this.connected;
  }

  /** Closed sessions whose clients do not have the closing line yet. */
  get closing(): number {
    return this.open.size - this.connected;
  }

  receive(request: ReceiveRequest, outlet: Outlet): ResponseEnded {
    const earlier = this.placing.get(request.session);
    if (earlier === undefined) return this.receiveNow(request, outlet);
    // One of two first requests opens the session, and the other one continues it.
    const end = new ResponseEnd();
    earlier.push(() => {
      if (!end.isOver) end.passTo(this.receive(request, outlet));
    });
    return end.ended;
  }

  private receiveNow(request: ReceiveRequest, outlet: Outlet): ResponseEnded {
    const { session, isStream, number } = request;
    const receiver = new Receiver(outlet, { isStream, nowMs: this.timers.now() });
    const ungreeted: Opening = { request, receiver, isGreeted: false };
    const known = this.open.get(session);
    if (known !== undefined) return this.receiveAgain(known, ungreeted);
    if (isOlder(number, this.halfOpen.numberOf(session))) return overtaken(receiver);
    if (this.isLate(request)) {
      this.writeRefusal(ungreeted, 'message-lost');
      return nothing;
    }
    const polled = this.halfOpen.take(session);
    const isGreeted = polled !== undefined && !isRepeated(number, polled.number);
    const opening: Opening = { request, receiver, isGreeted };
    if (!opening.isGreeted && !this.clients.mayConnect(request.address)) {
      this.writeRefusal(opening, 'server-over-capacity');
      return nothing;
    }
    const admitted = this.admit(opening);
    if (admitted === undefined) return nothing;
    const { app } = admitted;
    const end = new ResponseEnd();
    const later: (() => void)[] = [];
    this.placing.set(session, later);
    void after(this.clients.takePlace(app), (hasPlace) => {
      this.placing.delete(session);
      // The client may have disconnected in the meantime, and the app may have been changed.
      if (!end.isOver && this.admit(opening)?.app === app)
        end.passTo(this.placed(opening, admitted, hasPlace));
      else if (hasPlace) this.clients.releasePlace(app);
      for (const receive of later) receive();
      if (!this.has(session)) this.forgotten(session);
    });
    return end.ended;
  }

  /** Whether a session is known here, open or not. */
  has(session: string): boolean {
    return (
      this.open.has(session) ||
      this.placing.has(session) ||
      this.halfOpen.has(session) ||
      this.over.has(session)
    );
  }

  /** The sessions that are open, or that have closed a moment ago. */
  names(): readonly string[] {
    return [...this.open.keys()];
  }

  appOf(session: string): string | undefined {
    const connection = this.open.get(session);
    return connection?.isOpen === true ? connection.app.id : undefined;
  }

  send({ session, number, frames }: SessionSendRequest): void {
    const connection = this.open.get(session);
    if (connection?.isOpen !== true) return;
    this.clients.noteActivity(connection);
    connection.order.arrived(number, { frames });
  }

  lost(session: string, loss: Loss): void {
    const connection = this.open.get(session);
    if (connection?.isOpen !== true) return;
    const { app, socketId } = connection;
    const address = addressOf(connection.address);
    if (loss === 'not-received') {
      this.options.log.info(
        'Connection closed: a message of the client did not arrive in full',
        { app: app.id },
        { address, connection: socketId },
      );
      return endWith(connection, 'message-lost');
    }
    const why = 'Received too big message';
    this.options.log.info(
      'Connection closed: the client broke a rule',
      { app: app.id },
      { address, connection: socketId, why },
    );
    connection.close(1009, why);
  }

  /** Whether a receive request of a session that is unknown here may open one, judged without asking other loops. */
  mayOpen({ key, query, origin, address }: ReceiveRequest): boolean {
    const { problem } = admitKey(key, { query, origin }, this.options.apps);
    return problem === undefined && !this.clients.wouldRefuse(address);
  }

  /** Refuses new sessions from now on. */
  stop(): void {
    this.isStopping = true;
  }

  /** Ends sessions without requests, and keeps silent responses alive. Called once a second. */
  check(): void {
    const nowMs = this.timers.now();
    this.halfOpen.check(nowMs);
    this.over.check(nowMs);
    for (const connection of this.open.values()) {
      if (connection.isStuck(nowMs)) this.forget(connection, 'too-slow');
      else if (connection.isReceiving) connection.keepAlive(nowMs - SILENT_MS);
      else if (connection.isLeaving) continue;
      else if (nowMs - connection.aloneSinceMs >= ALONE_MS) this.forget(connection);
    }
  }

  queued(connection: FallbackConnection): void {
    this.flushTurns.add(connection);
  }

  sent(connection: FallbackConnection, { frames }: SentMessages): void {
    if (frames.length === 0) {
      this.clients.receivedControl(connection, 0);
      connection.oweLine();
    }
    for (const frame of frames) {
      if (!connection.isOpen) return;
      this.clients.received(connection, frame);
    }
  }

  ended(connection: FallbackConnection, how: SessionEnd): void {
    const wasTooSlow = this.clients.closed(connection);
    this.options.room.remove(connection);
    this.connected--;
    if (how === 'too-slow' || (how === 'terminated' && wasTooSlow)) {
      this.clients.closedTooSlow(connection);
    }
    if (how === 'closed') this.keepUnread(connection);
    else this.remove(connection);
  }

  closeSent(connection: FallbackConnection): void {
    this.remove(connection);
  }

  afterArrivals(run: () => void): void {
    this.options.afterArrivals(run);
  }

  /**
   * Whether a receive request is a copy that arrives late. If it opened the session again, the client's next request would
   * continue there: without a subscription, and without an `o` that says so.
   */
  private isLate({ session, number, isStream }: ReceiveRequest): boolean {
    const last = this.over.numberOf(session);
    // A client may wait for a copy of its last stream. That answer begins with `o`.
    return isStream ? isOlder(number, last) : isRepeated(number, last);
  }

  private receiveAgain(connection: FallbackConnection, opening: Opening): ResponseEnded {
    const { receiver } = opening;
    const { number } = opening.request;
    const { order, lastReceive } = connection;
    if (isRepeated(number, lastReceive)) {
      if (number !== undefined && number !== lastReceive && !order.hasUsed(number)) {
        order.receiving(number);
        return overtaken(receiver);
      }
      // What was written to the last one may be lost. Those before were read, or there would be no later one.
      if (number === lastReceive) this.forget(connection);
      this.writeRefusal(opening, 'message-lost');
      return nothing;
    }
    connection.lastReceive = number;
    this.clients.noteActivity(connection);
    // Requests that replace one another cost the server more than the client.
    if (connection.isReceiving) this.clients.receivedControl(connection, 0);
    order.receiving(number);
    connection.attach(receiver);
    return (why) => connection.detach(receiver, why);
  }

  /** Decides whether a client may have a session; if not, sends it the reason. */
  private admit(opening: Opening): Admitted | undefined {
    const { key, query, origin, address } = opening.request;
    const admission = admitKey(key, { query, origin }, this.options.apps);
    if (admission.problem !== undefined) {
      this.refuse(opening, { ...admission, address: addressOf(address) });
      return undefined;
    }
    // Not 4200: the client would come back within milliseconds.
    if (!this.isStopping) return admission;
    this.writeRefusal(opening, 'server-over-capacity');
    return undefined;
  }

  /** Goes on once the quota of the app has answered. */
  private placed(opening: Opening, admitted: Admitted, hasPlace: boolean): ResponseEnded {
    const { app } = admitted;
    const { request, receiver, isGreeted } = opening;
    const { session, isStream } = request;
    if (!hasPlace) {
      const problem = 'app-over-quota';
      const address = addressOf(request.address);
      this.refuse(opening, { problem, message: closeCodes[problem].message, address, app });
      return nothing;
    }
    const known = this.open.get(session);
    if (isStream || isGreeted) {
      if (known === undefined) return this.openSession(opening, admitted);
      // Another request of the session was faster.
      this.clients.releasePlace(app);
      return this.receiveAgain(known, opening);
    }
    // Only the second poll takes a place: before it, there is no connection.
    this.clients.releasePlace(app);
    this.halfOpen.add(session, { ...request, nowMs: this.timers.now() });
    receiver.write(OPENED, this.timers.now());
    receiver.end();
    return nothing;
  }

  private openSession(opening: Opening, { app, keyUse }: Admitted): ResponseEnded {
    const { clients } = this;
    const { request, receiver, isGreeted } = opening;
    const { session, address, number } = request;
    const connection = new FallbackConnection({
      app,
      firstHalf: this.options.connections.newFirstHalf(),
      address,
      library: clients.libraries.numberOf(request.query),
      keyUse,
      session,
      events: this,
    });
    const full = this.options.room.makeFor(connection);
    if (full !== undefined) clients.releasePlace(app);
    const refused = full ?? clients.makeRoomFor(connection);
    if (refused !== undefined) {
      this.refuse(opening, refused);
      return nothing;
    }
    if (!isGreeted) receiver.write(OPENED, this.timers.now());
    this.open.set(session, connection);
    this.options.room.add(connection);
    this.connected++;
    connection.lastReceive = number;
    connection.order.receiving(number);
    connection.attach(receiver);
    clients.open(connection);
    const transport = receiver.isPoll ? 'xhr_polling' : 'xhr_streaming';
    this.options.meter.count('fallbackConnectionsOpened', 1, transport);
    return (why) => connection.detach(receiver, why);
  }

  private refuse(opening: Opening, refused: RefusedClient): void {
    this.clients.refuse(
      {
        // The closing line carries the same information.
        send: nothing,
        close: (code, reason) => this.writeClose(opening, closeLine(code, reason)),
      },
      refused,
    );
  }

  private writeRefusal(opening: Opening, problem: RefusalProblem): void {
    const { code, message } = closeCodes[problem];
    this.writeClose(opening, closeLine(code, message));
  }

  private writeClose({ receiver, isGreeted }: Opening, line: string): void {
    receiver.write(isGreeted ? line : `${OPENED}${line}`, this.timers.now());
    receiver.end();
  }

  private flush(connection: FallbackConnection): void {
    if (connection.flushBehind() > this.options.sendBufferBytes) connection.drop('too-slow');
  }

  private forget(connection: FallbackConnection, how: SessionEnd = 'left'): void {
    connection.drop(how);
    this.remove(connection);
  }

  /** A closed session is no connection whose bytes are counted, but its client may still read what waits for it. */
  private keepUnread(connection: FallbackConnection): void {
    if (connection.waitingBytes() <= SMALL_ANSWER) return;
    const answer: UnreadAnswer = {
      owner: connection.app.id,
      waitingBytes: () => connection.waitingBytes(),
      break: () => this.forget(connection),
    };
    if (!this.options.unread.hold(answer)) return this.forget(connection);
    this.unread.set(connection, answer);
  }

  private remove(connection: FallbackConnection): void {
    const { session, address, lastReceive: number } = connection;
    const answer = this.unread.get(connection);
    if (answer !== undefined) this.options.unread.release(answer);
    this.unread.delete(connection);
    if (!this.open.delete(session)) return;
    if (this.isStopping || number === undefined) this.forgotten(session);
    else this.over.add(session, { address, number, nowMs: this.timers.now() });
  }

  private dropped(session: string): void {
    if (!this.has(session)) this.forgotten(session);
  }

  private forgotten(session: string): void {
    this.options.onForgotten?.(session);
  }
}

/** Ends a receive request that has arrived behind a newer one of its session, which the client reads. */
function overtaken(receiver: Receiver): ResponseEnded {
  receiver.end();
  return nothing;
}

/** Whether a browser or a proxy has sent a receive request again: a client counts its requests up, one after the other. */
function isRepeated(number: number | undefined, last: number | undefined): boolean {
  return number !== undefined && last !== undefined && number <= last;
}

function isOlder(number: number | undefined, last: number | undefined): boolean {
  return number !== last && isRepeated(number, last);
}

function nothing(): void {
  // There is no session whose request could end.
}
