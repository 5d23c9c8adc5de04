import type { Server } from 'bun';
import { after, type MaybePromise } from '../channels/maybe-promise.ts';

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

/** Lets connections stay open between their requests. */
export class KeepAlive {
  private readonly idleSeconds: number;

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
      this.answered(served);
      return response;
    });
  }

  /** The same for an answer whose end is about to be sent. */
  answered({ request, server }: ServedRequest): void {
    server.timeout(request, this.idleSeconds);
  }
}
