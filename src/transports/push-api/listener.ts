import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureContext } from 'node:tls';
import type { Log } from '../../channels/ports.ts';
import { Refusal } from '../../push/refusal.ts';
import { Load, type PushBounds, pushBounds } from './bounds.ts';
import type { Endpoints } from './call.ts';
import type { Connection } from './connection.ts';
import {
  type Certificate,
  type ConnectionFault,
  Door,
  type DoorEvents,
  type DoorSettings,
} from './door.ts';
import { Exchange, type ExchangeContext, type PushMeter } from './exchange.ts';
import { statuses } from './problems.ts';
import { familyOfPacket, rawAnswer, refusalOfFault } from './refused.ts';
import type { PushFamily } from './routes.ts';

export interface PushListenerContext {
  readonly log: Log;
  readonly meter: PushMeter;
}

/** An open push listener. To dispose of it lets the requests under way have their answers, within a bound. */
export interface PushListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number; readonly tls: boolean };
  /** Serves these from now on; before, their paths are answered with 503. */
  serve(endpoints: Endpoints): void;
  /**
   * Takes new connections with another certificate; of those that are open, idle ones end at once, the others
   * with their next answer. Fails, and leaves everything as it is, where the certificate cannot be used. Does
   * nothing on a listener without TLS.
   */
  replaceCertificate(tls: Certificate): Promise<void>;
}

/** Opens the port of the push side. Fails with what Node.js gives where it cannot, such as `EADDRINUSE`. */
export async function listenForPush(
  settings: DoorSettings,
  context: PushListenerContext,
  bounds: PushBounds = pushBounds,
): Promise<PushListener> {
  const listener = new Listener(settings, context, bounds);
  await listener.open();
  return listener;
}

/** How often a line of the log says that connections were refused, whatever their number. */
const CROWDED_LOG_MS = 60_000;

class Listener implements PushListener, ExchangeContext, DoorEvents {
  readonly bounds: PushBounds;
  readonly load = new Load();
  readonly log: Log;
  readonly meter: PushMeter;
  endpoints: Endpoints | undefined;
  private settings: DoorSettings;
  private readonly doors = new Set<Door>();
  private replaced: Promise<void> = Promise.resolve();
  private stopped = false;
  private crowdedLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(settings: DoorSettings, context: PushListenerContext, bounds: PushBounds) {
    this.settings = settings;
    this.log = context.log;
    this.meter = context.meter;
    this.bounds = bounds;
  }

  get address(): PushListener['address'] {
    const { host, port, tls } = this.settings;
    return { host, port, tls: tls !== undefined };
  }

  async open(): Promise<void> {
    const door = await Door.open(this.settings, this.bounds, this);
    this.settings = { ...this.settings, port: door.port };
    this.doors.add(door);
  }

  serve(endpoints: Endpoints): void {
    this.endpoints = endpoints;
  }

  replaceCertificate(tls: Certificate): Promise<void> {
    // One after the other: each needs the port.
    const replaced = this.replaced.then(() => this.replace(tls));
    this.replaced = replaced.catch(() => undefined);
    return replaced;
  }

  private async replace(tls: Certificate): Promise<void> {
    const before = this.settings;
    if (before.tls === undefined || this.stopped) return;
    // Tried first, since the old door must be shut before the new one can be opened.
    createSecureContext({ cert: tls.cert, key: tls.key });
    for (const door of this.doors) this.shut(door);
    this.settings = { ...before, tls };
    try {
      await this.open();
    } catch (error) {
      this.settings = before;
      await this.open();
      throw error;
    }
  }

  /** Its connections have as long as a request may take: Node.js looks after no time once it is closed. */
  private shut(door: Door): void {
    const timer = setTimeout(() => door.end(), this.bounds.requestMs);
    void door.close().then(() => {
      clearTimeout(timer);
      this.doors.delete(door);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopped = true;
    await this.replaced;
    const timer = setTimeout(() => {
      for (const door of this.doors) door.end();
    }, this.bounds.stopMs);
    await Promise.all([...this.doors].map((door) => door.close()));
    clearTimeout(timer);
  }

  request(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    asksFirst: boolean,
  ): void {
    new Exchange(this, connection, request, response, asksFirst).begin();
  }

  fault({ code = '', rawPacket }: ConnectionFault, connection: Connection): void {
    // More came than was announced as the last request. It gets its answer, and nothing else does.
    if (code === 'HPE_CLOSED_CONNECTION') return;
    const refusal = refusalOfFault(code);
    if (refusal === undefined || !connection.writable) {
      connection.destroy();
    } else if (connection.receiving !== undefined) {
      connection.receiving.breakOff(refusal);
    } else {
      // Of all faults, only this one comes while a client is likely to be sending still.
      const lingerMs = refusal.problem === 'head-too-large' ? this.bounds.lingerMs : 0;
      this.refuse(connection, refusal, familyOfPacket(rawPacket), lingerMs);
    }
  }

  tunnel(connection: Connection): void {
    const refusal = new Refusal('bad-request', 'CONNECT is for proxies, and this is none');
    this.refuse(connection, refusal, 'other', 0);
  }

  crowded(): void {
    const nowMs = performance.now();
    if (nowMs - this.crowdedLoggedMs < CROWDED_LOG_MS) return;
    this.crowdedLoggedMs = nowMs;
    this.log.warn('Push connections refused: there are as many as there may be', {
      limit: this.bounds.connections,
    });
  }

  /** Answers what is no request that could be answered. */
  private refuse(connection: Connection, refusal: Refusal, family: PushFamily, lingerMs: number) {
    if (!connection.endWith(rawAnswer(refusal, family), lingerMs)) return;
    const { status } = statuses[refusal.problem];
    this.log.info('Push request refused', {
      address: connection.address,
      status,
      why: refusal.description,
    });
    this.meter.count('pushRequests', 1, family, String(status));
  }
}
