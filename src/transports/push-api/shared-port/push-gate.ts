import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import { type PushProblem, PushRefusal } from '../../../push/refusal.ts';
import { addressKey } from '../../../runtime/ip-address.ts';
import { announcedLength, type BodyIntake, BodyRefusal } from '../../body-intake.ts';
import type { ClientAddresses } from '../../client-address.ts';
import { heldResponse } from '../../held-response.ts';
import { lastAnswer } from '../../refused-body.ts';
import { type RequestTarget, withOneSlash, withoutPrefix } from '../../request-target.ts';
import { SMALL_ANSWER } from '../../response-body.ts';
import type { UnreadAnswers } from '../../unread-answers.ts';
import { bodyBytesMax } from '../call.ts';
import { findRoute, type PushFamily } from '../routes.ts';
import { SOON_SECONDS } from '../server/check-head.ts';
import { rawResponse } from '../server/refusal-response.ts';
import { type PoolPlace, RequestPool } from '../server/request-pool.ts';
import { readAnswer } from './forwarded-answer.ts';
import type { ForwardedAnswer, ForwardedRequest } from './forwarded-request.ts';
import { isPushPath } from './push-path.ts';

/** Requests of backends on their way to push, and as many of others. Beyond, the address with the most loses its newest. */
const REQUESTS_MAX = 2_500;

export interface PushGateOptions {
  /** The prefix of push. */
  readonly pathPrefix: string;
  readonly addresses: ClientAddresses;
  /** With room for the longest body of push. */
  readonly bodies: BodyIntake;
  readonly unread: UnreadAnswers;
  /** Memory for the bodies of requests of backends, and as much for those of others. */
  readonly heldBytes: number;
  readonly forward: (request: ForwardedRequest) => void;
}

/** A request to push on the port of Channels. */
export interface GateRequest {
  readonly request: Request;
  readonly target: RequestTarget;
  /** The other end of the connection. */
  readonly peer: string;
}

/** A request that is on its way. */
interface Waiting {
  readonly owner: string;
  readonly isHead: boolean;
  readonly place: PoolPlace<string>;
  readonly resolve: (response: Response) => void;
}

/** Hands requests to push that come to the port of Channels to the loop that serves push, and its answers back. */
export class PushGate {
  private readonly options: PushGateOptions;
  private readonly backends: RequestPool<string>;
  private readonly others: RequestPool<string>;
  private readonly waiting = new Map<number, Waiting>();
  private forwarded = 0;

  constructor(options: PushGateOptions) {
    this.options = options;
    this.backends = new RequestPool(REQUESTS_MAX, options.heldBytes);
    this.others = new RequestPool(REQUESTS_MAX, options.heldBytes);
  }

  /** `path`: as sent. */
  takes(path: string): boolean {
    return isPushPath(path, this.options.pathPrefix);
  }

  /** Answers a request for a path that `takes` is true of. Never rejects. */
  answer({ request, target, peer }: GateRequest): MaybePromise<Response> {
    const { pathPrefix, addresses, bodies } = this.options;
    const path = withOneSlash(withoutPrefix(withOneSlash(target.path), pathPrefix));
    const found = findRoute(request.method, path);
    const { family } = found;
    const sent = { request, target, peer, family };
    const owner = addressKey(addresses.of(peer, request.headers));
    // Without an endpoint, the head alone decides.
    if (found.found !== 'endpoint') return this.forward(sent, owner, 0);
    const length = announcedLength(request);
    // It is refused by its head, so that nothing of the body is read.
    if (length !== undefined && length > bodyBytesMax(found.endpoint)) {
      return this.forward(sent, owner, length);
    }
    return bodies.read({ request, length, owner: `push ${owner}` }, (body) =>
      body instanceof BodyRefusal
        ? refusedBody(body, family)
        : this.forward(sent, owner, body.length, body),
    );
  }

  /** Hands an answer to the request that waits for it. */
  answered({ number, bytes }: ForwardedAnswer): void {
    const waiting = this.waiting.get(number);
    // It was evicted.
    if (waiting === undefined) return;
    this.waiting.delete(number);
    waiting.place.leave();
    waiting.resolve(this.responseOf(bytes, waiting));
  }

  private forward(
    { request, target, peer, family }: GateRequest & { readonly family: PushFamily },
    owner: string,
    bytes: number,
    body?: Uint8Array,
  ): MaybePromise<Response> {
    const number = ++this.forwarded;
    const { promise, resolve } = Promise.withResolvers<Response>();
    const evict = () => {
      this.waiting.delete(number);
      resolve(overloaded(family));
    };
    const pool = family === 'publish' || family === 'customer' ? this.backends : this.others;
    const place = pool.enter(owner, { evict });
    if (place === undefined) return overloaded(family);
    if (!place.reserve(body?.length ?? 0)) {
      place.leave();
      return overloaded(family);
    }
    const { method, headers } = request;
    this.waiting.set(number, { owner, isHead: method === 'HEAD', place, resolve });
    this.options.forward({
      number,
      method,
      target: target.query === '' ? target.path : `${target.path}?${target.query}`,
      headers: [...headers],
      peer,
      bytes,
      body,
    });
    return promise;
  }

  private responseOf(bytes: Uint8Array, { owner, isHead }: Waiting): Response {
    const { status, headers, body } = readAnswer(bytes);
    // `Bun.serve` adds both, but for HEAD.
    if (isHead) return new Response(null, { status, headers });
    headers.delete('date');
    headers.delete('content-length');
    if (body.length <= SMALL_ANSWER) {
      return new Response(body.length === 0 ? null : body, { status, headers });
    }
    const text = Buffer.from(body).toString();
    const { unread } = this.options;
    const held = heldResponse([text], { status, headers, owner: `push ${owner}`, unread });
    return held ?? overloaded('other');
  }
}

const PROBLEMS: Readonly<Record<BodyRefusal['problem'], PushProblem>> = {
  invalid: 'bad-request',
  'request-too-large': 'bad-request',
  overloaded: 'store',
  timeout: 'timeout',
};

function refusedBody({ problem, text, rest }: BodyRefusal, family: PushFamily): Response {
  const retryAfter = problem === 'overloaded' ? SOON_SECONDS : undefined;
  const response = refused(new PushRefusal(PROBLEMS[problem], text, retryAfter), family);
  return rest === undefined ? response : lastAnswer(response, rest);
}

function overloaded(family: PushFamily): Response {
  return refused(new PushRefusal('store', 'Server is overloaded, try again', SOON_SECONDS), family);
}

/** Refuses a request and closes its connection, as the push listener does. */
function refused(refusal: PushRefusal, family: PushFamily): Response {
  const { status, headers, body } = readAnswer(Buffer.from(rawResponse(refusal, family)));
  headers.delete('content-length');
  return new Response(body, { status, headers });
}
