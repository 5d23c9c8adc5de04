/** What Redis answers (RESP2). An error inside an array is a value; an error on its own rejects the command. */
export type Reply = string | number | null | RedisError | Reply[];

/** Reads an array of texts. What is something else is left out. */
export function textsOf(reply: Reply | undefined): readonly string[] {
  return Array.isArray(reply) ? reply.filter((one) => typeof one === 'string') : [];
}

/** Redis refused a command, or a script failed. */
export class RedisError extends Error {
  /** The first word of the error, for example `NOSCRIPT`, `OOM` or `READONLY`. */
  readonly code: string;

  constructor(message: string) {
    super(message);
    this.name = 'RedisError';
    this.code = message.split(' ', 1)[0] ?? '';
  }
}

/** A command without an answer: Redis is away, or too many commands wait for it. */
export class RedisAway extends Error {
  /** Whether Redis may have run the command: it was sent, and its reply is lost. */
  readonly mayHaveRun: boolean;

  constructor(why: string, mayHaveRun: boolean) {
    super(why);
    this.name = 'RedisAway';
    this.mayHaveRun = mayHaveRun;
  }
}

/** The address of Redis cannot be read. */
export class RedisUrlInvalid extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'RedisUrlInvalid';
  }
}

/** The server is of a kind that cannot be used, and no attempt will change that: the address must be another one. */
export class RedisUnsuitable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'RedisUnsuitable';
  }
}

/** The server answers, but cannot be used. An operator must act, here or there. */
export class RedisRefused extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'RedisRefused';
  }
}
