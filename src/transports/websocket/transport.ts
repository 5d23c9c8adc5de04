import type { Serve, Server } from 'bun';
import { answer } from '../../channels/answer.ts';
import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { reportProblem } from '../../channels/report-problem.ts';
import { newHalf } from '../../channels/socket-id.ts';
import { connectionEstablished, errorMessage, readClientMessage } from '../../channels/wire.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { ClientAddresses } from '../client-address.ts';
import { type AddressLimits, AddressRates } from '../clients/address-rates.ts';
import { admit, knownSubprotocol } from '../clients/admission.ts';
import { type ConnectionProblem, closeCodes } from '../clients/close-codes.ts';
import type { Connections } from '../clients/connections.ts';
import { Departures } from '../clients/departures.ts';
import { FrameLimit } from '../clients/frame-limit.ts';
import { type Frame, FrameQueue } from '../clients/frame-queue.ts';
import { checkHeartbeats, type HeartbeatTimes } from '../clients/heartbeat.ts';
import { addressOf, type PackedAddress, packAddress } from '../clients/packed-address.ts';
import type { RequestTarget } from '../request-target.ts';
import type { HoldBack } from './coalescing/hold-back.ts';
import {
  type AnySocket,
  Connection,
  type ConnectionData,
  isAdmitted,
  RefusedConnection,
  type Socket,
} from './connection.ts';
import type { SlowConsumers } from './slow-consumers.ts';

export interface WebSocketSettings extends HeartbeatTimes {
  readonly pathPrefix: string;
  readonly clientFrameBytes: number;
  /** 0: no limit. */
  readonly framesPerSecond: number;
  readonly addressLimits: AddressLimits;
  readonly sendBufferBytes: number;
  readonly authorizationTimeoutSeconds: number;
}

/** What this transport counts. */
export interface TransportMeter {
  count(
    counter:
      | 'connectionsOpened'
      | 'connectionsRefused'
      | 'slowConnectionsClosed'
      | 'floodingConnectionsClosed'
      | 'messagesReceived'
      | 'receivedBytes',
    by?: number,
    label?: string,
  ): void;
}

export interface TransportOptions {
  readonly hub: Hub;
  readonly apps: AppDirectory;
  readonly connections: Connections;
  readonly slowConsumers: SlowConsumers;
  readonly holdBack: HoldBack;
  readonly settings: WebSocketSettings;
  readonly addresses: ClientAddresses;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly meter: TransportMeter;
}

/** Everything a connection goes through, from the handshake to its end. */
export class WebSocketTransport {
  /** How many connections were closed since the start because they read too slowly. */
  slowConnectionsClosed = 0;

  private readonly hub: Hub;
  private readonly apps: AppDirectory;
  private readonly connections: Connections;
  private readonly slowConsumers: SlowConsumers;
  private readonly holdBack: HoldBack;
  private readonly settings: WebSocketSettings;
  private readonly addresses: ClientAddresses;
  private readonly monotonic: Clock;
  private readonly meter: TransportMeter;
  private readonly frames: FrameLimit;
  private readonly frameQueue: FrameQueue;
  private readonly addressRates: AddressRates;
  readonly departures: Departures;
  /** Those that must still be authorised, and by when. Monotonic milliseconds. */
  private readonly authoriseByMs = new Map<Socket, number>();
  private checkedAtMs: number;

  constructor(options: TransportOptions) {
    this.hub = options.hub;
    this.apps = options.apps;
    this.connections = options.connections;
    this.slowConsumers = options.slowConsumers;
    this.holdBack = options.holdBack;
    this.settings = options.settings;
    this.addresses = options.addresses;
    this.monotonic = options.monotonic;
    this.meter = options.meter;
    this.frames = new FrameLimit(options.settings.framesPerSecond);
    this.frameQueue = new FrameQueue({
      now: () => options.monotonic.now(),
      afterTurn: (run) => void setImmediate(run),
      answer: (socket, frame) => this.answer(socket, frame),
      giveUp: (socket) => this.makeRoom(socket),
    });
    this.addressRates = new AddressRates(options.settings.addressLimits, options.monotonic);
    this.departures = new Departures(options.hub);
    this.checkedAtMs = options.monotonic.now();
  }

  /**
   * Takes over a request that asks for a WebSocket, unless it is no valid handshake (`'invalid'`), or its address may not
   * connect now (`'too-often'`, which is logged and counted).
   */
  upgrade(
    server: Server<ConnectionData>,
    request: Request,
    target: RequestTarget,
  ): 'taken' | 'invalid' | 'too-often' {
    const client = this.clientOf(server, request);
    const address = packAddress(client);
    const limit = this.addressRates.refuse(address);
    if (limit !== undefined) {
      this.tooOften(client, limit);
      return 'too-often';
    }
    const data = this.connectionOf(server, target, client, address);
    const offered = request.headers.get('sec-websocket-protocol');
    // Said even where it is none of them: left to itself, Bun accepts the first one, whatever it is.
    const headers =
      offered === null ? undefined : { 'sec-websocket-protocol': knownSubprotocol(offered) ?? '' };
    const isTaken =
      headers === undefined
        ? server.upgrade(request, { data })
        : server.upgrade(request, { data, headers });
    return isTaken ? 'taken' : 'invalid';
  }

  /** What Bun calls. */
  handlers(): Serve.Options<ConnectionData>['websocket'] & object {
    return {
      // Silence is this server's business: Bun's own timer would count its pings as activity.
      idleTimeout: 0,
      sendPings: false,
      maxPayloadLength: this.settings.clientFrameBytes,
      backpressureLimit: this.settings.sendBufferBytes,
      closeOnBackpressureLimit: true,
      open: (socket) => this.open(socket),
      message: (socket, frame) => this.message(socket, frame),
      ping: (socket, payload) => this.controlFrame(socket, payload),
      pong: (socket, payload) => this.controlFrame(socket, payload),
      close: (socket, code, reason) => this.closed(socket, code, reason),
    };
  }

  /**
   * Looks after the next of `parts` parts of the connections: lets them send again what their rates allow, ends those
   * that were not authorised in time, pings silent clients, and ends those that stay silent.
   */
  checkPart(parts: number): void {
    const nowMs = this.monotonic.now();
    // Each connection is looked at once in as many calls.
    const seconds = (parts * (nowMs - this.checkedAtMs)) / 1000;
    this.checkedAtMs = nowMs;
    const part = this.connections.nextPart(parts);
    for (const socket of part) {
      const { data } = socket;
      const mayGoOn = this.addressRates.count(data.address, this.frames.pay(data, seconds));
      // Those that send no more than others do are left alone: they may have the address of a whole network.
      if (!mayGoOn && this.frames.isBehind(data)) this.flooding(socket);
      data.allowAttempts(seconds);
    }
    for (const [socket, byMs] of this.authoriseByMs) {
      // They are in the order of their times.
      if (nowMs < byMs) break;
      if (socket.readyState === WebSocket.OPEN) this.checkAuthorised(socket, nowMs);
    }
    checkHeartbeats(part, nowMs, this.settings, (socket, problem) => this.end(socket, problem));
  }

  /** Settles when every connection that has ended has left its channels. */
  async departed(): Promise<void> {
    await this.departures.done();
  }

  /** Ends a connection of an app that has more subscriptions than most: another app needs room. */
  endConnectionOf(appId: string): void {
    const socket = this.connections.findLarge(appId);
    if (socket !== undefined) this.makeRoom(socket);
  }

  /** Ends the connections of some apps. */
  endAll(apps: ReadonlySet<App>, problem: ConnectionProblem): void {
    if (apps.size === 0) return;
    for (const socket of this.connections.all()) {
      if (apps.has(socket.data.app)) this.end(socket, problem);
    }
  }

  /** Ends every connection that is signed in as the user. */
  terminate(app: App, userId: string): void {
    for (const { socketId } of this.hub.sessions.of(app, userId)) {
      const socket = this.connections.get(socketId);
      if (socket !== undefined) this.end(socket, 'terminated');
    }
  }

  /** Ends one connection with the code and the words of a problem. */
  end(socket: AnySocket, problem: ConnectionProblem, message = closeCodes[problem].message): void {
    const { code } = closeCodes[problem];
    // What was published before its end is still for it.
    this.holdBack.flush();
    // The .NET client reads the event, and others the close; pusher-js copes with both.
    if (code >= 4000) socket.send(errorMessage(code, message));
    socket.close(code, message);
  }

  private connectionOf(
    server: Server<ConnectionData>,
    target: RequestTarget,
    client: string,
    address: PackedAddress,
  ): ConnectionData {
    const admission = admit(target, this.settings.pathPrefix, this.apps);
    if (admission.app === undefined) {
      return new RefusedConnection({ ...admission, address: client });
    }
    let firstHalf = newHalf();
    while (this.connections.isTaken(firstHalf)) firstHalf = newHalf();
    return new Connection(admission.app, firstHalf, server, address, this.holdBack);
  }

  private tooOften(address: string, limit: keyof AddressLimits): void {
    this.meter.count('connectionsRefused', 1, 'address');
    this.hub.strangerLog.warn(
      'Connection refused: its address connects or sends too often',
      { address },
      {
        setting: `channels.addressLimits.${limit}`,
        limit: this.settings.addressLimits[limit],
        hint: 'Where many clients have this address, name their proxy in trustedProxies or raise the limit',
      },
    );
  }

  private clientOf(server: Server<ConnectionData>, request: Request): string {
    return this.addresses.of(server.requestIP(request)?.address ?? '', request.headers);
  }

  private open(socket: AnySocket): void {
    const { data } = socket;
    if (data instanceof RefusedConnection) return this.refuse(socket, data.problem, data.message);
    if (isAdmitted(socket)) this.admitted(socket);
  }

  private admitted(socket: Socket): void {
    const { data } = socket;
    const { app, socketId } = data;
    const full = this.fullFor(socket);
    if (full !== undefined) return this.refuse(socket, full, closeCodes[full].message, app);

    data.socket = socket;
    this.heard(data);
    if (app.authorizedConnectionsOnly) {
      const timeoutMs = this.settings.authorizationTimeoutSeconds * 1000;
      this.authoriseByMs.set(socket, data.heardAtMs + timeoutMs);
    }
    this.connections.add(data.firstHalf, app, socket, !app.authorizedConnectionsOnly);
    this.meter.count('connectionsOpened');
    socket.send(connectionEstablished(socketId, this.settings.activityTimeoutSeconds));
  }

  private fullFor({ data: { app, address } }: Socket): ConnectionProblem | undefined {
    // One that must still be authorised does not count for the quota until it is.
    const over = app.authorizedConnectionsOnly ? undefined : this.overQuota(app);
    if (over !== undefined) return over;
    const room = this.connections.roomFor(app, address);
    if (room === 'room') return undefined;
    if (room === 'full') return 'server-over-capacity';
    this.makeRoom(room);
    return undefined;
  }

  /** Ends a connection of the app or address that has most, for one of another that has fewer. */
  private makeRoom(socket: Socket): void {
    const { app, address, socketId } = socket.data;
    this.hub.strangerLog.warn(
      'Connection closed: the server is full, and its app or address has most of it',
      { app: app.id },
      { address: addressOf(address), connection: socketId, connections: this.connections.size },
    );
    this.meter.count('connectionsRefused', 1, String(closeCodes['server-over-capacity'].code));
    this.end(socket, 'server-over-capacity');
    // A client that does not answer the close would keep its descriptor.
    socket.terminate();
  }

  private overQuota(app: App): ConnectionProblem | undefined {
    const { connections } = app.limits;
    return connections > 0 && this.connections.countOf(app) >= connections
      ? 'app-over-quota'
      : undefined;
  }

  /** Looks after one that must be authorised in time, and counts it once it is. Source: §8.5. */
  private checkAuthorised(socket: Socket, nowMs: number): void {
    const { data } = socket;
    const byMs = this.authoriseByMs.get(socket);
    if (byMs === undefined) return;
    if (!data.authorised) {
      if (nowMs >= byMs) this.end(socket, 'not-authorised-in-time');
      return;
    }
    const over = this.overQuota(data.app);
    if (over !== undefined) return this.end(socket, over);
    this.authoriseByMs.delete(socket);
    this.connections.count(data.app);
  }

  private refuse(socket: AnySocket, problem: ConnectionProblem, message: string, app?: App): void {
    this.meter.count('connectionsRefused', 1, String(closeCodes[problem].code));
    const { data } = socket;
    const address = data instanceof Connection ? addressOf(data.address) : data.address;
    this.hub.strangerLog.info(
      'Connection refused',
      { app: app?.id, address },
      { code: closeCodes[problem].code, why: message },
    );
    this.end(socket, problem, message);
  }

  private message(socket: AnySocket, frame: string | Buffer): void {
    // A refused client may have written before it read the refusal.
    if (!isAdmitted(socket) || socket.data.socket === undefined || socket.data.closed) return;
    const { data } = socket;
    this.heard(data);
    if (typeof frame !== 'string') return this.end(socket, 'binary-frame');
    this.meter.count('messagesReceived');
    this.meter.count('receivedBytes', Buffer.byteLength(frame));
    if (this.mayAnswer(socket, frame.length))
      this.frameQueue.arrived(socket, frame, data.heardAtMs);
  }

  private answer(socket: Socket, frame: Frame): void {
    const { data } = socket;
    if (frame === null) {
      const { framesPerSecond } = this.settings;
      const why = `Message rejected due to rate limit: at most ${framesPerSecond} per second`;
      return reportProblem(this.hub, data, 'frame-rate', why);
    }
    try {
      answer(this.hub, data, readClientMessage(frame));
    } catch (error) {
      // One client's message must not end the others' connections.
      return this.failed(socket, error);
    }
    this.checkAuthorised(socket, data.heardAtMs);
    this.slowConsumers.answered(socket);
  }

  /** Pings and pongs of WebSocket itself: Bun answers them, but they count like all frames. */
  private controlFrame(socket: AnySocket, payload: Buffer): void {
    if (!isAdmitted(socket) || socket.data.socket === undefined || socket.data.closed) return;
    this.heard(socket.data);
    this.mayAnswer(socket, payload.length);
  }

  /** Counts a frame; `false` where the connection has sent too many. */
  private mayAnswer(socket: Socket, bytes: number): boolean {
    const { data } = socket;
    const verdict = this.frames.count(data, bytes);
    if (verdict === 'answer') return true;
    if (verdict === 'drop') return false;
    // The client hears of it behind the answers to what it has sent before.
    if (verdict === 'warn') this.frameQueue.arrived(socket, null, data.heardAtMs);
    else this.flooding(socket);
    return false;
  }

  private flooding(socket: Socket): void {
    const { data } = socket;
    const { framesPerSecond } = this.settings;
    this.meter.count('floodingConnectionsClosed');
    this.hub.strangerLog.info(
      'Connection closed: it went on sending too many frames',
      { app: data.app.id },
      { address: addressOf(data.address), connection: data.socketId, framesPerSecond },
    );
    this.end(socket, 'too-many-frames');
  }

  private failed(socket: Socket, error: unknown): void {
    this.hub.strangerLog.error(
      'A message failed inside the server',
      { app: socket.data.app.id },
      {
        connection: socket.data.socketId,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      },
    );
    this.end(socket, 'internal');
  }

  private heard(connection: Connection): void {
    connection.heardAtMs = this.monotonic.now();
    connection.pingedAtMs = 0;
  }

  private closed(socket: AnySocket, code: number, reason: string): void {
    if (!isAdmitted(socket) || socket.data.socket === undefined) return;
    const { data } = socket;
    const { app } = data;
    // Judged first: what the others are told of its leaving is published, and may be reason to look again.
    const tooSlow = this.slowConsumers.wasTooSlow(socket);
    this.connections.remove(data.firstHalf, app, !this.authoriseByMs.delete(socket));
    this.frameQueue.forget(socket);
    this.addressRates.count(data.address, data.frameDebt);
    this.departures.add(data);
    if (code !== 1006) return;
    const connection = { address: addressOf(data.address), connection: data.socketId };
    if (reason !== '') {
      // Bun ended it, for the reason that it also told the client: a frame too large, or not allowed.
      this.hub.strangerLog.info(
        'Connection closed: the client broke a rule',
        { app: app.id },
        { ...connection, why: reason },
      );
    } else if (tooSlow) {
      this.slowConnectionsClosed++;
      this.meter.count('slowConnectionsClosed');
      this.hub.strangerLog.warn(
        'Connection closed: it read too slowly',
        { app: app.id },
        {
          ...connection,
          limitBytes: this.settings.sendBufferBytes,
          closedSoFar: this.slowConnectionsClosed,
        },
      );
    }
  }
}
