import { backoffMs } from '../backoff.ts';
import Emitter, { type Handler, nextOf } from '../emitter.ts';
import log from '../log.ts';
import type { Config } from '../options.ts';
import type { Runtime } from '../runtime.ts';
import type TransportConnection from '../transports/transport-connection.ts';
import type { Runner, Strategy } from './attempt.ts';
import type { Handshake } from './handshake.ts';
import {
  type CloseAction,
  type CloseEvent,
  closeAction,
  closeError,
  decode,
  isProtocolCode,
  type PusherError,
} from './protocol.ts';
import { defineTransport } from './strategy.ts';

export type ConnectionState =
  | 'initialized'
  | 'connecting'
  | 'connected'
  | 'unavailable'
  | 'disconnected'
  | 'failed';

/** What the connection needs of the client. */
export interface ConnectionOwner {
  readonly key: string;
  readonly config: Config;
  readonly runtime: Runtime;
}

type Timer = ReturnType<typeof setTimeout>;
type Connected = Extract<Handshake, { readonly action: 'connected' }>;

/** After a connection that lasted so long, failures are counted anew. */
const LASTING_MS = 10_000;

/** How long a page that woke up waits for an answer. */
const WAKE_TIMEOUT_MS = 5000;

/** Proxies that cut silence are not asked more often. */
const PING_DELAY_MIN_MS = 10_000;

/**
 * The connection of a client: makes one, finds out when it is lost, and makes the next. Emits its state, `state_change`,
 * `connecting_in`, `message` and `error`.
 */
export default class ConnectionManager extends Emitter {
  declare key: string;
  state: ConnectionState = 'initialized';
  connection: { readonly id: string; readonly transport: TransportConnection } | null = null;
  /** Of the present connection, or else of the last one. */
  socket_id = '';
  /** What the server of this connection can do beyond the protocol. */
  extras: readonly string[] = [];
  declare usingTLS: boolean;
  declare private readonly owner: ConnectionOwner;
  declare private strategy: Strategy;
  declare private runner: Runner | undefined;
  declare private retryTimer: Timer | undefined;
  declare private unavailableTimer: Timer | undefined;
  declare private activityTimer: Timer | undefined;
  declare private activityTimeout: number;
  /** Milliseconds after which a proxy between has cut a silent connection, less a margin. */
  declare private pingDelay: number | undefined;
  /** Since a connection that lasted. */
  private failures = 0;
  declare private connectedAtMs: number;
  declare private lastError: PusherError | undefined;

  constructor(owner: ConnectionOwner) {
    super();
    this.owner = owner;
    this.key = owner.key;
    this.usingTLS = owner.config.useTLS;
    this.newStrategy();
    for (const event of ['online', 'offline', 'wake', 'hide']) {
      owner.runtime.getNetwork().bind(event, () => {
        if (!this.isTrying()) return;
        if (event === 'hide') this.retryIn();
        else if (this.connection) this.checkActivity(WAKE_TIMEOUT_MS);
        else this.retryIn(0);
      });
    }
  }

  /** The socket id of this connection or of the next one. Rejects when there will be none. */
  get ready(): Promise<string> {
    if (this.connection) return Promise.resolve(this.socket_id);
    return nextOf(this, ['connected', 'disconnected', 'failed'], () => {
      if (this.connection) return this.socket_id;
      throw Object.assign(new Error(this.state), this.lastError?.data);
    });
  }

  connect(): void {
    if (this.connection || this.runner) return;
    this.stop();
    if (!this.strategy.isSupported()) {
      this.updateState('failed');
      return;
    }
    this.runner = this.strategy.connect(0, (error, handshake) => {
      this.runner?.abort();
      this.runner = undefined;
      if (error || !handshake) this.follow('backoff');
      else this.shaken(handshake);
    });
    this.isLate();
  }

  disconnect(): void {
    this.stop();
    clearTimeout(this.unavailableTimer);
    this.unavailableTimer = undefined;
    this.updateState('disconnected');
  }

  isUsingTLS(): boolean {
    return this.usingTLS;
  }

  /** Connects with the key and the configuration that the client has now. */
  switchCluster(key: string): void {
    this.key = key;
    this.newStrategy();
    this.retryIn(0);
  }

  send(text: string): boolean {
    return this.connection?.transport.send(text) ?? false;
  }

  send_event(event: string, data: unknown, channel?: string): boolean {
    if (!this.connection) return false;
    const message = { event, data, ...(channel && { channel }) };
    log.debug('Event sent', message);
    return this.send(JSON.stringify(message));
  }

  private newStrategy(): void {
    const { runtime, config } = this.owner;
    const options = { key: this.key, useTLS: this.usingTLS };
    this.strategy = runtime.getDefaultStrategy(config, options, defineTransport(runtime));
  }

  private isTrying(): boolean {
    return ['connecting', 'connected', 'unavailable'].includes(this.state);
  }

  private shaken(handshake: Handshake): void {
    if (handshake.action === 'connected') this.connected(handshake);
    else if (handshake.action === 'error') {
      this.report('backoff', undefined, { type: 'HandshakeError', error: handshake.error });
    } else this.report(handshake.action, handshake.error);
  }

  private connected({ transport, id, activityTimeout, extras }: Connected): void {
    const connection = { id, transport };
    this.connection = connection;
    this.lastError = undefined;
    this.socket_id = id;
    this.extras = extras;
    this.connectedAtMs = Date.now();
    this.activityTimeout = Math.min(
      this.owner.config.activityTimeout,
      activityTimeout,
      this.pingDelay ?? activityTimeout,
    );
    clearTimeout(this.unavailableTimer);
    this.unavailableTimer = undefined;
    const on = (event: string, listener: Handler) =>
      transport.bind(event, (data) => this.connection === connection && listener.call(this, data));
    on('message', this.received);
    on('activity', this.active);
    on('error', (error) => this.emit('error', error));
    on('closed', this.closed);
    this.active();
    this.updateState('connected', { socket_id: id });
  }

  private received(frame: { readonly data: string }): void {
    this.active();
    let event: ReturnType<typeof decode>;
    try {
      event = decode(frame);
    } catch (error) {
      this.emit('error', { type: 'MessageParseError', error, data: frame.data });
      return;
    }
    log.debug('Event recd', event);
    if (event.event === 'pusher:ping') this.send_event('pusher:pong', {});
    try {
      if (event.event === 'pusher:error')
        this.emit('error', { type: 'PusherError', data: event.data });
    } finally {
      this.emit('message', event);
    }
  }

  private closed(event: CloseEvent = {}): void {
    const { code, wasClean } = event;
    const lifeMs = Date.now() - this.connectedAtMs;
    if (!wasClean && lifeMs < 2 * this.owner.config.activityTimeout) {
      this.pingDelay = Math.max(lifeMs / 2, PING_DELAY_MIN_MS);
    }
    const error = code ? closeError(event) : undefined;
    this.report(closeAction(code), isProtocolCode(code) ? error : undefined, error);
  }

  /** Reports why there is no connection, and does what follows, unless a handler has decided otherwise. */
  private report(action: CloseAction, error: PusherError | undefined, first?: object): void {
    this.lastError = error;
    try {
      if (first) this.emit('error', first);
      if (error) this.emit('error', { type: 'WebSocketError', error });
    } finally {
      if (this.isTrying()) this.follow(action);
    }
  }

  /** Does what follows when there is no connection any more. */
  private follow(action: CloseAction): void {
    if (action === 'refused') {
      this.disconnect();
      return;
    }
    if (this.connection && Date.now() - this.connectedAtMs >= LASTING_MS) this.failures = 0;
    if (action === 'tls_only' && !this.usingTLS) {
      this.usingTLS = true;
      this.switchCluster(this.key);
      return;
    }
    const failures = this.failures++;
    this.retryIn(action === 'retry' && !failures ? 0 : backoffMs(failures));
  }

  /** Ends what there is, and connects after a delay; `undefined`: when the page says so. */
  private retryIn(delayMs?: number): void {
    this.stop();
    if (delayMs !== undefined) this.retryTimer = setTimeout(() => this.connect(), delayMs);
    this.isLate();
    if (delayMs && this.retryTimer) this.emit('connecting_in', Math.round(delayMs / 1000));
  }

  private stop(): void {
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    clearTimeout(this.activityTimer);
    this.runner?.abort();
    this.runner = undefined;
    const { connection } = this;
    this.connection = null;
    connection?.transport.close();
  }

  /** There is no connection. From the first moment on, the time without one is counted. */
  private isLate(): void {
    this.unavailableTimer ??= setTimeout(
      () => this.updateState('unavailable'),
      this.owner.config.unavailableTimeout,
    );
    if (this.state !== 'unavailable') this.updateState('connecting');
  }

  /** There was a sign of life. */
  private active(): void {
    clearTimeout(this.activityTimer);
    this.activityTimer = setTimeout(
      () => this.checkActivity(this.owner.config.pongTimeout),
      this.activityTimeout,
    );
  }

  private checkActivity(timeoutMs: number): void {
    clearTimeout(this.activityTimer);
    this.activityTimer = setTimeout(() => this.follow('retry'), timeoutMs);
    const { transport } = this.connection ?? {};
    if (transport?.supportsPing()) transport.ping();
    else this.send_event('pusher:ping', {});
  }

  private updateState(current: ConnectionState, data?: { readonly socket_id: string }): void {
    const previous = this.state;
    this.state = current;
    if (previous === current) return;
    const id = data ? ` with new socket ID ${data.socket_id}` : '';
    log.debug('State changed', `${previous} -> ${current}${id}`);
    this.emit('state_change', { previous, current });
    this.emit(current, data);
  }
}
