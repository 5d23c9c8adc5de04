import type { Server, ServerWebSocket } from 'bun';
import type { App } from '../../channels/app.ts';
import type { SocketPlace } from '../../runtime/shared-memory/socket-marks.ts';
import type { RefusedClient } from '../clients/clients.ts';
import type { RefusalProblem } from '../clients/closing/close-codes.ts';
import { ClientConnection, type ClientConnectionOptions } from '../clients/connection.ts';
import type { ClosingBytes } from './closing-bytes.ts';
import type { Coalescer } from './coalescing/coalescer.ts';

/** A connection that is only opened so that the client can read why it is refused: browsers see nothing of a refused handshake. */
export class RefusedConnection {
  readonly problem: RefusalProblem;
  readonly message: string;
  readonly address: string;
  readonly app: App | undefined;
  readonly note: string | undefined;

  constructor({ problem, message, address, app, note }: RefusedClient) {
    this.problem = problem;
    this.message = message;
    this.address = address;
    this.app = app;
    this.note = note;
  }
}

/** What the connections of a loop share. */
export interface SocketLoop {
  readonly coalescer: Coalescer;
  readonly closing: ClosingBytes;
}

export interface WebSocketConnectionOptions extends ClientConnectionOptions {
  readonly server: Server<SocketData>;
  readonly loop: SocketLoop;
  /** Where its socket is counted as in use. */
  readonly place: SocketPlace;
}

/** A connection over a WebSocket. Bun stores it with the socket. */
export class WebSocketConnection extends ClientConnection {
  readonly server: Server<SocketData>;
  readonly place: SocketPlace;
  private readonly loop: SocketLoop;
  /** `undefined` before it is open, and if there was no room for it. */
  socket: Socket | undefined;

  constructor(options: WebSocketConnectionOptions) {
    super(options);
    this.server = options.server;
    this.loop = options.loop;
    this.place = options.place;
  }

  get transport(): string {
    return 'websocket';
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  send(frame: string): void {
    this.loop.coalescer.flush();
    this.socket?.send(frame);
  }

  ping(payload: string): boolean {
    this.loop.coalescer.flush();
    this.socket?.ping(payload);
    return true;
  }

  override inOneWrite(run: () => void): void {
    this.socket?.cork(run);
  }

  close(code: number, reason: string): void {
    this.loop.coalescer.flush();
    if (this.loop.closing.mayKeep(this.waitingBytes())) this.socket?.close(code, reason);
    else this.terminate();
  }

  terminate(): void {
    this.socket?.terminate();
  }

  waitingBytes(): number {
    return this.socket?.getBufferedAmount() ?? 0;
  }
}

export type SocketData = WebSocketConnection | RefusedConnection;

/** The socket of a connection that was not refused at its handshake. */
export type Socket = ServerWebSocket<WebSocketConnection>;

/** Any socket that Bun has opened. */
export type AnySocket = ServerWebSocket<SocketData>;

export function isAdmitted(socket: AnySocket): socket is Socket {
  return socket.data instanceof WebSocketConnection;
}
