import { messageOf } from '../../../runtime/error-code.ts';
import type { RedisEndpoint } from './address.ts';
import { RedisAway, RedisRefused, type Reply } from './reply.ts';

export interface SentinelsOptions {
  readonly endpoints: readonly RedisEndpoint[];
  /** The name of the primary at the sentinels. */
  readonly name: string;
  /** Sends one command to a sentinel, over a connection of its own. */
  readonly ask: (endpoint: RedisEndpoint, command: readonly string[]) => Promise<Reply>;
}

interface Answer {
  readonly primary: RedisEndpoint;
  /** The configuration epoch, which grows with each failover. */
  readonly epoch: number;
}

/** Reasons that a message names. */
const NAMED_MAX = 3;

/**
 * Asks all sentinels for the primary. Of their answers, the one with the highest epoch is right: a sentinel that was
 * cut off continues to name the old primary. If none knows it, rejects with `RedisRefused` if each of them answered
 * with an error, otherwise with `RedisAway`.
 */
export async function findPrimary({
  endpoints,
  name,
  ask,
}: SentinelsOptions): Promise<RedisEndpoint> {
  const asked = await Promise.allSettled(
    endpoints.map(async (endpoint) =>
      readAnswer(await ask(endpoint, ['SENTINEL', 'MASTER', name])),
    ),
  );
  let latest: Answer | undefined;
  const failures: unknown[] = [];
  for (const answer of asked) {
    if (answer.status === 'rejected') failures.push(answer.reason);
    else if (latest === undefined || answer.value.epoch > latest.epoch) latest = answer.value;
  }
  if (latest !== undefined) return latest.primary;
  const refusals = failures.filter((failure) => failure instanceof RedisRefused);
  // A sentinel that refuses says more than one that is away.
  const named = (refusals.length > 0 ? refusals : failures).map(messageOf).slice(0, NAMED_MAX);
  const why = `no sentinel knows the primary ${name}: ${named.join('; ')}`;
  const isRefused = refusals.length === failures.length;
  throw isRefused ? new RedisRefused(why) : new RedisAway(why, false);
}

/** Reads the reply to `SENTINEL MASTER`: alternating names and values. */
function readAnswer(reply: Reply): Answer {
  const list = Array.isArray(reply) ? reply : [];
  const fieldOf = (name: string) => String(list[list.indexOf(name) + 1]);
  const primary = { host: fieldOf('ip'), port: Number(fieldOf('port')) };
  const epoch = Number(fieldOf('config-epoch'));
  if (!Number.isInteger(primary.port) || !Number.isInteger(epoch)) {
    throw new RedisAway('a sentinel gave no address', false);
  }
  return { primary, epoch };
}
