import { messageOf } from './error-code.ts';
import { LogThrottle } from './logging/log-throttle.ts';

/** Thrown by readers of messages: the message is damaged, or of a release that has other messages. */
export class Unreadable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'Unreadable';
  }
}

/** Who sent a message: a script about a topic, a loop of another server, another server, a loop of this process. */
export type MessageOrigin = 'topic' | 'loop' | 'server' | 'thread';

export interface UnreadableMessagesOptions {
  readonly log: {
    warn(message: string, fields: Readonly<Record<string, string | number | undefined>>): void;
  };
  readonly meter: {
    readonly count: (id: 'messagesUnreadable', by: number, from: MessageOrigin) => void;
  };
  readonly clock: { now(): number };
}

/** The limit of characters of a stream's name, and of a reason, in a line of the log. */
const SHOWN_MAX = 200;

/**
 * Drops messages that could not be read or handled, so that none of them ends the process: counts each, and logs one
 * a minute for each origin.
 */
export class UnreadableMessages {
  private readonly options: UnreadableMessagesOptions;
  private readonly throttle: LogThrottle;

  constructor(options: UnreadableMessagesOptions) {
    this.options = options;
    this.throttle = new LogThrottle(options.clock);
  }

  /** `error`: what reading or handling it has thrown. */
  drop(from: MessageOrigin, stream: string, error: unknown): void {
    const { log, meter } = this.options;
    meter.count('messagesUnreadable', 1, from);
    const isUnreadable = error instanceof Unreadable || error instanceof SyntaxError;
    const text = isUnreadable
      ? 'Dropped a message that cannot be read'
      : 'Dropped a message that could not be handled';
    const fields = { from, stream: stream.slice(0, SHOWN_MAX) };
    const why = messageOf(error).slice(0, SHOWN_MAX);
    this.throttle.run(`${from} ${isUnreadable}`, (throttled) =>
      log.warn(text, { ...fields, why, ...throttled }),
    );
  }
}
