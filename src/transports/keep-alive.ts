import type { Server } from 'bun';
import { after, type MaybePromise } from '../channels/maybe-promise.ts';
import { announcedLength } from './body-intake.ts';
import { lastAnswer, refusedBodyBounds, saysClose, unreadBodyOf } from './refused-body.ts';

/** A request of `Bun.serve`. */
export interface ServedRequest {
  readonly request: Request;
  readonly server: Pick<Server<unknown>, 'timeout'>;
}

/**
 * Seconds after which a connection is closed that has not sent its first request, or the rest of a body. Single bytes
 * do not renew it.
 */
export const UNFINISHED_SECONDS = 30;

/** Lets connections stay open between their requests, until the server stops. */
export class KeepAlive {
  private readonly idleSeconds: number;
  private isStopping = false;

  /** `idleSeconds`: 0 for ever. */
  constructor(idleSeconds: number) {
    this.idleSeconds = idleSeconds;
  }

  /**
   * Lets the connection of a request be idle after its answer. Before, the shorter time of the listener holds, so that
   * the request must arrive in full. Bun returns to that time when the next request begins.
   */
  answer(served: ServedRequest, answer: MaybePromise<Response>): MaybePromise<Response> {
    return after(answer, (response) => {
      this.mark(response);
      if (response.status >= 400 && isUnread(served.request))
        return refused(served.request, response);
      this.answered(served);
      return response;
    });
  }

  /** Sets the idle timeout of a connection: the end of its answer is about to be sent. */
  answered({ request, server }: ServedRequest): void {
    server.timeout(request, this.idleSeconds);
  }

  /** Returns an answer that may begin later, and for whose end `answered` is called. */
  held(answer: MaybePromise<Response>): MaybePromise<Response> {
    return after(answer, (response) => {
      this.mark(response);
      return response;
    });
  }

  /** From now on, each connection closes after its next answer: clients then connect to another server in time. */
  stop(): void {
    this.isStopping = true;
  }

  private mark({ headers }: Response): void {
    if (this.isStopping) headers.set('connection', 'close');
  }
}

/** Whether a request has a body that nobody has begun to read. */
function isUnread({ method, headers, bodyUsed }: Request): boolean {
  if (bodyUsed || method === 'GET') return false;
  return headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0';
}

/**
 * Bun skips an unread body, unless the connection closes: then it would break while the client is still sending. The time
 * of the listener bounds what is skipped.
 */
function refused(request: Request, response: Response): Response {
  const closes =
    saysClose(request.headers.get('connection')) ||
    saysClose(response.headers.get('connection')) ||
    (announcedLength(request) ?? 0) > refusedBodyBounds.restBytes;
  const rest = closes ? unreadBodyOf(request) : undefined;
  return rest === undefined ? response : lastAnswer(response, rest);
}
