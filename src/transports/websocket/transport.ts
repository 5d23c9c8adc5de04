import type { Serve, Server } from 'bun';
import type { App } from '../../channels/app.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import type { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import type { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import type { ClientAddresses } from '../client-address.ts';
import { addressOf, type PackedAddress, packAddress } from '../clients/addresses/packed-address.ts';
import { type Admitted, admit, type Introduction, knownSubprotocol } from '../clients/admission.ts';
import type { Clients, RefusedClient } from '../clients/clients.ts';
import { closeCodes, type RefusalProblem } from '../clients/closing/close-codes.ts';
import { endWith } from '../clients/closing/end.ts';
import type { ClientConnection } from '../clients/connection.ts';
import type { ClientConnections } from '../clients/connections.ts';
import type { RequestTarget } from '../request-target.ts';
import { Newcomers } from './newcomers.ts';
import {
  type AnySocket,
  isAdmitted,
  RefusedConnection,
  type Socket,
  type SocketData,
  type SocketLoop,
  WebSocketConnection,
} from './websocket-connection.ts';

export interface WebSocketSettings {
  readonly pathPrefix: string;
  readonly clientFrameBytes: number;
  readonly sendBufferBytes: number;
}

export interface TransportOptions {
  readonly clients: Clients;
  readonly apps: AppDirectory;
  readonly connections: ClientConnections;
  readonly loop: SocketLoop;
  readonly settings: WebSocketSettings;
  readonly addresses: ClientAddresses;
  /** Gets the sockets of open connections. */
  readonly socketsInUse: SocketMarks;
  readonly rateLimitedLog: RateLimitedLog;
}

/** What has become of a handshake. `taken`: there is nothing to answer. */
export type HandshakeOutcome = 'taken' | 'invalid' | 'too-often' | 'stopping';

/** Carries connections over Bun's WebSockets. What they share with other transports is in `Clients`. */
export class WebSocketTransport {
  /** Clients that connect while the server stops. */
  readonly newcomers = new Newcomers();
  /** Sockets whose clients have left, without knowing it. */
  private readonly retired = new Set<AnySocket>();
  private readonly options: TransportOptions;
  private readonly clients: Clients;
  private isStopping = false;

  constructor(options: TransportOptions) {
    this.options = options;
    this.clients = options.clients;
  }

  /** Opens no connections from now on: clients that come are newcomers, and are closed with this problem. */
  stop(problem: Newcomers['problem']): void {
    this.isStopping = true;
    this.newcomers.problem = problem;
  }

  /**
   * Lets a connection end for everybody but its client, whose socket stays open until `endRetired`. `false` if another
   * transport carries it.
   */
  retire(connection: ClientConnection): boolean {
    if (!(connection instanceof WebSocketConnection)) return false;
    const { socket } = connection;
    connection.socket = undefined;
    if (socket !== undefined) this.retired.add(socket);
    this.clients.closed(connection);
    return true;
  }

  /**
   * Closes the sockets that have stayed open. Those whose turn does not come within the time are left to the end of the process:
   * the system closes them faster, with 1006, after which clients wait for as long.
   */
  endRetired(maxMs: number): void {
    const untilMs = performance.now() + maxMs;
    for (const socket of this.retired) {
      if (performance.now() > untilMs) return;
      // One write for both frames.
      socket.cork(() => endWith(socket, 'server-restarting'));
    }
  }

  /**
   * Handles a request for a WebSocket, unless it is not a valid handshake (`'invalid'`), its address may not connect now
   * (`'too-often'`, which is logged and counted), or a proxy can try another server (`'stopping'`).
   */
  upgrade(
    server: Server<SocketData>,
    request: Request,
    target: RequestTarget,
  ): MaybePromise<HandshakeOutcome> {
    const { addresses } = this.options;
    const peer = server.requestIP(request);
    const client = addresses.of(addresses.peerOf(peer), request.headers);
    const address = packAddress(client);
    if (!this.clients.mayConnect(address)) return 'too-often';
    const introduced = { ...target, origin: request.headers.get('origin') ?? undefined };
    const handshake = { server, request, peer, client, address, query: target.query };
    const { settings, apps } = this.options;
    const admission = admit(introduced, settings.pathPrefix, apps);
    if (admission.problem !== undefined) return this.upgradeRefused(handshake, admission);
    const { app } = admission;
    if (this.isStopping) {
      const { problem } = this.newcomers;
      // Another server can take it.
      if (problem === 'server-stopping' && isProxied(request.headers)) return 'stopping';
      return this.upgradeRefused(handshake, refusalFor(problem));
    }
    // Before the upgrade: a client may send as soon as its handshake is answered.
    const place = this.clients.takePlace(app);
    if (!(place instanceof Promise)) return this.upgradeAdmitted(handshake, admission, place);
    return place.then((hasPlace) => {
      // The app may have been changed in the meantime, and the client may have disconnected.
      const refusal = this.refusalNow(introduced, app);
      if (refusal !== undefined && hasPlace) this.clients.releasePlace(app);
      const outcome =
        refusal === undefined
          ? this.upgradeAdmitted(handshake, admission, hasPlace)
          : this.upgradeRefused(handshake, refusal);
      return request.signal.aborted ? 'taken' : outcome;
    });
  }

  /** Why a client that was admitted to an app is not admitted to it now. */
  private refusalNow(
    introduced: RequestTarget & Introduction,
    app: App,
  ): Omit<RefusedClient, 'address'> | undefined {
    const { settings, apps } = this.options;
    const admission = admit(introduced, settings.pathPrefix, apps);
    if (admission.problem === 'origin-not-allowed') return admission;
    return admission.app === app ? undefined : { app, ...refusalFor('app-disabled') };
  }

  /** The callbacks and settings for Bun. */
  handlers(): Serve.Options<SocketData>['websocket'] & object {
    const { clientFrameBytes, sendBufferBytes } = this.options.settings;
    return {
      // Heartbeats are ours: Bun's timer would count its own pings as activity.
      idleTimeout: 0,
      sendPings: false,
      maxPayloadLength: clientFrameBytes,
      backpressureLimit: sendBufferBytes,
      closeOnBackpressureLimit: true,
      // One compressor and one decompressor for all connections, so that a connection needs no memory for them.
      perMessageDeflate: { compress: 'shared', decompress: 'shared' },
      open: (socket) => this.opened(socket),
      message: (socket, frame) => this.received(socket, frame),
      ping: (socket, payload) => this.receivedControl(socket, payload),
      pong: (socket, payload) => this.receivedPong(socket, payload),
      close: (socket, code, reason) => this.closed(socket, code, reason),
    };
  }

  private upgradeAdmitted(
    handshake: Handshake,
    { app, keyUse }: Admitted,
    hasPlace: boolean,
  ): HandshakeOutcome {
    if (!hasPlace) return this.upgradeRefused(handshake, { app, ...refusalFor('app-over-quota') });
    const { connections, loop } = this.options;
    const { server, address, query } = handshake;
    const firstHalf = connections.newFirstHalf();
    const library = this.clients.libraries.numberOf(query);
    const place = this.options.socketsInUse.placeOf(handshake.peer);
    const data = new WebSocketConnection({
      app,
      firstHalf,
      address,
      library,
      keyUse,
      server,
      loop,
      place,
    });
    if (upgradeWith(handshake, data)) return 'taken';
    this.clients.releasePlace(app);
    return 'invalid';
  }

  private upgradeRefused(
    handshake: Handshake,
    refusal: Omit<RefusedClient, 'address'>,
  ): HandshakeOutcome {
    const data = new RefusedConnection({ ...refusal, address: handshake.client });
    return upgradeWith(handshake, data) ? 'taken' : 'invalid';
  }

  private opened(socket: AnySocket): void {
    const { data } = socket;
    if (data instanceof RefusedConnection) {
      if (data.problem === this.newcomers.problem) return this.newcomers.add(socket);
      return this.clients.refuse(socket, data);
    }
    const refused = this.clients.makeRoomFor(data);
    // Before the socket is set, so that its close is not taken for that of an open connection.
    if (refused !== undefined) return this.clients.refuse(socket, refused);
    if (!isAdmitted(socket)) return;
    data.socket = socket;
    this.options.socketsInUse.add(data.place);
    this.clients.open(data);
  }

  private received(socket: AnySocket, frame: string | Buffer): void {
    if (!isInUse(socket)) return;
    if (typeof frame === 'string') this.clients.received(socket.data, frame);
    else endWith(socket.data, 'binary-frame');
  }

  /** A pong that was asked for costs its client nothing. */
  private receivedPong(socket: AnySocket, payload: Buffer): void {
    if (isInUse(socket)) this.clients.receivedPong(socket.data, payload);
  }

  /** Pings of WebSocket itself: Bun answers them, but they count like all frames. */
  private receivedControl(socket: AnySocket, payload: Buffer): void {
    if (isInUse(socket)) this.clients.receivedControl(socket.data, payload.length);
  }

  private closed(socket: AnySocket, code: number, reason: string): void {
    if (!isAdmitted(socket)) return this.newcomers.delete(socket);
    if (socket.data.socket === undefined) return void this.retired.delete(socket);
    const { data } = socket;
    this.options.socketsInUse.remove(data.place);
    const wasTooSlow = this.clients.closed(data);
    if (code !== 1006) return;
    if (reason !== '') {
      // Bun closed it and gave the client this reason: a frame too large, or not allowed.
      this.options.rateLimitedLog.info(
        'Connection closed: the client broke a rule',
        { app: data.app.id },
        { address: addressOf(data.address), connection: data.socketId, why: reason },
      );
    } else if (wasTooSlow) {
      this.clients.closedTooSlow(data);
    }
  }
}

/** Whether the connection is open: a refused client may have written before it read the refusal. */
function isInUse(socket: AnySocket): socket is Socket {
  return isAdmitted(socket) && socket.data.socket !== undefined && !socket.data.closed;
}

interface Handshake {
  readonly server: Server<SocketData>;
  readonly request: Request;
  /** The other end of the TCP connection; possibly a proxy. */
  readonly peer: { readonly address: string; readonly port: number } | null;
  /** The address of the client, as text and packed. */
  readonly client: string;
  readonly address: PackedAddress;
  /** The client's description of itself. */
  readonly query: string;
}

function mayCompress(data: SocketData): boolean {
  return data instanceof WebSocketConnection && data.app.compressAboveBytes > 0;
}

/** Whether a request came through a proxy. */
function isProxied(headers: Headers): boolean {
  return headers.has('x-forwarded-for') || headers.has('forwarded') || headers.has('via');
}

function refusalFor(problem: RefusalProblem): Omit<RefusedClient, 'address'> {
  return { problem, message: closeCodes[problem].message };
}

/**
 * Upgrades a request, which calls `opened` synchronously; `false` if the handshake is invalid or the client has
 * disconnected.
 */
function upgradeWith({ server, request }: Handshake, data: SocketData): boolean {
  // Bun agrees to compression with everybody who offers it.
  if (!mayCompress(data)) request.headers.delete('sec-websocket-extensions');
  const offered = request.headers.get('sec-websocket-protocol');
  if (offered === null) return server.upgrade(request, { data });
  // Always set, if only to '': Bun would accept the first subprotocol offered, whatever it is.
  const headers = { 'sec-websocket-protocol': knownSubprotocol(offered) ?? '' };
  return server.upgrade(request, { data, headers });
}
