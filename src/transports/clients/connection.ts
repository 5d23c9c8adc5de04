import type { App } from '../../channels/app.ts';
import type { Peer } from '../../channels/ports.ts';
import { newHalf, type SocketId, socketIdOf } from '../../channels/socket-id.ts';
import { Session } from '../../channels/subscribing/session.ts';
import type { KeyUse } from '../../runtime/keys/key-uses.ts';
import type { PackedAddress } from './addresses/packed-address.ts';

/** What every connection is made of. */
export interface ClientConnectionOptions {
  readonly app: App;
  /** See `Connections.newFirstHalf`. */
  readonly firstHalf: number;
  readonly secondHalf?: number | undefined;
  readonly address: PackedAddress;
  /** Describes the client; see `ClientLibraries`. */
  readonly library?: number;
  /** The use of the key that the client named. */
  readonly keyUse?: KeyUse | undefined;
}

/**
 * One client's connection, whatever carries it. Session, peer and connection are one object, because there are many.
 *
 * A transport must ask `Clients.makeRoomFor`, then call `open` when it can send, `received` for each frame, and `closed` once.
 * `close` and `terminate` may call `Clients.closed` before they return.
 */
export abstract class ClientConnection extends Session implements Peer {
  /** The two halves of the socket id. A string would take a fifth of a connection's memory. */
  readonly firstHalf: number;
  private readonly secondHalf: number;
  /** The address of the client; behind a trusted proxy not that of the proxy. */
  readonly address: PackedAddress;
  /** Describes the client; see `ClientLibraries`. */
  readonly library: number;
  /** The use of the key that the client named. */
  readonly keyUse: KeyUse | undefined;
  /** When it was opened. Monotonic milliseconds. */
  openedAtMs = 0;
  /** When the client last sent anything. Monotonic milliseconds. */
  heardAtMs = 0;
  /** When the unanswered ping was sent; 0: there is none. Monotonic milliseconds. */
  pingedAtMs = 0;

  constructor(options: ClientConnectionOptions) {
    const { app, firstHalf, secondHalf = newHalf(), address, library = 0, keyUse } = options;
    super(app);
    this.firstHalf = firstHalf;
    this.secondHalf = secondHalf;
    this.address = address;
    this.library = library;
    this.keyUse = keyUse;
  }

  get socketId(): SocketId {
    return socketIdOf(this.firstHalf, this.secondHalf);
  }

  /** Returns itself: a field for it would take memory. */
  get peer(): Peer {
    return this;
  }

  /** What carries it, for operators. */
  abstract get transport(): string;

  /** Whether it is neither closed nor closing. */
  abstract get isOpen(): boolean;

  /** Whether the client can send nothing, and so is not asked to answer. */
  get isOneWay(): boolean {
    return false;
  }

  /** Queues a frame behind everything that was sent or published to this client before. */
  abstract send(frame: string): void;

  sendAll(frames: readonly string[]): void {
    this.inOneWrite(() => {
      for (const frame of frames) this.send(frame);
    });
  }

  /**
   * Sends a ping of the transport itself, after everything that was sent or published before; `false`: the transport
   * has no pings. The answer is passed to `Clients.receivedPong`.
   */
  abstract ping(payload: string): boolean;

  /** Runs what sends several frames. A carrier that can sends them in one write, with what was published before. */
  inOneWrite(run: () => void): void {
    run();
  }

  /** Closes the connection once the client has got everything that was sent. */
  abstract close(code: number, reason: string): void;

  /** Closes the connection at once, and frees its descriptor without waiting for the client. */
  abstract terminate(): void;

  /** Bytes that were sent and that the client has not taken yet. */
  abstract waitingBytes(): number;
}
