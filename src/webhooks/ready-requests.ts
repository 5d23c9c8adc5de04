import { randomUUIDv7 } from 'bun';
import { FairQueue } from '../runtime/fair-queue.ts';
import { ACCEPTED_CHARACTERS_MAX, ACCEPTED_EVENTS_MAX } from './limits.ts';
import type { NewOutboxRequest } from './outbox.ts';

/** A request that only has to be kept and sent. */
export type ReadyRequest = Pick<
  NewOutboxRequest,
  'kind' | 'ownerId' | 'url' | 'endpoint' | 'body'
> & {
  /**
   * A UUID that begins with when it was made, as those of version 7 do. Where one of it is in the store already, it
   * is kept and sent once. `undefined`: it gets another.
   */
  readonly id: string | undefined;
  /** The id of another one, before which this one is not sent. */
  readonly afterId?: string;
};

/** One that was taken, and how to tell that it need not be held any more. */
export interface HeldRequest {
  readonly request: NewOutboxRequest;
  readonly settle: () => void;
}

/** Holds requests in memory until they are taken to be written. Instances share the room. */
export class ReadyRequests {
  private readonly held = new FairQueue<HeldRequest>({
    items: ACCEPTED_EVENTS_MAX,
    bytes: ACCEPTED_CHARACTERS_MAX,
  });

  get count(): number {
    return this.held.total.items;
  }

  /** Gives what had to be dropped for it, which may be the request itself. `settle` is called by whoever gets it. */
  add(request: ReadyRequest, nowMs: number, settle: () => void): readonly HeldRequest[] {
    const { body, ownerId } = request;
    const held: HeldRequest = {
      request: {
        ...request,
        id: request.id ?? randomUUIDv7('hex', nowMs),
        afterId: request.afterId,
        bodyBytes: Buffer.byteLength(body),
        createdAtMs: nowMs,
      },
      settle,
    };
    return this.held.push(ownerId, held, { items: 1, bytes: body.length }).map(({ item }) => item);
  }

  /** Takes requests of all instances in turn. */
  take(requestsMax = Number.POSITIVE_INFINITY): readonly HeldRequest[] {
    return this.held.take(requestsMax).map(({ item }) => item);
  }
}
