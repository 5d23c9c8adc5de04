import type { PlanLive } from '../../src/push/model/delivery.ts';
import {
  LIVE_GRACE_MS,
  type LivePhase,
  type LiveRequest,
  type LiveSkip,
  type LiveStatus,
  type StoredLiveUser,
} from '../../src/push/model/live.ts';
import type { NewPublish } from '../../src/push/model/publish.ts';

/** The live part of a publish, and how far it has come. */
export interface KeptLive {
  readonly request: LiveRequest;
  /** How many users it names. */
  readonly named: number;
  phase: LivePhase;
  why: LiveSkip | undefined;
  users: readonly StoredLiveUser[];
}

/** What a publish keeps of it. */
interface WithLive {
  readonly live: KeptLive | undefined;
}

export function liveOf({ live, target, sendAtMs }: NewPublish): KeptLive | undefined {
  if (live === undefined) return undefined;
  const named = target.kind === 'users' ? target.names.length : 0;
  const phase = sendAtMs === undefined ? 'asking' : 'scheduled';
  return { request: live, named, phase, why: undefined, users: [] };
}

/** Until when planning waits for the answers of users who are asked from a time on. */
export function untilAnswered({ waitSeconds }: LiveRequest, fromMs: number): number {
  return fromMs + waitSeconds * 1000 + LIVE_GRACE_MS;
}

/** Decides how a plan that was claimed continues. Gives it back if its users must be asked first. */
export function liveOfPlan(
  { live, plan }: WithLive & { readonly plan: object },
  nowMs: number,
): PlanLive | undefined {
  if (live === undefined) return undefined;
  if (live.phase === 'scheduled') {
    live.phase = 'asking';
    Object.assign(plan, {
      readyAtMs: untilAnswered(live.request, nowMs),
      claimedBy: undefined,
    });
    return 'to-be-asked';
  }
  if (live.phase === 'asking') Object.assign(live, { phase: 'skipped', why: 'no-result' });
  const leavesOut = live.phase === 'done' && live.request.push === 'absent';
  return { reached: leavesOut ? reachedOf(live) : [] };
}

/** The users who got a publish in the app, sorted; `undefined`: it has no live part. */
export function liveUsersReached({ live }: WithLive): readonly string[] | undefined {
  return live && reachedOf(live).toSorted();
}

function reachedOf({ users }: KeptLive): readonly string[] {
  return users.filter(({ state }) => state === 'reached').map(({ userId }) => userId);
}

export function liveStatusOf({ live }: WithLive): LiveStatus | undefined {
  if (live === undefined) return undefined;
  const { request, named, phase, why, users } = live;
  const count = (wanted: StoredLiveUser['state']) =>
    users.filter(({ state }) => state === wanted).length;
  return {
    state: phase,
    push: request.push,
    waitSeconds: request.waitSeconds,
    users: phase === 'done' ? users.length : named,
    reached: count('reached'),
    silent: count('silent'),
    absent: count('absent'),
    connections: users.reduce((sum, { connections }) => sum + connections, 0),
    why,
  };
}
