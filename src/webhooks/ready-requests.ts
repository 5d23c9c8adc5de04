import { randomUUIDv7 } from 'bun';
import type { NewOutboxRequest } from '../channels/outbox.ts';
import { ACCEPTED_CHARACTERS_MAX, ACCEPTED_EVENTS_MAX } from './limits.ts';

/** A request that only has to be kept and sent. Its id becomes a UUID. */
export type ReadyRequest = Pick<NewOutboxRequest, 'kind' | 'ownerId' | 'url' | 'endpoint' | 'body'>;

/** Holds requests in memory until they are taken to be written. */
export class ReadyRequests {
  private requests: NewOutboxRequest[] = [];
  private characters = 0;

  get count(): number {
    return this.requests.length;
  }

  /** `false` where there is no room for it. */
  add(request: ReadyRequest, nowMs: number): boolean {
    const { body } = request;
    if (
      this.requests.length >= ACCEPTED_EVENTS_MAX ||
      this.characters + body.length > ACCEPTED_CHARACTERS_MAX
    ) {
      return false;
    }
    this.characters += body.length;
    this.requests.push({
      ...request,
      id: randomUUIDv7('hex', nowMs),
      bodyBytes: Buffer.byteLength(body),
      createdAtMs: nowMs,
    });
    return true;
  }

  /** Everything held, in the order in which it came; then there is nothing. */
  take(): readonly NewOutboxRequest[] {
    const taken = this.requests;
    this.requests = [];
    this.characters = 0;
    return taken;
  }
}
