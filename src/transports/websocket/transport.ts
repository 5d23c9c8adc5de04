import type { Serve, Server } from 'bun';
import { answer } from '../../channels/answer.ts';
import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { newSocketId } from '../../channels/socket-id.ts';
import { leaveAll } from '../../channels/subscribe.ts';
import { connectionEstablished, errorMessage, readClientMessage } from '../../channels/wire.ts';
import type { RequestTarget } from '../request-target.ts';
import { admit, knownSubprotocol } from './admission.ts';
import type { Backlog } from './backlog.ts';
import { type ConnectionProblem, closeCodes } from './close-codes.ts';
import {
  type AnySocket,
  Connection,
  type ConnectionData,
  isAdmitted,
  RefusedConnection,
  type Socket,
} from './connection.ts';
import type { Connections } from './connections.ts';
import { checkHeartbeats, type HeartbeatTimes } from './heartbeat.ts';
import type { HoldBack } from './hold-back.ts';
import { addressOf, packRemote } from './remote.ts';

export interface WebSocketSettings extends HeartbeatTimes {
  readonly pathPrefix: string;
  /** 0: no limit. */
  readonly maxConnections: number;
  readonly clientFrameBytes: number;
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
      | 'messagesReceived'
      | 'receivedBytes',
    by?: number,
    label?: string,
  ): void;
}

/** Everything a connection goes through, from the handshake to its end. */
export class WebSocketTransport {
  /** How many connections were closed since the start because they read too slowly. */
  slowConnectionsClosed = 0;

  private readonly hub: Hub;
  private readonly apps: AppDirectory;
  private readonly connections: Connections;
  private readonly backlog: Backlog;
  private readonly holdBack: HoldBack;
  private readonly settings: WebSocketSettings;
  private readonly meter: TransportMeter;

  constructor(
    hub: Hub,
    apps: AppDirectory,
    connections: Connections,
    backlog: Backlog,
    holdBack: HoldBack,
    settings: WebSocketSettings,
    meter: TransportMeter,
  ) {
    this.hub = hub;
    this.apps = apps;
    this.connections = connections;
    this.backlog = backlog;
    this.holdBack = holdBack;
    this.settings = settings;
    this.meter = meter;
  }

  /** Takes over a request that asks for a WebSocket; `false` where it is no valid handshake. */
  upgrade(server: Server<ConnectionData>, request: Request, target: RequestTarget): boolean {
    const data = this.connectionOf(server, request, target);
    const offered = request.headers.get('sec-websocket-protocol');
    if (offered === null) return server.upgrade(request, { data });
    // Said even where it is none of them: left to itself, Bun accepts the first one, whatever it is.
    const subprotocol = knownSubprotocol(offered) ?? '';
    return server.upgrade(request, { data, headers: { 'sec-websocket-protocol': subprotocol } });
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
      ping: ({ data }) => this.heard(data),
      pong: ({ data }) => this.heard(data),
      close: (socket, code, reason) => this.closed(socket, code, reason),
    };
  }

  /**
   * Looks at the next of so many parts of the connections: ends those that were not authorised in time, asks silent clients,
   * and ends those that stay silent.
   */
  checkPart(parts: number): void {
    const now = this.hub.clock.now();
    const part = this.connections.nextPart(parts);
    for (const socket of part) {
      if (socket.data.authoriseByMs !== 0) this.checkAuthorised(socket, now);
    }
    checkHeartbeats(part, now, this.settings, (socket, problem) => this.end(socket, problem));
  }

  /** The open connections of one app, those that must still be authorised included. */
  connectionsOf(app: App): number {
    return this.connections.openOf(app);
  }

  /** Ends the connections of one app. */
  endAll(app: App, problem: ConnectionProblem): void {
    for (const socket of this.connections.all()) {
      if (socket.data.app === app) this.end(socket, problem);
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
    request: Request,
    target: RequestTarget,
  ): ConnectionData {
    const admission = admit(target, this.settings.pathPrefix, this.apps);
    if (admission.app === undefined) {
      return new RefusedConnection(admission.problem, admission.message);
    }
    let socketId = newSocketId();
    while (this.connections.isTaken(socketId)) socketId = newSocketId();
    const peer = server.requestIP(request);
    const remote = packRemote(peer?.address ?? '', peer?.port ?? 0);
    return new Connection(admission.app, socketId, server, remote, this.holdBack);
  }

  private open(socket: AnySocket): void {
    const { data } = socket;
    if (data instanceof RefusedConnection) return this.refuse(socket, data.problem, data.message);
    if (isAdmitted(socket)) this.admitted(socket);
  }

  private admitted(socket: Socket): void {
    const { data } = socket;
    const { app, socketId } = data;
    const full = this.fullFor(app);
    if (full !== undefined) return this.refuse(socket, full, closeCodes[full].message, app);

    data.socket = socket;
    this.heard(data);
    if (app.authorizedConnectionsOnly) {
      data.authoriseByMs = data.heardAt + this.settings.authorizationTimeoutSeconds * 1000;
    }
    this.connections.add(socketId, app, socket, !app.authorizedConnectionsOnly);
    this.meter.count('connectionsOpened');
    socket.send(connectionEstablished(socketId, this.settings.activityTimeoutSeconds));
  }

  private fullFor(app: App): ConnectionProblem | undefined {
    const { maxConnections } = this.settings;
    if (maxConnections > 0 && this.connections.size >= maxConnections) {
      return 'server-over-capacity';
    }
    // One that must still be authorised does not count until it is.
    return app.authorizedConnectionsOnly ? undefined : this.overQuota(app);
  }

  private overQuota(app: App): ConnectionProblem | undefined {
    const { connections } = app.limits;
    return connections > 0 && this.connections.countOf(app) >= connections
      ? 'app-over-quota'
      : undefined;
  }

  /** Looks after one that must be authorised in time, and counts it once it is. Source: §8.5. */
  private checkAuthorised(socket: Socket, now: number): void {
    const { data } = socket;
    if (data.authoriseByMs === 0) return;
    if (!data.authorised) {
      if (now >= data.authoriseByMs) this.end(socket, 'not-authorised-in-time');
      return;
    }
    const over = this.overQuota(data.app);
    if (over !== undefined) return this.end(socket, over);
    data.authoriseByMs = 0;
    this.connections.count(data.app);
  }

  private refuse(socket: AnySocket, problem: ConnectionProblem, message: string, app?: App): void {
    this.meter.count('connectionsRefused', 1, String(closeCodes[problem].code));
    this.hub.log.info('Connection refused', {
      address: socket.remoteAddress,
      app: app?.id,
      code: closeCodes[problem].code,
      why: message,
    });
    this.end(socket, problem, message);
  }

  private message(socket: AnySocket, frame: string | Buffer): void {
    // A refused client may have written before it read the refusal.
    if (!isAdmitted(socket) || socket.data.socket === undefined || socket.data.closed) return;
    const { data } = socket;
    this.heard(data);
    if (typeof frame !== 'string') return this.end(socket, 'binary-frame');
    this.meter.count('messagesReceived');
    this.meter.count('receivedBytes', frame.length);
    try {
      answer(this.hub, data, readClientMessage(frame));
    } catch (error) {
      // One client's message must not end the others' connections.
      return this.failed(socket, error);
    }
    if (data.authoriseByMs !== 0) this.checkAuthorised(socket, data.heardAt);
    this.backlog.answered(socket);
  }

  private failed(socket: Socket, error: unknown): void {
    this.hub.log.error('A message failed inside the server', {
      connection: socket.data.socketId,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    this.end(socket, 'internal');
  }

  private heard(connection: ConnectionData): void {
    if (connection instanceof RefusedConnection) return;
    connection.heardAt = this.hub.clock.now();
    connection.pinged = false;
  }

  private closed(socket: AnySocket, code: number, reason: string): void {
    if (!isAdmitted(socket) || socket.data.socket === undefined) return;
    const { data } = socket;
    const { app, socketId } = data;
    // Judged first: what the others are told of its leaving is published, and may be reason to look again.
    const tooSlow = this.backlog.wasTooSlow(socket);
    this.connections.remove(socketId, app, data.authoriseByMs === 0);
    leaveAll(this.hub, data);
    if (code !== 1006) return;
    const whose = { address: addressOf(data.remote), app: app.id, connection: socketId };
    if (reason !== '') {
      // Bun ended it, for the reason that it also told the client: a frame too large, or not allowed.
      this.hub.log.info('Connection closed: the client broke a rule', { ...whose, why: reason });
    } else if (tooSlow) {
      this.slowConnectionsClosed++;
      this.meter.count('slowConnectionsClosed');
      this.hub.log.warn('Connection closed: it read too slowly', {
        ...whose,
        limitBytes: this.settings.sendBufferBytes,
        closedSoFar: this.slowConnectionsClosed,
      });
    }
  }
}
