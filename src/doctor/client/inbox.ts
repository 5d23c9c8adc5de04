import { Bell } from './bell.ts';
import type { ServerMessage } from './client-messages.ts';

/** How a connection ended: the server's close code, or without one (1006). */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** What was received during a wait. */
export type ReceivedMessage =
  | { readonly kind: 'message'; readonly message: ServerMessage; readonly atMs: number }
  | { readonly kind: 'ended'; readonly ending: Ending }
  | { readonly kind: 'nothing' };

/** A message, and the moment of `performance.now()` when it came. */
interface Arrived {
  readonly message: ServerMessage;
  readonly atMs: number;
}

export const NO_CLOSE_FRAME: Ending = { code: 1006, reason: '' };

/** The limit of unread messages. Beyond it, the oldest are dropped. */
const MESSAGES_MAX = 1000;

/** The messages of a server on one connection. */
export class Inbox {
  /** Rings with each message, and at the end. */
  readonly bell = new Bell();
  private messages: Arrived[] = [];
  private ended: Ending | undefined;

  get ending(): Ending | undefined {
    return this.ended;
  }

  add(message: ServerMessage): void {
    this.messages.push({ message, atMs: performance.now() });
    if (this.messages.length > MESSAGES_MAX) this.messages.shift();
    this.bell.ring();
  }

  /** The first ending counts. */
  end(ending: Ending): void {
    this.ended ??= ending;
    this.bell.ring();
  }

  /** The first message, past or to come, that matches; it is taken, and those before it stay. */
  async receives(
    match: (message: ServerMessage) => boolean,
    timeoutMs: number,
  ): Promise<ReceivedMessage> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const arrived = this.messages.find(({ message }) => match(message));
      if (arrived !== undefined) {
        this.messages = this.messages.filter((other) => other !== arrived);
        return { kind: 'message', ...arrived };
      }
      if (this.ended !== undefined) return { kind: 'ended', ending: this.ended };
      if (performance.now() >= deadlineMs) return { kind: 'nothing' };
      await this.bell.heardBefore(deadlineMs);
    }
  }

  /** Whether there is an unread message that matches. */
  hasHeard(match: (message: ServerMessage) => boolean): boolean {
    return this.messages.some(({ message }) => match(message));
  }
}
