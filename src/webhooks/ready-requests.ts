import { randomUUIDv7 } from 'bun';
import type { NewOutboxRequest } from '../channels/outbox.ts';
import { ACCEPTED_CHARACTERS_MAX, ACCEPTED_EVENTS_MAX } from './limits.ts';

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

/** Holds requests in memory until they are taken to be written. */
export class ReadyRequests {
  private requests: HeldRequest[] = [];
  private characters = 0;

  get count(): number {
    return this.requests.length;
  }

  /** `false` where there is no room for it. `settle` is called by whoever takes it. */
  add(request: ReadyRequest, nowMs: number, settle: () => void): boolean {
    const { body } = request;
    if (
      this.requests.length >= ACCEPTED_EVENTS_MAX ||
      this.characters + body.length > ACCEPTED_CHARACTERS_MAX
    ) {
      return false;
    }
    this.characters += body.length;
    this.requests.push({
      request: {
        ...request,
        id: request.id ?? randomUUIDv7('hex', nowMs),
        afterId: request.afterId,
        bodyBytes: Buffer.byteLength(body),
        createdAtMs: nowMs,
      },
      settle,
    });
    return true;
  }

  /** Everything held, in the order in which it came; then there is nothing. */
  take(): readonly HeldRequest[] {
    const taken = this.requests;
    this.requests = [];
    this.characters = 0;
    return taken;
  }
}
