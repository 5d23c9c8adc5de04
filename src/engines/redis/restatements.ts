import { EngineUnavailable } from '../../channels/engine-failure.ts';
import type { Reply } from './link/reply.ts';
import type { RedisScript } from './link/script.ts';
import { STATE_AGAIN } from './scripts/statements.ts';

/**
 * Why everything is stated again: the last statement may have been lost; this node was fenced, so everything it held
 * was taken from it; or Redis has lost data.
 */
export type RestateReason = 'unsure' | 'fenced' | 'lost';

/** What a loop holds of one topic, and states to the authority. */
export interface Stated {
  restate(reason: RestateReason): Promise<void>;
  /** After a loss of data: every node has had time to repeat its statements. */
  complete(): void;
}

/** What is stated again of a channel. */
export interface Restatement {
  readonly topic: string;
  /** Subscriptions. At least one. */
  readonly held: number;
  /** See `STATE`. */
  readonly flags: string;
  readonly mode: string;
  /** For each member `+`, user id and info. */
  readonly members: readonly string[];
}

interface Waiting {
  readonly restatement: Restatement;
  readonly resolve: (answer: readonly Reply[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What a partition does for its restatements. */
interface StatingPartition {
  /** The topics whose last statement may have been lost. */
  readonly unsure: Set<Stated>;
  /** Makes a statement. Returns its answer. */
  state(script: RedisScript, args: readonly (string | number)[]): Promise<readonly Reply[]>;
}

/** The limit of topics that are stated at the same time. */
const AT_ONCE = 128;
/** The limits of one call, so that no script runs for long. A channel with more goes alone. */
const CALL_MAX = { members: 256, characters: 256 * 1024 };

/** What a node states again in one partition. Channels that are stated again in the same turn share a call. */
export class Restatements {
  private readonly partition: StatingPartition;
  /** `undefined`: nothing waits for others. */
  private waiting: Waiting[] | undefined;

  constructor(partition: StatingPartition) {
    this.partition = partition;
  }

  /** States each topic again. Topics whose statement fails stay unconfirmed. */
  async make(all: ReadonlySet<Stated>, reason: RestateReason): Promise<void> {
    const { unsure } = this.partition;
    const topics = [...all];
    for (const one of topics) unsure.add(one);
    for (let n = 0; n < topics.length; n += AT_ONCE) {
      this.waiting = [];
      const made = topics.slice(n, n + AT_ONCE).map(async (one) => {
        unsure.delete(one);
        try {
          await one.restate(reason);
        } catch (error) {
          unsure.add(one);
          throw error;
        }
      });
      const { waiting } = this;
      this.waiting = undefined;
      for (const call of inCalls(waiting)) void this.call(call);
      await Promise.all(made);
    }
  }

  /** States a channel again. Resolves with an answer like that of `STATE`. */
  state(restatement: Restatement): Promise<readonly Reply[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Reply[]>();
    const one = { restatement, resolve, reject };
    if (this.waiting === undefined) void this.call([one]);
    else this.waiting.push(one);
    return promise;
  }

  private async call(some: readonly Waiting[]): Promise<void> {
    try {
      const args = some.flatMap(({ restatement: { topic, held, flags, mode, members } }) => [
        ...[topic, held, flags, mode, members.length / 3],
        ...members,
      ]);
      const [version = null, , , , rows] = await this.partition.state(STATE_AGAIN, args);
      for (const [n, { resolve }] of some.entries()) {
        const row = Array.isArray(rows) ? rows[n] : undefined;
        if (!Array.isArray(row)) throw new EngineUnavailable('Redis has answered something else');
        const [number = null, members = [], transitions = [], owed = []] = row;
        // What was due and claimed is taken already, and nobody has entered.
        resolve([version, number, null, [], [], members, transitions, [], [], owed]);
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}

/** Divides the waiting restatements into calls. */
function inCalls(waiting: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const calls: Waiting[][] = [];
  let [members, characters] = [0, 0];
  for (const one of waiting) {
    const { topic, members: own } = one.restatement;
    const size = own.reduce((sum, { length }) => sum + length, topic.length);
    members += own.length / 3;
    characters += size;
    const isFull = members > CALL_MAX.members || characters > CALL_MAX.characters;
    const last = calls.at(-1);
    if (last !== undefined && !isFull) last.push(one);
    else {
      calls.push([one]);
      [members, characters] = [own.length / 3, size];
    }
  }
  return calls;
}
