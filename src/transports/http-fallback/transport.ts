import type { Server } from 'bun';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import { announcedLength, type BodyIntake, BodyRefusal } from '../body-intake.ts';
import type { ClientAddresses } from '../client-address.ts';
import { packAddress } from '../clients/packed-address.ts';
import type { RequestTarget } from '../request-target.ts';
import { OPEN_TO_ALL, PREFLIGHT_HEADERS } from './headers.ts';
import { PollOutlet, StreamOutlet } from './outlets.ts';
import { readMessages } from './read-messages.ts';
import { numberOf, readSessionPath, type SessionPath } from './session-path.ts';
import type { SessionHome } from './sessions.ts';

export interface FallbackTransportOptions {
  /** Returns where a session lives. */
  readonly homeOf: (session: string) => SessionHome;
  readonly addresses: ClientAddresses;
  /** With the limit of `sendLimit`. */
  readonly bodies: BodyIntake;
  /** Bytes of one message. */
  readonly clientFrameBytes: number;
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
    const { method } = exchange.request;
    if (known === undefined) return refuse(404, '404 NOT FOUND\n');
    if (method === 'OPTIONS')
      return new Response(null, { status: 204, headers: PREFLIGHT_HEADERS });
    if (method !== 'POST') {
      return refuse(405, '405 METHOD NOT ALLOWED: use POST\n', { allow: 'OPTIONS, POST' });
    }
    return known.purpose === 'send' ? this.send(known, exchange) : this.receive(known, exchange);
  }

  private receive(
    { session, key, purpose }: SessionPath,
    { request, server, target: { query } }: Exchange,
  ): MaybePromise<Response> {
    // Bun would keep a body that nobody reads for as long as the response is open.
    if (hasBody(request)) return refuse(413, 'A receive request has no body\n', CLOSE);
    // Bun would end the response after its idle time even while it is written to.
    server.timeout(request, 0);
    const client = this.options.addresses.of(
      server.requestIP(request)?.address ?? '',
      request.headers,
    );
    const isStream = purpose === 'stream';
    let ended = false;
    let tellHome = () => {
      ended = true;
    };
    const Outlet = isStream ? StreamOutlet : PollOutlet;
    const outlet = new Outlet(request.signal, () => tellHome());
    const onEnd = this.options
      .homeOf(session)
      .receive(
        { session, key, query, isStream, number: numberOf(query), address: packAddress(client) },
        outlet,
      );
    if (ended) onEnd();
    else tellHome = onEnd;
    return outlet.response;
  }

  private send({ session }: SessionPath, { request, target }: Exchange): MaybePromise<Response> {
    const home = this.options.homeOf(session);
    return after(home.appOf(session), (owner) => {
      // Usual right after a client has disconnected.
      if (owner === undefined) return refuse(404, 'No such session\n');
      const { bodies } = this.options;
      const length = announcedLength(request);
      const tooLarge = bodies.refuseLength(length);
      if (tooLarge !== undefined) return this.refuseBody(home, session, tooLarge);
      return bodies.read({ request, length, owner }, (body) => {
        if (body instanceof BodyRefusal) return this.refuseBody(home, session, body);
        const frames = readMessages(body);
        if (frames === undefined) return refuse(400, 'The body must be a JSON array of strings\n');
        const { clientFrameBytes } = this.options;
        if (frames.some((frame) => Buffer.byteLength(frame) > clientFrameBytes)) {
          home.tooLarge(session);
          return refuse(413, `A message is longer than ${clientFrameBytes} bytes\n`);
        }
        home.send({ session, number: numberOf(target.query), frames });
        return new Response(null, { status: 204, headers: OPEN_TO_ALL });
      });
    });
  }

  private refuseBody(home: SessionHome, session: string, { problem, text }: BodyRefusal): Response {
    // The client never looks at the status, so what is lost must end its session.
    if (problem === 'request-too-large') home.tooLarge(session);
    const status = STATUSES[problem];
    return refuse(status, `${text}\n`, CLOSE);
  }
}

const CLOSE = { connection: 'close' };

const STATUSES: Readonly<Record<BodyRefusal['problem'], number>> = {
  invalid: 400,
  'request-too-large': 413,
  overloaded: 503,
  timeout: 408,
};

function hasBody({ headers }: Request): boolean {
  return (headers.get('content-length') ?? '0') !== '0' || headers.has('transfer-encoding');
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
