import { messageOf } from '../../../runtime/error-code.ts';
import type { Away } from '../link/redis-server.ts';
import {
  RedisAway,
  RedisError,
  RedisRefused,
  RedisUnsuitable,
  RedisUrlInvalid,
  type Reply,
} from '../link/reply.ts';

/*
 * Messages between the loops of one process about links to Redis. They are arrays rather than objects, because arrays
 * are cheaper to copy. What comes on streams is text: see `stream-texts.ts`.
 */

/** A message about one of the links, by its place in the list. */
export interface RedisLinkMessage {
  readonly type: 'redis';
  readonly link: number;
  readonly what: ToOwner | FromOwner;
}

/** From a loop to the loop that has the connections. */
export type ToOwner =
  | readonly ['open']
  | readonly ['run', number: number, args: readonly (string | number)[]]
  | readonly [
      'script',
      number: number,
      sha1: string,
      keys: readonly (string | number)[],
      args: readonly (string | number)[],
    ]
  /** Publishes an event of a partition, whose keys and streams begin so. */
  | readonly [
      'event',
      number: number,
      keys: string,
      streams: string,
      appId: string,
      topic: string,
      message: string,
    ]
  /** What follows must come after the events of an app in a partition. */
  | readonly ['after-events', keys: string, streams: string, appId: string]
  /** What follows must come after all events. */
  | readonly ['after-all-events']
  | readonly ['follow', number: number, stream: string]
  | readonly ['unfollow', stream: string]
  /** The loop has handled messages of streams with this many characters. */
  | readonly ['handled', characters: number]
  | readonly ['close'];

/** From the loop that has the connections. */
export type FromOwner =
  | readonly ['opened', state: LinkState]
  | readonly ['not-opened', failure: Failure]
  /** The reply to a command, or that a stream is followed. */
  | readonly ['answered', number: number, reply: Reply]
  | readonly ['failed', number: number, failure: Failure]
  | readonly ['away', state: LinkState]
  | readonly ['gap', why: string]
  | readonly ['back', state: LinkState];

/** See `RedisLink`. */
export interface LinkState {
  readonly away: Away | undefined;
  readonly master: string;
  readonly serverId: string;
  readonly dataId: string;
}

/** An error without its class, which is lost between threads. */
export type Failure = readonly [kind: keyof typeof ERRORS, message: string];

const ERRORS = {
  unsent: (why: string) => new RedisAway(why, false),
  lost: (why: string) => new RedisAway(why, true),
  error: (why: string) => new RedisError(why),
  refused: (why: string) => new RedisRefused(why),
  url: (why: string) => new RedisUrlInvalid(why),
  unsuitable: (why: string) => new RedisUnsuitable(why),
  other: (why: string) => new Error(why),
} as const;

export function failureOf(error: unknown): Failure {
  const message = messageOf(error);
  if (error instanceof RedisAway) return [error.mayHaveRun ? 'lost' : 'unsent', message];
  if (error instanceof RedisError) return ['error', message];
  if (error instanceof RedisRefused) return ['refused', message];
  if (error instanceof RedisUrlInvalid) return ['url', message];
  return [error instanceof RedisUnsuitable ? 'unsuitable' : 'other', message];
}

export function errorOf([kind, message]: Failure): Error {
  return ERRORS[kind](message);
}
