import type { Server } from 'bun';
import type { Hub } from '../../channels/hub.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { errorMessage } from '../../channels/wire.ts';
import type { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import { announcedLength } from '../body-intake.ts';
import { ApiRefusal, invalid, refuseRequest, statuses } from '../channels-api/problems.ts';
import { type ApiMeter, ApiRefusals } from '../channels-api/refusals.ts';
import type { ClientAddresses } from '../client-address.ts';
import { addressOf, packAddress } from '../clients/addresses/packed-address.ts';
import type { Clients, RefusedClient } from '../clients/clients.ts';
import { closeCodes } from '../clients/closing/close-codes.ts';
import type { KeepAlive } from '../keep-alive.ts';
import { type RequestTarget, withoutPrefix } from '../request-target.ts';
import { StreamResponse } from '../stream-response.ts';
import { OPEN_TO_ALL, PREFLIGHT_HEADERS, STREAM_HEADERS } from './headers.ts';
import { type Reading, readStreamRequest, type StreamPath } from './read-request.ts';
import type { ReaderConnection } from './reader-connection.ts';
import { isOutdated, type Readers } from './readers.ts';
import { protocolText, TRY_LATER } from './stream-text.ts';
import { takeToken } from './take-token.ts';

export interface ReaderTransportOptions {
  readonly hub: Hub;
  readonly apps: AppDirectory;
  readonly clients: Pick<
    Clients,
    'mayConnect' | 'takePlace' | 'releasePlace' | 'refuse' | 'notOpened'
  >;
  readonly readers: Readers;
  readonly addresses: ClientAddresses;
  readonly pathPrefix: string;
  readonly socketsInUse: SocketMarks;
  readonly keepAlive: KeepAlive;
  readonly meter: ApiMeter;
}

/** A request for a stream. */
interface StreamExchange {
  readonly path: StreamPath;
  readonly request: Request;
  readonly server: Server<unknown>;
  readonly target: RequestTarget;
}

/** A request, and the connection that it gets if nothing is against it. */
interface Asked {
  readonly reading: Reading;
  readonly connection: ReaderConnection;
}

/** When whoever is refused for the moment may come back. Seconds. */
const RETRY_AFTER = '5';

/** What passes soon, and how clients that do not read events are told. */
const passing = {
  'rate-limited': 'Too many connections from this address',
  overloaded: 'The server has no room for another connection',
  stopping: 'Server is stopping',
} as const;

/** Lets HTTP clients read channels as server-sent events: one response, which gets what a WebSocket would get. */
export class ReaderTransport {
  private readonly options: ReaderTransportOptions;
  private readonly refusals: ApiRefusals;
  private isStopping = false;

  constructor(options: ReaderTransportOptions) {
    this.options = options;
    this.refusals = new ApiRefusals(options);
  }

  /** Sends new readers away from now on. */
  stop(): void {
    this.isStopping = true;
  }

  answer(exchange: StreamExchange): MaybePromise<Response> {
    const { keepAlive } = this.options;
    const asked = this.ask(exchange);
    if (asked instanceof Response) return keepAlive.answer(exchange, asked);
    return after(this.admit(exchange, asked), (refused) =>
      refused === undefined ? this.place(exchange, asked) : keepAlive.answer(exchange, refused),
    );
  }

  /** Decides about a token, before anything is taken for its client; `undefined`: it may read. */
  private admit(
    exchange: StreamExchange,
    { reading, connection }: Asked,
  ): MaybePromise<Response | undefined> {
    const { hub, clients } = this.options;
    const { token, channels } = reading;
    if (token === undefined) return undefined;
    const { request } = exchange;
    const taken = takeToken(hub, connection, { token, channels, signal: request.signal });
    return after(taken, (refused) => {
      if (refused === undefined) return undefined;
      clients.notOpened(connection);
      return refused === 'later'
        ? this.later(request, 'overloaded')
        : this.refuse(exchange, refused);
    });
  }

  private place(exchange: StreamExchange, asked: Asked): MaybePromise<Response> {
    const { keepAlive, clients } = this.options;
    return after(clients.takePlace(asked.reading.app), (hasPlace) => {
      const begun = this.placed(exchange, asked, hasPlace);
      return begun instanceof Response
        ? keepAlive.answer(exchange, begun)
        : keepAlive.held(begun.response);
    });
  }

  /** Reads a request, or answers one that gets no stream. */
  private ask(exchange: StreamExchange): Asked | Response {
    const { apps, clients, hub, pathPrefix, readers } = this.options;
    const { request, path, target } = exchange;
    const { method, headers } = request;
    if (method === 'OPTIONS') {
      return new Response(null, { status: 204, headers: PREFLIGHT_HEADERS });
    }
    if (method !== 'GET') {
      const text = '405 METHOD NOT ALLOWED: use GET\n';
      return this.refuse(exchange, new ApiRefusal('wrong-method', text, { allow: 'GET, OPTIONS' }));
    }
    // Bun would keep an unread body for as long as the response is open.
    if (headers.has('transfer-encoding') || (announcedLength(request) ?? 0) !== 0) {
      const { problem, text } = invalid('A request that reads channels has no body');
      return this.refuse(exchange, new ApiRefusal(problem, text, { connection: 'close' }));
    }
    const address = packAddress(this.senderOf(exchange));
    if (!clients.mayConnect(address)) return this.later(request, 'rate-limited');
    const head = { path, target, headers, pathPrefix };
    const reading = readStreamRequest(apps, head, hub.clock.now());
    if (reading instanceof ApiRefusal) return this.refuse(exchange, reading);
    if (this.isStopping) return this.later(request, 'stopping');
    return { reading, connection: readers.make(reading, address) };
  }

  /** Goes on once the quota of the app has answered. */
  private placed(
    exchange: StreamExchange,
    { reading, connection }: Asked,
    hasPlace: boolean,
  ): StreamResponse | Response {
    const { apps, clients, readers, hub, meter } = this.options;
    const { app } = reading;
    if (!hasPlace) return this.overQuota(connection);
    // Both may have changed in the meantime.
    const isGone = exchange.request.signal.aborted;
    if (isGone || isOutdated(reading, apps.byId(app.id))) {
      clients.releasePlace(app);
      return this.refuse(exchange, new ApiRefusal('app-disabled', 'The app is disabled'));
    }
    const full = readers.makeRoomFor(connection);
    if (full !== undefined) {
      this.refuseClient(full);
      return this.later(exchange.request, 'overloaded');
    }
    const response = this.open(exchange, connection);
    hub.usage.charge(app, 1, 'clients');
    meter.count('requests', 1, '200');
    readers.begin(connection, reading);
    return response;
  }

  private open({ request, server }: StreamExchange, connection: ReaderConnection): StreamResponse {
    const { socketsInUse, keepAlive } = this.options;
    // Bun would end the response after its idle time even while it is written to.
    server.timeout(request, 0);
    const place = socketsInUse.placeOf(server.requestIP(request));
    socketsInUse.add(place);
    const response = new StreamResponse(request.signal, STREAM_HEADERS, {
      // The connection may stay without a request, or a client may not read the end.
      last: () => keepAlive.answered({ request, server }),
      gone() {
        socketsInUse.remove(place);
        connection.gone();
      },
    });
    connection.attach(response);
    return response;
  }

  private overQuota({ app, address }: ReaderConnection): Response {
    const problem = 'app-over-quota';
    const { message } = closeCodes[problem];
    this.refuseClient({ problem, message, address: addressOf(address), app });
    const text = 'The app has as many connections as it may have';
    return this.plain('rate-limited', text, {});
  }

  /** Counts, logs and notes a connection that is refused. The answer says it to the client. */
  private refuseClient(refused: RefusedClient): void {
    this.options.clients.refuse({ send: nothing, close: nothing }, refused);
  }

  /**
   * Sends somebody away who may come back soon. EventSource would never come back after another status than 200, so whoever reads
   * events is told by one.
   */
  private later(request: Request, problem: keyof typeof passing): Response {
    if (request.headers.get('accept')?.includes('text/event-stream') !== true) {
      return this.plain(problem, passing[problem], { 'retry-after': RETRY_AFTER });
    }
    this.options.meter.count('requests', 1, '200');
    const { code, message } = closeCodes['server-over-capacity'];
    return new Response(`${TRY_LATER}${protocolText(errorMessage(code, message))}`, {
      headers: STREAM_HEADERS,
    });
  }

  private plain(
    problem: keyof typeof passing,
    text: string,
    headers: Readonly<Record<string, string>>,
  ): Response {
    this.options.meter.count('requests', 1, `${statuses[problem].status}`);
    return refuseRequest(problem, text, { ...OPEN_TO_ALL, ...headers });
  }

  private refuse(exchange: StreamExchange, refusal: ApiRefusal): Response {
    const { request, target, path } = exchange;
    const refused = {
      request,
      path: withoutPrefix(target.path, this.options.pathPrefix),
      sender: () => this.senderOf(exchange),
    };
    const response = this.refusals.refuseUnsigned(refused, refusal, path.appId);
    for (const [name, value] of Object.entries(OPEN_TO_ALL)) response.headers.set(name, value);
    return response;
  }

  private senderOf({ request, server }: StreamExchange): string {
    const { addresses } = this.options;
    return addresses.of(addresses.peerOf(server.requestIP(request)), request.headers);
  }
}

function nothing(): void {
  // The answer to the request says why.
}
