/** A program of the world, such as a server: it can die, stand still, and have a clock of its own. */
export class Context {
  readonly name: string;
  /** What its wall clock is ahead of the time of the world. Milliseconds. */
  clockAheadMs = 0;
  /** The share of a core that it seems to use. */
  busyShare = 0;
  /** How long each of its events takes. Milliseconds. */
  eventMs = 0;
  /** Nothing of it happens before this moment. Milliseconds of the kernel. */
  pausedUntilMs = 0;
  /** Nothing of it happens any more. */
  isDead = false;

  constructor(name: string) {
    this.name = name;
  }
}
