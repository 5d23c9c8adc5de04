import { byPlatform } from '../model/device.ts';
import type { LiveStatus } from '../model/live.ts';
import type { PublishStatus, RuleCause } from '../model/publish.ts';

/** The status of a publish as JSON. Times are RFC 3339 in UTC. */
export function publishStatusJson(status: PublishStatus): object {
  return {
    publishId: status.id,
    state: status.state,
    createdAt: timeText(status.createdAtMs),
    sendAt: status.sendAtMs === undefined ? null : timeText(status.sendAtMs),
    nextAt: status.nextAtMs === undefined ? null : timeText(status.nextAtMs),
    lastAt: status.lastAtMs === undefined ? null : timeText(status.lastAtMs),
    platforms: byPlatform((platform) => countsJson(status.platforms[platform])),
    ...(status.live !== undefined && { live: liveStatusJson(status.live) }),
    ...(status.rule !== undefined && { rule: ruleJson(status.rule) }),
    delivered: status.delivered,
    opened: status.opened,
    reasons: status.reasons.map(({ platform, reason, devices }) => ({ platform, reason, devices })),
  };
}

/** Names each field, so that no other column of the store gets out. */
function countsJson(counts: PublishStatus['platforms']['web']): object {
  const { planned, accepted, retrying, failed, pruned, expired, cancelled } = counts;
  return { planned, accepted, retrying, failed, pruned, expired, cancelled };
}

/** The result of the live part of a publish, as JSON. Only publishes with a live part have it. */
export function liveStatusJson(live: LiveStatus): object {
  const { state, push, users, reached, silent, absent, connections, why } = live;
  return { state, push, users, reached, silent, absent, connections, why: why ?? null };
}

/** The event that became a publish by a rule of an app. Only such publishes have it. */
function ruleJson({ app, channel, event }: RuleCause): object {
  return { app, channel, event };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
