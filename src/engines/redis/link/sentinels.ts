import { messageOf } from '../../../runtime/error-code.ts';
import type { Endpoint } from './address.ts';
import type { Connection } from './connection.ts';
import { loginFailure } from './log-in.ts';
import { RedisAway, RedisRefused, type Reply } from './reply.ts';

export interface SentinelsOptions {
  readonly endpoints: readonly Endpoint[];
  /** The name of the primary at the sentinels. */
  readonly name: string;
  readonly connect: (endpoint: Endpoint) => Promise<Connection>;
}

interface Answer {
  readonly primary: Endpoint;
  /** The configuration epoch, which grows with each failover. */
  readonly epoch: number;
}

/**
 * Asks all sentinels for the primary. Of their answers, the one with the highest epoch is right: a sentinel that was
 * cut off continues to name the old primary. If none knows it, rejects with `RedisRefused` if each of them answered
 * with an error, otherwise with `RedisAway`.
 */
export async function findPrimary({
  endpoints,
  name,
  connect,
}: SentinelsOptions): Promise<Endpoint> {
  const asked = await Promise.allSettled(
    endpoints.map(async (endpoint) => {
      const connection = await connect(endpoint);
      try {
        return readAnswer(await connection.request(['SENTINEL', 'MASTER', name]));
      } catch (error) {
        throw loginFailure(error);
      } finally {
        connection.end('asked');
      }
    }),
  );
  let latest: Answer | undefined;
  let failure: unknown;
  let isRefused = true;
  for (const answer of asked) {
    if (answer.status === 'rejected') {
      failure = answer.reason;
      isRefused &&= failure instanceof RedisRefused;
    } else if (latest === undefined || answer.value.epoch > latest.epoch) latest = answer.value;
  }
  if (latest !== undefined) return latest.primary;
  const why = `no sentinel knows the primary ${name}: ${messageOf(failure)}`;
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
