import type { Timers } from '../../../../runtime/ports.ts';
import { Recent } from '../../../../runtime/recent.ts';
import { pause } from '../../../../runtime/time/pause.ts';
import type { RedisEndpoint } from '../address.ts';
import { fieldsOf, type RedisProcess } from '../check-server.ts';
import type { Reply } from '../reply.ts';

/** A master, and where it can be asked. */
export interface ClusterMaster {
  readonly process: RedisProcess;
  readonly endpoint: RedisEndpoint;
}

export interface HandOversOptions {
  /** Sends one command to a server, over a connection of its own. */
  readonly ask: (endpoint: RedisEndpoint, command: readonly string[]) => Promise<Reply>;
  readonly timers: Timers;
}

/** How long a former master may take to follow the new one. It usually takes a few milliseconds. */
const FOLLOWED_MAX_MS = 3_000;
/** One that does not answer must not delay the slot for as long. */
const ANSWERED_MAX_MS = 1_000;
const AGAIN_MS = 50;
/** The limit of answers that are remembered. */
const ANSWERS_MAX = 100;

/**
 * Finds out whether a replica was promoted with all writes of its master, as `CLUSTER FAILOVER` does it. The connections to
 * all slots of a cluster share it.
 *
 * The former master is the proof: it becomes a replica of the new one, and continues without a full copy only if it had
 * written nothing that the new one lacks.
 */
export class HandOvers {
  private readonly options: HandOversOptions;
  private readonly answers = new Recent<string, Promise<boolean>>(ANSWERS_MAX);

  constructor(options: HandOversOptions) {
    this.options = options;
  }

  /** Whether `now`, which has replaced a master, is known to have all that this master had. Never rejects. */
  isComplete(before: ClusterMaster, now: RedisProcess): Promise<boolean> {
    const { process } = before;
    const isReplica = now.formerDataId !== '' && now.formerDataId === process.dataId;
    if (!isReplica || now.id === process.id) return Promise.resolve(false);
    const key = `${process.id} ${process.dataId} ${now.dataId}`;
    const answer = this.answers.get(key) ?? this.examine(before, now).catch(() => false);
    this.answers.set(key, answer);
    return answer;
  }

  private async examine({ process, endpoint }: ClusterMaster, now: RedisProcess): Promise<boolean> {
    const { ask, timers } = this.options;
    const untilMs = timers.now() + FOLLOWED_MAX_MS;
    while (timers.now() < untilMs) {
      const info = await Promise.race([ask(endpoint, ['INFO']), pause(timers, ANSWERED_MAX_MS)]);
      if (info === undefined) return false;
      const isComplete = readFormer(String(info), process, now);
      if (isComplete !== undefined) return isComplete;
      await pause(timers, AGAIN_MS);
    }
    return false;
  }
}

/** Reads what a former master replies to `INFO`. `undefined`: it does not have the data of the new master yet. */
function readFormer(info: string, before: RedisProcess, now: RedisProcess): boolean | undefined {
  const fields = fieldsOf(info);
  if (fields.get('role') !== 'slave' || fields.get('master_replid') !== now.dataId) {
    return undefined;
  }
  return fields.get('run_id') === before.id && fields.get('master_replid2') === before.dataId;
}
