import type { LivePhase, LiveSkip, LiveStatus } from '../../../push/model/live.ts';
import type { RuleCause } from '../../../push/model/publish.ts';
import type { BigInteger } from '../../database/rows.ts';

/** The columns of `publish_live_asks AS live` that a status needs. */
export interface LiveColumns {
  /** `null`: the publish has no live part, and so below. */
  readonly phase: LivePhase | null;
  readonly push: LiveStatus['push'] | null;
  readonly wait_ms: BigInteger | null;
  readonly users: BigInteger | null;
  readonly reached: BigInteger | null;
  readonly silent: BigInteger | null;
  readonly absent: BigInteger | null;
  readonly connections: BigInteger | null;
  readonly why: LiveSkip | null;
  /** JSON; `null`: no rule has made it. */
  readonly rule: string | null;
}

export function liveStatusOf(row: LiveColumns): LiveStatus | undefined {
  const { phase, push, wait_ms, users, reached, silent, absent, connections, why } = row;
  if (phase === null) return undefined;
  return {
    state: phase,
    push: push ?? 'absent',
    waitSeconds: Number(wait_ms) / 1000,
    users: Number(users),
    reached: Number(reached),
    silent: Number(silent),
    absent: Number(absent),
    connections: Number(connections),
    why: why ?? undefined,
  };
}

export function ruleCauseOf({ rule }: LiveColumns): RuleCause | undefined {
  return rule === null ? undefined : JSON.parse(rule);
}
