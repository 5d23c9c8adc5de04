import type { Server, ServerWebSocket } from 'bun';
import type { App } from '../../channels/app.ts';
import type { Peer } from '../../channels/ports.ts';
import { newHalf, type SocketId, socketIdOf } from '../../channels/socket-id.ts';
import { Session } from '../../channels/subscribing/session.ts';
import type { ConnectionProblem } from '../clients/close-codes.ts';
import type { PackedAddress } from '../clients/packed-address.ts';
import type { HoldBack } from './coalescing/hold-back.ts';

/** A connection that is only opened to be told why it may not be. */
export class RefusedConnection {
  readonly problem: ConnectionProblem;
  readonly message: string;
  readonly address: string;

  constructor({ problem, message, address }: RefusedConnection) {
    this.problem = problem;
    this.message = message;
    this.address = address;
  }
}

/** What belongs to one connection; Bun keeps it beside the socket. One object for all: there are many. */
export class Connection extends Session implements Peer {
  // Its text would take a fifth of what a connection does.
  readonly firstHalf: number;
  private readonly secondHalf: number;
  readonly server: Server<ConnectionData>;
  /** Of the client; behind a trusted proxy not that of the proxy. */
  readonly address: PackedAddress;
  private readonly holdBack: HoldBack;
  /** `undefined` before it is open, and where there was no room for it. */
  socket: Socket | undefined;
  /** When the client was last heard of. Monotonic milliseconds. */
  heardAtMs = 0;
  /** When it was asked if it is still there, and has not answered since; 0: it was not. Monotonic milliseconds. */
  pingedAtMs = 0;
  /** Frames that it sent recently, weighted by size: see `FrameLimit`. */
  frameDebt = 0;

  constructor(
    app: App,
    firstHalf: number,
    server: Server<ConnectionData>,
    address: PackedAddress,
    holdBack: HoldBack,
    secondHalf = newHalf(),
  ) {
    super(app);
    this.firstHalf = firstHalf;
    this.secondHalf = secondHalf;
    this.server = server;
    this.address = address;
    this.holdBack = holdBack;
  }

  get socketId(): SocketId {
    return socketIdOf(this.firstHalf, this.secondHalf);
  }

  /** Itself, without a field for it. */
  get peer(): Peer {
    return this;
  }

  send(frame: string): void {
    // What was published before comes first.
    this.holdBack.flush();
    this.socket?.send(frame);
  }
}

export type ConnectionData = Connection | RefusedConnection;

/** The socket of a connection that was not refused for its address. */
export type Socket = ServerWebSocket<Connection>;

/** Any socket that Bun has opened. */
export type AnySocket = ServerWebSocket<ConnectionData>;

export function isAdmitted(socket: AnySocket): socket is Socket {
  return socket.data instanceof Connection;
}
