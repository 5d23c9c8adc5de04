import type { Server } from 'bun';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import { announcedLength, type BodyIntake, BodyRefusal } from '../body-intake.ts';
import type { ClientAddresses } from '../client-address.ts';
import { keyOf, type PackedAddress, packAddress } from '../clients/addresses/packed-address.ts';
import type { Clients } from '../clients/clients.ts';
import type { KeepAlive } from '../keep-alive.ts';
import { lastAnswer } from '../refused-body.ts';
import type { RequestTarget } from '../request-target.ts';
import { OPEN_TO_ALL, PREFLIGHT_HEADERS } from './headers.ts';
import type { Loss, ReceiveRequest, SessionHome, SessionHomes } from './homes/session-home.ts';
import { PollOutlet, StreamOutlet } from './outlets.ts';
import { ResponseEnd } from './response-end.ts';
import { numberOf, readSessionPath, type SessionPath } from './session-path.ts';

/** Throws if the text is not UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Counts requests with messages for unknown sessions. */
export interface FallbackMeter {
  readonly count: (counter: 'fallbackSessionsUnknown') => void;
}

export interface FallbackTransportOptions {
  readonly homes: SessionHomes;
  readonly clients: Pick<Clients, 'mayConnect'>;
  readonly meter: FallbackMeter;
  readonly addresses: ClientAddresses;
  /** With the limit of `sendLimit`. */
  readonly bodies: BodyIntake;
  /** Bytes of one message. */
  readonly clientFrameBytes: number;
  readonly socketsInUse: SocketMarks;
  readonly keepAlive: KeepAlive;
}

/** A request on its way. */
interface Exchange {
  readonly request: Request;
  readonly server: Server<unknown>;
  readonly target: RequestTarget;
}

/** Returns the limit of the body of one send. A JSON text gets at most twice as long inside a JSON string. Bytes. */
export function sendLimit(clientFrameBytes: number): number {
  return 2 * clientFrameBytes + 1024;
}

/**
 * The HTTP transports of pusher-js, for clients that cannot open a WebSocket: `xhr_streaming` and `xhr_polling`. Each request
 * is its own, so a session connects them. Source: HTTP transports.
 */
export class FallbackTransport {
  private readonly options: FallbackTransportOptions;

  constructor(options: FallbackTransportOptions) {
    this.options = options;
  }

  /** Answers a request for a path of which `isFallbackPath` is true. `path`: without the prefix of the server. */
  answer(path: string, exchange: Exchange): MaybePromise<Response> {
    const known = readSessionPath(path);
    if (known !== undefined && known.purpose !== 'send' && exchange.request.method === 'POST') {
      return this.receive(known, exchange);
    }
    return this.options.keepAlive.answer(exchange, this.answerAtOnce(known, exchange));
  }

  /** Answers a request that is not held. */
  private answerAtOnce(known: SessionPath | undefined, exchange: Exchange): MaybePromise<Response> {
    const { method } = exchange.request;
    if (known === undefined) return refuse(404, '404 NOT FOUND\n');
    if (method === 'OPTIONS')
      return new Response(null, { status: 204, headers: PREFLIGHT_HEADERS });
    if (method !== 'POST') {
      return refuse(405, '405 METHOD NOT ALLOWED: use POST\n', { allow: 'OPTIONS, POST' });
    }
    return this.send(known, exchange);
  }

  private receive(path: SessionPath, exchange: Exchange): MaybePromise<Response> {
    const { request, server } = exchange;
    const length = announcedLength(request);
    // Bun would keep an unread body for as long as the response is open.
    if (length !== undefined && length !== 0) return refuseBodyOfReceive();
    if (!request.headers.has('transfer-encoding')) return this.hold(path, exchange);
    // A proxy that gets HTTP/2 may not know the length, and announce chunks although the body is empty.
    const owner = String(keyOf(this.addressOf(request, server)));
    return this.options.bodies.read({ request, length, owner }, (body) =>
      body instanceof BodyRefusal || body.length > 0
        ? refuseBodyOfReceive()
        : this.hold(path, exchange),
    );
  }

  private hold(
    { session, key, purpose }: SessionPath,
    { request, server, target: { query } }: Exchange,
  ): MaybePromise<Response> {
    // Bun would end the response after its idle time even while it is written to.
    server.timeout(request, 0);
    const { socketsInUse, keepAlive } = this.options;
    const place = socketsInUse.placeOf(server.requestIP(request));
    socketsInUse.add(place);
    const isStream = purpose === 'stream';
    const end = new ResponseEnd();
    const Outlet = isStream ? StreamOutlet : PollOutlet;
    const outlet = new Outlet(request.signal, {
      // The connection may stay without a request, or a client may not read the end.
      last: () => keepAlive.answered({ request, server }),
      gone(how) {
        socketsInUse.remove(place);
        end.ended(how === 'lost' ? how : undefined);
      },
    });
    const receive: ReceiveRequest = {
      session,
      key,
      query,
      origin: request.headers.get('origin') ?? undefined,
      isStream,
      number: numberOf(query),
      address: this.addressOf(request, server),
    };
    void after(this.options.homes.receivingAt(receive), (home) => {
      // The client may have disconnected in the meantime.
      if (!end.isOver) end.passTo(home.receive(receive, outlet));
    });
    return this.options.keepAlive.held(outlet.response);
  }

  private send({ session }: SessionPath, exchange: Exchange): MaybePromise<Response> {
    const address = this.addressOf(exchange.request, exchange.server);
    return after(this.options.homes.knowing(session, address), (home) => {
      if (home === undefined) return this.unknown(address);
      return after(home.appOf(session), (app) => {
        if (app === undefined) return this.unknown(address);
        // One client of an app must not use up what its other clients need.
        const owner = `${app} ${keyOf(address)}`;
        return this.read({ session, home, owner }, exchange);
      });
    });
  }

  /** Usual right after a client has disconnected. Guesses count as new connections of their address, which have a rate. */
  private unknown(address: PackedAddress): Response {
    const { clients, meter } = this.options;
    meter.count('fallbackSessionsUnknown');
    return clients.mayConnect(address)
      ? refuse(404, 'No such session\n')
      : refuse(429, 'Too many requests from this address\n', CLOSE);
  }

  private addressOf(request: Request, server: Server<unknown>): PackedAddress {
    const { addresses } = this.options;
    const peer = addresses.peerOf(server.requestIP(request));
    return packAddress(addresses.of(peer, request.headers));
  }

  private read(
    { session, home, owner }: { session: string; home: SessionHome; owner: string },
    { request, target }: Exchange,
  ): MaybePromise<Response> {
    const { bodies, clientFrameBytes } = this.options;
    const length = announcedLength(request);
    const tooLarge = bodies.refuseLength(length);
    if (tooLarge !== undefined) return this.refuseBody(home, session, tooLarge);
    return bodies.read({ request, length, owner }, (body) => {
      if (body instanceof BodyRefusal) return this.refuseBody(home, session, body);
      const frames = readMessages(body);
      if (frames === undefined) return refuse(400, 'The body must be a JSON array of strings\n');
      if (frames.some((frame) => Buffer.byteLength(frame) > clientFrameBytes)) {
        home.lost(session, 'too-large');
        return refuse(413, `A message is longer than ${clientFrameBytes} bytes\n`);
      }
      home.send({ session, number: numberOf(target.query), frames });
      return new Response(null, { status: 204, headers: OPEN_TO_ALL });
    });
  }

  private refuseBody(
    home: SessionHome,
    session: string,
    { problem, text, rest }: BodyRefusal,
  ): Response {
    // The client does not look at the status, so a lost message must end its session.
    const why: Loss = problem === 'request-too-large' ? 'too-large' : 'not-received';
    home.lost(session, why);
    const response = refuse(STATUSES[problem], `${text}\n`, CLOSE);
    return rest === undefined ? response : lastAnswer(response, rest);
  }
}

const CLOSE = { connection: 'close' };

const STATUSES: Readonly<Record<BodyRefusal['problem'], number>> = {
  invalid: 400,
  'request-too-large': 413,
  overloaded: 503,
  timeout: 408,
};

function refuseBodyOfReceive(): Response {
  return refuse(413, 'A receive request has no body\n', CLOSE);
}

function refuse(
  status: number,
  text: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return new Response(text, {
    status,
    headers: { ...OPEN_TO_ALL, 'content-type': 'text/plain; charset=utf-8', ...headers },
  });
}

/** Reads the body of a send: a JSON array of strings, one message each. `undefined`: it is something else. */
function readMessages(body: Uint8Array): readonly string[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    // Malformed input is normal; the caller answers it.
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const messages: readonly unknown[] = value;
  return messages.every((message) => typeof message === 'string') ? messages : undefined;
}
