import { answer } from '../../channels/answer.ts';
import type { App } from '../../channels/app.ts';
import { EngineFailure, logFailure } from '../../channels/engine-failure.ts';
import { endsByRevocation } from '../../channels/grants/revoked-connections.ts';
import type { Hub } from '../../channels/hub.ts';
import type { ExpectedAnswer } from '../../channels/live/asked-connections.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { ConnectionQuota } from '../../channels/ports.ts';
import type { Problem } from '../../channels/problems/problem-book.ts';
import { reportProblem } from '../../channels/problems/report-problem.ts';
import type { Session } from '../../channels/subscribing/session.ts';
import { refuseWaiting } from '../../channels/subscribing/subscribe.ts';
import { KeysUnavailable } from '../../channels/users/presented-user.ts';
import type { ClientMessage } from '../../channels/wire.ts';
import { connectionEstablished, PING, PONG, readClientMessage } from '../../channels/wire.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { SharedTotal } from '../../runtime/shared-memory/shared-total.ts';
import { AddressRates } from './addresses/address-rates.ts';
import { addressOf, type PackedAddress } from './addresses/packed-address.ts';
import { ClientLibraries } from './client-libraries.ts';
import type { ClientMeter, ClientSettings } from './client-settings.ts';
import { type ConnectionProblem, closeCodes, type RefusalProblem } from './closing/close-codes.ts';
import { Departures } from './closing/departures.ts';
import { type Endable, endWith } from './closing/end.ts';
import { checkHeartbeats } from './closing/heartbeat.ts';
import { LostEventsCloser } from './closing/lost-events.ts';
import { ClientConnection } from './connection.ts';
import type { ClientConnections } from './connections.ts';
import { AnswerLimit } from './frames/answer-limit.ts';
import { FrameLimit } from './frames/frame-limit.ts';
import { FrameQueue, type FrameText } from './frames/frame-queue.ts';
import type { PublishTurns } from './frames/publish-turns.ts';
import type { SlowConsumers } from './frames/slow-consumers.ts';

interface ClientsOptions {
  readonly hub: Hub;
  readonly connections: ClientConnections;
  readonly quota: ConnectionQuota;
  readonly slowConsumers: SlowConsumers;
  readonly settings: ClientSettings;
  readonly turns?: Pick<PublishTurns, 'isFull'> | undefined;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly meter: ClientMeter;
  /** Slow connections closed on all loops of this process; `undefined`: there is one loop. */
  readonly slowConnectionsClosed?: SharedTotal | undefined;
}

/** Why a connection is refused, for the client and for the log. */
export interface RefusedClient {
  readonly problem: RefusalProblem;
  readonly message: string;
  readonly address: string;
  readonly app?: App | undefined;
  /** What operators read in place of the message. */
  readonly note?: string | undefined;
}

/** The most characters of a probe's number. */
const PROBE_LENGTH_MAX = 16;

/** In place of the deadline of an authorised connection that waits for a place in the quota of its app. */
const TAKING_PLACE = -1;

/** Takes every connection through its life, whatever carries it: admission, frames, heartbeats, limits and its end. */
export class Clients {
  readonly departures: Departures;
  readonly libraries = new ClientLibraries();
  readonly lostEvents: LostEventsCloser;

  private readonly hub: Hub;
  private readonly connections: ClientConnections;
  private readonly quota: ConnectionQuota;
  private readonly slowConsumers: SlowConsumers;
  private readonly settings: ClientSettings;
  private readonly monotonic: Clock;
  private readonly meter: ClientMeter;
  private readonly frameLimit: FrameLimit;
  private readonly answerLimit: AnswerLimit;
  private readonly frameQueue: FrameQueue;
  private readonly addressRates: AddressRates;
  /** Connections that must still be authorised, and their deadlines in monotonic milliseconds. */
  private readonly authoriseByMs = new Map<ClientConnection, number>();
  private checkedAtMs: number;
  private readonly closedOnAllLoops: SharedTotal | undefined;
  private slowConnectionsClosed = 0;

  constructor(options: ClientsOptions) {
    this.hub = options.hub;
    this.connections = options.connections;
    this.lostEvents = new LostEventsCloser(options.connections);
    this.quota = options.quota;
    this.slowConsumers = options.slowConsumers;
    this.settings = options.settings;
    this.monotonic = options.monotonic;
    this.meter = options.meter;
    this.closedOnAllLoops = options.slowConnectionsClosed;
    this.frameLimit = new FrameLimit(options.settings.framesPerSecond);
    const { turns } = options;
    this.frameQueue = new FrameQueue({
      now: () => options.monotonic.now(),
      afterTurn: (run) => void setImmediate(run),
      answer: (connection, frame) => this.answer(connection, frame),
      giveUp: (connection) => this.endForRoom(connection),
      queuedBytesMax: options.settings.frameBytes,
      isFull: turns && (() => turns.isFull),
    });
    this.addressRates = new AddressRates(options.settings.addressLimits, options.monotonic);
    this.answerLimit = new AnswerLimit({
      frames: this.frameLimit,
      addresses: this.addressRates,
      log: options.hub.rateLimitedLog,
    });
    this.departures = new Departures(options.hub, (session, error) =>
      this.logFailure(session, error),
    );
    this.checkedAtMs = options.monotonic.now();
  }

  /** Counts an attempt to connect; `false` if the address may not connect now, which is then logged and counted. */
  mayConnect(address: PackedAddress): boolean {
    const limit = this.addressRates.refuse(address);
    if (limit === undefined) return true;
    this.meter.count('connectionsRefused', 1, 'address');
    this.hub.rateLimitedLog.warn(
      'Connection refused: its address connects or sends too often',
      { address: addressOf(address) },
      {
        setting: `channels.addressLimits.${limit}`,
        limit: this.settings.addressLimits[limit],
        hint: 'If many clients share this address, name their proxy in trustedProxies or raise the limit',
      },
    );
    return false;
  }

  /** Whether `mayConnect` would refuse an address now. Counts nothing. */
  wouldRefuse(address: PackedAddress): boolean {
    return this.addressRates.wouldRefuse(address);
  }

  /** Refuses a connection: counts and logs it, and closes it with the code of the problem. */
  refuse(connection: Endable, refused: RefusedClient): void {
    const { problem, message, address, app, note: why = message } = refused;
    const { code } = closeCodes[problem];
    this.meter.count('connectionsRefused', 1, `${code}`);
    this.hub.rateLimitedLog.info('Connection refused', { app: app?.id, address }, { code, why });
    if (app !== undefined) this.noteEnd(app, problem, { text: why, address });
    // For an open connection, closing it records the problem.
    if (!(connection instanceof ClientConnection)) {
      const { advice } = closeCodes[problem];
      app?.tap?.record({ kind: 'error', code, reason: why, advice });
    }
    endWith(connection, problem, message);
  }

  /**
   * Takes a place in the app's quota for a new connection; `false` if there is none. A connection that must be
   * authorised first takes its place after that.
   */
  takePlace(app: App): MaybePromise<boolean> {
    if (app.authorizedConnectionsOnly) return true;
    return after(this.quota.take(app), (isTaken) => {
      // The app may have been changed in the meantime.
      if (isTaken && app.authorizedConnectionsOnly) this.quota.release(app);
      return isTaken;
    });
  }

  /** Gives the place of a connection back that was not opened. */
  releasePlace(app: App): void {
    if (!app.authorizedConnectionsOnly) this.quota.release(app);
  }

  /** Makes room for a new connection. If that is impossible, gives back its place, and returns the reason to refuse it. */
  makeRoomFor({ app, address }: ClientConnection): RefusedClient | undefined {
    const problem = this.overCapacity(app, address);
    if (problem === undefined) return undefined;
    this.releasePlace(app);
    return { problem, message: closeCodes[problem].message, address: addressOf(address), app };
  }

  /** Registers and greets a connection that has a place, that there is room for and that can send. */
  open(connection: ClientConnection): void {
    const { app } = connection;
    this.noteActivity(connection);
    connection.openedAtMs = connection.heardAtMs;
    if (app.authorizedConnectionsOnly) {
      const timeoutMs = this.settings.authorizationTimeoutSeconds * 1000;
      this.authoriseByMs.set(connection, connection.heardAtMs + timeoutMs);
    }
    this.connections.add(connection);
    app.tap?.record({
      kind: 'connected',
      socket: connection.socketId,
      transport: connection.transport,
    });
    this.meter.count('connectionsOpened');
    connection.send(
      connectionEstablished(
        connection.socketId,
        this.settings.activityTimeoutSeconds,
        this.libraries.asksForExtras(connection.library),
      ),
    );
  }

  /** Takes a frame of a client: answers it now or queues it, unless the client has sent too many. */
  received(connection: ClientConnection, frame: string): void {
    this.noteActivity(connection);
    this.meter.count('messagesReceived');
    this.meter.count('receivedBytes', Buffer.byteLength(frame));
    if (!this.mayAnswer(connection, frame.length)) return;
    this.frameQueue.arrived(connection, frame, connection.heardAtMs);
  }

  /** Counts a frame that carries no message, for example a ping of the WebSocket protocol. */
  receivedControl(connection: ClientConnection, bytes: number): void {
    this.noteActivity(connection);
    this.mayAnswer(connection, bytes);
  }

  /** Takes a pong of the WebSocket protocol. Only those that were not asked for count as frames. */
  receivedPong(connection: ClientConnection, payload: Uint8Array): void {
    const isOwed =
      payload.length <= PROBE_LENGTH_MAX &&
      this.hub.asked.pong(connection, Buffer.from(payload).toString('latin1'));
    if (isOwed) this.noteActivity(connection);
    else this.receivedControl(connection, payload.length);
  }

  /** Asks a client to answer, behind everything that it was sent. Clients of pusher-js answer when their handlers have run. */
  probe(connection: ClientConnection, number: number): ExpectedAnswer {
    if (!connection.isOpen) return undefined;
    const isPusherJs =
      this.libraries.of(connection.library)?.name === 'js' ||
      this.libraries.asksForExtras(connection.library);
    let isPingEnough = false;
    connection.inOneWrite(() => {
      isPingEnough = connection.ping(String(number)) && !isPusherJs;
      if (!isPingEnough) connection.send(PING);
    });
    if (isPingEnough) return 'pong';
    connection.pongsOwed++;
    // The answer costs the client nothing: it was asked for.
    connection.frameDebt = Math.max(0, connection.frameDebt - 1);
    return connection.pongsOwed;
  }

  /** Charges the address of a client whose connection was never opened for what it has cost. */
  notOpened(connection: ClientConnection): void {
    this.addressRates.count(connection.address, connection.frameDebt);
  }

  /** Forgets a closed connection, and removes it from its channels. Returns whether it was a slow consumer. */
  closed(connection: ClientConnection): boolean {
    // Before its departure is published: that may make the slow consumers be looked for again.
    const wasTooSlow = this.slowConsumers.wasTooSlow(connection);
    connection.app.tap?.record({
      kind: 'disconnected',
      socket: connection.socketId,
      user: connection.user?.id,
      transport: connection.transport,
    });
    this.hub.asked.closed(connection);
    this.connections.remove(connection);
    if (!this.authoriseByMs.delete(connection)) this.quota.release(connection.app);
    this.frameQueue.forget(connection);
    this.addressRates.count(connection.address, connection.frameDebt);
    this.answerLimit.closed(connection);
    this.departures.add(connection);
    return wasTooSlow;
  }

  /** Counts and logs a connection that was closed because it read too slowly. */
  closedTooSlow({ app, address, socketId }: ClientConnection): void {
    app.tap?.record({
      kind: 'slow',
      socket: socketId,
      reason: `Closed with 1006: more than ${this.settings.sendBufferBytes} bytes waited for it`,
      advice: 'Subscribe to less, or raise `channels.sendBufferBytes`.',
    });
    this.slowConnectionsClosed++;
    this.closedOnAllLoops?.set(this.slowConnectionsClosed);
    this.meter.count('slowConnectionsClosed');
    this.hub.problems.note(app, {
      source: 'connection',
      kind: 'slow',
      text: 'The client read too slowly',
      advice: 'Send it less, in fewer events, or raise `channels.sendBufferBytes`.',
      socket: socketId,
      address: addressOf(address),
    });
    this.hub.rateLimitedLog.warn(
      'Connection closed: it read too slowly',
      { app: app.id },
      {
        address: addressOf(address),
        connection: socketId,
        limitBytes: this.settings.sendBufferBytes,
        closedSoFar: this.slowConnectionsClosed + (this.closedOnAllLoops?.others ?? 0),
      },
    );
  }

  /**
   * Checks the next of `parts` parts of the connections: refills their rates, pings silent clients, and closes
   * connections that stay silent or were not authorised in time.
   */
  checkPart(parts: number): void {
    const nowMs = this.monotonic.now();
    // Each connection is visited once in `parts` calls.
    const seconds = (parts * (nowMs - this.checkedAtMs)) / 1000;
    this.checkedAtMs = nowMs;
    const part = this.connections.nextPart(parts);
    for (const connection of part) {
      // Frames that wait behind a subscription or a token are not paid for, so that their number stays bounded.
      const isWaiting =
        this.answerLimit.isWaiting(connection) || this.hub.tokenTurns.isWaiting(connection);
      if (!isWaiting) this.payFrames(connection, seconds);
      this.answerLimit.pay(connection, seconds);
      connection.secondsPassed(seconds);
      // A late engine must not make the client give its connection up.
      const pings = this.frameQueue.takeLate(connection, isPing);
      for (let n = 0; n < pings; n++) connection.send(PONG);
      if (connection.grants !== undefined) this.checkGrants(connection);
    }
    for (const [connection, byMs] of this.authoriseByMs) {
      // In the order of their deadlines.
      if (nowMs < byMs) break;
      if (connection.isOpen) this.checkAuthorised(connection, nowMs);
    }
    checkHeartbeats(part, nowMs, this.settings, (connection, problem) =>
      endWith(connection, problem),
    );
  }

  /** Ends what hangs on grants that have ended, and what has waited too long for a sign-in. */
  private checkGrants(connection: ClientConnection): void {
    if (!connection.isOpen) return;
    refuseWaiting(this.hub, connection);
    if (endsByRevocation(this.hub, connection)) {
      this.meter.count('grantsEnded', 1, 'revoked');
      endWith(connection, 'grant-revoked');
    } else if (connection.grants?.hasEnded(this.hub.clock.now()) === true) {
      this.meter.count('grantsEnded', 1, 'expired');
      endWith(connection, 'grant-expired');
    }
  }

  private payFrames(connection: ClientConnection, seconds: number): void {
    const frames = this.frameLimit.pay(connection, seconds);
    const isAddressWithinLimit = this.addressRates.count(connection.address, frames);
    // Others of the address are spared: it may be that of a whole network.
    if (!isAddressWithinLimit && this.frameLimit.isBehind(connection)) this.flooding(connection);
  }

  /** Ends a connection with many subscriptions of an app, because another app needs room. */
  endConnectionOf(appId: string): void {
    const connection = this.connections.findLarge(appId);
    if (connection !== undefined) this.endForRoom(connection);
  }

  /** Ends the connections of some apps. */
  endAll(apps: ReadonlySet<App>, problem: ConnectionProblem): void {
    if (apps.size === 0) return;
    for (const connection of this.connections.all()) {
      if (apps.has(connection.app)) endWith(connection, problem);
    }
  }

  /** Ends every connection that is signed in as the user. */
  terminate(app: App, userId: string): void {
    for (const { socketId } of this.hub.sessions.of(app, userId)) {
      const connection = this.connections.get(socketId);
      if (connection !== undefined) endWith(connection, 'terminated');
    }
  }

  private overCapacity(app: App, address: PackedAddress): RefusalProblem | undefined {
    const room = this.connections.roomFor(app, address);
    if (room === 'room') return undefined;
    if (room === 'full') return 'server-over-capacity';
    this.endForRoom(room);
    return undefined;
  }

  /** Closes a connection of the largest app or address, because another needs room. */
  endForRoom(connection: ClientConnection): void {
    const { app, address, socketId } = connection;
    this.hub.rateLimitedLog.warn(
      'Connection closed: the server is full, and its app or address has the most connections',
      { app: app.id },
      { address: addressOf(address), connection: socketId, connections: this.connections.size },
    );
    this.meter.count('connectionsRefused', 1, `${closeCodes['server-over-capacity'].code}`);
    endWith(connection, 'server-over-capacity');
    // A client that does not answer the close would keep its descriptor.
    connection.terminate();
  }

  /**
   * Closes a connection that is not authorised in time; otherwise it then takes its place in the quota. Source: §8.5.
   */
  private checkAuthorised(connection: ClientConnection, nowMs: number): void {
    const byMs = this.authoriseByMs.get(connection);
    if (byMs === undefined || byMs === TAKING_PLACE) return;
    if (!connection.authorised) {
      if (nowMs < byMs) return;
      this.noteEndOf(connection, 'not-authorised-in-time');
      endWith(connection, 'not-authorised-in-time');
      return;
    }
    this.authoriseByMs.set(connection, TAKING_PLACE);
    void after(this.quota.take(connection.app), (isTaken) => this.placed(connection, isTaken));
  }

  private placed(connection: ClientConnection, isTaken: boolean): void {
    if (!isTaken) return endWith(connection, 'app-over-quota');
    // It may have closed in the meantime.
    if (!this.authoriseByMs.delete(connection)) this.quota.release(connection.app);
  }

  /** Answers one frame. Never rejects: all failures during an answer are handled here. */
  private answer(connection: ClientConnection, frame: FrameText): MaybePromise<void> {
    if (frame === null) {
      const { framesPerSecond } = this.settings;
      const message = `Message rejected due to rate limit: at most ${framesPerSecond} per second`;
      return reportProblem(this.hub, connection, { problem: 'frame-rate', message });
    }
    try {
      const message = readClientMessage(frame);
      // Many that verify tokens may have been accepted before the first of them was charged.
      if (connection.app.grants !== undefined && this.frameLimit.isOver(connection)) {
        return this.flooding(connection);
      }
      // Before an engine is asked, because finding the answer is work for the engine.
      const turn = message.type === 'subscribe' ? this.answerLimit.turn(connection) : undefined;
      if (turn instanceof Promise) return this.answeredAfter(turn, connection, message);
      const answered = answer(this.hub, connection, message);
      if (answered instanceof Promise) return this.answeredAfter(answered, connection);
      this.answered(connection);
    } catch (error) {
      this.failed(connection, error);
    }
  }

  /** Apart from `answer`, which makes no functions for what is answered in one turn, as nearly everything is. */
  private async answeredAfter(
    before: Promise<void>,
    connection: ClientConnection,
    message?: ClientMessage,
  ): Promise<void> {
    try {
      await before;
      if (message !== undefined) await answer(this.hub, connection, message);
      this.answered(connection);
    } catch (error) {
      this.failed(connection, error);
    }
  }

  /** Runs what lets a connection into a channel for which it has sent no frame, once it may be sent more. Never rejects. */
  async enter(connection: ClientConnection, run: () => MaybePromise<void>): Promise<void> {
    try {
      await this.answerLimit.turn(connection);
      if (!connection.isOpen) return;
      await run();
      if (connection.isOpen) this.answered(connection);
    } catch (error) {
      this.failed(connection, error);
    }
  }

  private answered(connection: ClientConnection): void {
    this.checkAuthorised(connection, connection.heardAtMs);
    this.slowConsumers.answered(connection);
  }

  /** Counts a frame; `false` if the connection has sent too many. */
  private mayAnswer(connection: ClientConnection, bytes: number): boolean {
    const verdict = this.frameLimit.count(connection, bytes);
    if (verdict === 'answer') return true;
    if (verdict === 'drop') return false;
    // The warning is queued, so that it follows the answers to earlier frames.
    if (verdict === 'warn') this.frameQueue.arrived(connection, null, connection.heardAtMs);
    else this.flooding(connection);
    return false;
  }

  private flooding(connection: ClientConnection): void {
    const { app, address, socketId } = connection;
    const { framesPerSecond } = this.settings;
    this.meter.count('floodingConnectionsClosed');
    this.hub.rateLimitedLog.info(
      'Connection closed: it went on sending too many frames',
      { app: app.id },
      { address: addressOf(address), connection: socketId, framesPerSecond },
    );
    this.noteEndOf(connection, 'too-many-frames');
    endWith(connection, 'too-many-frames');
  }

  private noteEndOf(connection: ClientConnection, problem: ConnectionProblem): void {
    const { app, socketId: socket, user, address } = connection;
    this.noteEnd(app, problem, { socket, user: user?.id, address: addressOf(address) });
  }

  private noteEnd(
    app: App,
    problem: ConnectionProblem,
    { text, ...whose }: Partial<Problem>,
  ): void {
    const { message, advice } = closeCodes[problem];
    this.hub.problems.note(app, {
      source: 'connection',
      kind: problem,
      text: text ?? message,
      advice,
      ...whose,
    });
  }

  /** Closes the connection. Its departure undoes what the message had done so far. */
  private failed(connection: ClientConnection, error: unknown): void {
    if (error instanceof KeysUnavailable) {
      this.noteEndOf(connection, 'issuer-unreachable');
      return endWith(connection, 'issuer-unreachable');
    }
    this.logFailure(connection, error);
    endWith(connection, error instanceof EngineFailure ? 'engine-failed' : 'internal');
  }

  private logFailure({ app, socketId }: Session, error: unknown): void {
    logFailure(this.hub.rateLimitedLog, error, {
      message: 'A message failed inside the server',
      whose: { app: app.id },
      fields: { connection: socketId },
    });
  }

  /** Notes that the client has sent something, so that it is not pinged. */
  noteActivity(connection: ClientConnection): void {
    connection.heardAtMs = this.monotonic.now();
    connection.pingedAtMs = 0;
  }
}

function isPing(frame: string): boolean {
  return readClientMessage(frame).type === 'ping';
}
