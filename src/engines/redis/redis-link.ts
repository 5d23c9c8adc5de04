import type { Script } from './scripts/script.ts';

/** What Redis answers. An error rejects the command instead. */
export type Reply = string | number | null | Error | readonly Reply[];

/** What the engine is told by its link to one Redis server. */
export interface LinkEvents {
  /** Commands fail from now on. */
  onAway(why: string): void;
  onBack(): void;
  /** A message of a followed channel. */
  onMessage(channel: string, payload: string): void;
  /** Messages were missed. Everything is followed again. */
  onGap(): void;
}

/**
 * The link to one Redis server.
 *
 * Commands take effect in the order of the calls, and are never repeated. One whose reply is lost rejects, and may have run.
 */
export interface RedisLink {
  /** Whether commands can be expected to succeed. */
  readonly isUp: boolean;
  run(args: readonly (string | number)[]): Promise<Reply>;
  script(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply>;
  /** Resolves when Redis has confirmed it. Waits while Redis is away. */
  follow(channel: string): Promise<void>;
  unfollow(channel: string): void;
}
