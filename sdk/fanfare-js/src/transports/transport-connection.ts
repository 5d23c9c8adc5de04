import Emitter from '../emitter.ts';
import log from '../log.ts';

/** A way to connect. */
export interface Transport {
  isSupported(environment: { readonly useTLS?: boolean }): boolean;
  createConnection(
    name: string,
    priority: number,
    key: string,
    options: TransportOptions,
  ): TransportConnection;
}

/** Where a transport connects to. */
export interface TransportOptions {
  readonly key: string;
  readonly useTLS: boolean;
  readonly hostTLS: string;
  readonly hostNonTLS: string;
  readonly httpPath: string;
}

/** What carries frames: a WebSocket, or something like one. */
export interface Socket {
  onopen: (() => void) | null;
  onerror: ((error: unknown) => void) | null;
  onclose: ((event: object) => void) | null;
  onmessage: ((message: { readonly data: string }) => void) | null;
  onactivity?: (() => void) | null | undefined;
  send(text: string): void;
  close(): void;
  /** Where the transport has a ping of its own. */
  ping?(): void;
}

/**
 * One connection of a transport. Emits `initialized`, `connecting`, `open`, `message`, `activity`, `error` and `closed`; its
 * state is the last of these that is one.
 */
export default class TransportConnection extends Emitter {
  declare name: string;
  declare priority: number;
  state = 'new';
  declare options: TransportOptions;
  declare socket: Socket | undefined;
  declare private readonly url: string;
  declare private readonly open: (url: string) => Socket;

  constructor(
    name: string,
    priority: number,
    options: TransportOptions,
    { url, open }: { readonly url: string; readonly open: (url: string) => Socket },
  ) {
    super();
    this.name = name;
    this.priority = priority;
    this.options = options;
    this.url = url;
    this.open = open;
  }

  supportsPing(): boolean {
    return !!this.socket?.ping;
  }

  initialize(): void {
    this.changeState('initialized');
  }

  connect(): boolean {
    if (this.socket || this.state !== 'initialized') return false;
    try {
      this.socket = this.open(this.url);
    } catch (error) {
      // Later, because whoever connects does not listen yet.
      setTimeout(() => {
        this.emit('error', { type: 'WebSocketError', error });
        this.changeState('closed');
      });
      return false;
    }
    const { socket } = this;
    socket.onopen = () => this.changeState('open');
    socket.onerror = (error) => this.emit('error', { type: 'WebSocketError', error });
    socket.onmessage = (message) => this.emit('message', message);
    socket.onactivity = () => this.emit('activity');
    socket.onclose = (event) => {
      this.socket = undefined;
      this.changeState('closed', event);
    };
    log.debug('Connecting', { transport: this.name, url: this.url });
    this.changeState('connecting');
    return true;
  }

  close(): boolean {
    this.socket?.close();
    return !!this.socket;
  }

  send(text: string): boolean {
    if (this.state !== 'open') return false;
    this.socket?.send(text);
    return true;
  }

  ping(): void {
    if (this.state === 'open') this.socket?.ping?.();
  }

  private changeState(state: string, data?: object): void {
    this.state = state;
    this.emit(state, data);
  }
}
