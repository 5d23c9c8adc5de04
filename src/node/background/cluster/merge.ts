import type { LogPage, ShownLine } from '../../../admin/log/server-log.ts';
import {
  bySeries,
  type Condition,
  type ConditionOfCluster,
  type GatewaysOfCluster,
  type GatewaysOfServer,
  type KeptFigures,
  type PauseOfCluster,
  type SaidByGateway,
  type SeriesName,
} from '../../../admin/monitoring/monitoring.ts';
import type { ProblemGroup } from '../../../channels/problems/problem-book.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { EndpointOfServer } from './questions.ts';

/** The answer of one server. */
export interface OfServer<Answer> {
  readonly node: string;
  readonly answer: Answer;
}

/** Figures for which the highest value of any server counts. All others are added up. */
const highest: ReadonlySet<SeriesName> = new Set(['loopLateMs']);

/** Figures that every server reads from the shared store: adding them up would count them several times. */
const ofStore: ReadonlySet<SeriesName> = new Set(['webhooksWaiting', 'pushWaiting']);

export interface MergeOptions {
  /** Whether all servers use one store. */
  readonly sharesStore: boolean;
}

/**
 * Adds up the figures of all servers since a time, step by step. In a step that a server did not measure, only the
 * others count.
 */
export function mergeFigures(
  own: KeptFigures,
  others: readonly KeptFigures[],
  { sharesStore, sinceMs }: MergeOptions & { readonly sinceMs: number },
): KeptFigures {
  const { stepMs, nowMs } = own;
  const all = [own, ...others.filter((one) => one.stepMs === stepMs)];
  const firstMs = Math.ceil(sinceMs / stepMs) * stepMs;
  const fromMs = Math.max(firstMs, Math.min(...all.map((one) => one.fromMs)));
  const end = own.fromMs / stepMs + own.series.connections.length;
  const length = Math.max(0, end - fromMs / stepMs);
  return {
    nowMs,
    stepMs,
    fromMs,
    series: bySeries((name) => {
      const takesHighest = highest.has(name) || (sharesStore && ofStore.has(name));
      const join = takesHighest ? Math.max : (a: number, b: number) => a + b;
      const merged = new Array<number | null>(length).fill(null);
      for (const one of all) {
        const offset = (one.fromMs - fromMs) / stepMs;
        const values = one.series[name];
        const last = Math.min(values.length, length - offset);
        for (let index = Math.max(0, -offset); index < last; index++) {
          const value = values[index] ?? null;
          if (value === null) continue;
          const before = merged[index + offset] ?? null;
          merged[index + offset] = before === null ? value : join(before, value);
        }
      }
      return merged.map((value) => (value === null ? null : Math.round(value * 100) / 100));
    }),
  };
}

/** Collects the conditions of all servers, worst first. The same condition on several servers is listed once. */
export function mergeConditions(
  servers: readonly OfServer<readonly Condition[]>[],
): readonly ConditionOfCluster[] {
  const found = new Map<string, ConditionOfCluster>();
  for (const { node, answer } of servers) {
    for (const { sinceMs, ...condition } of answer) {
      const key = JSON.stringify(condition);
      const other = found.get(key);
      found.set(key, {
        ...condition,
        sinceMs: Math.min(sinceMs, other?.sinceMs ?? sinceMs),
        servers: [...(other?.servers ?? []), node],
      });
    }
  }
  const place = ({ level }: Condition) => (level === 'bad' ? 0 : 1);
  return [...found.values()].toSorted((a, b) => place(a) - place(b) || a.sinceMs - b.sinceMs);
}

/** The problems on all servers, with the server that saw the latest of each group. */
export type ProblemOfCluster = ProblemGroup & { readonly server: string };

/** Merges the groups, latest first. */
export function mergeProblems(
  servers: readonly OfServer<readonly ProblemGroup[]>[],
): readonly ProblemOfCluster[] {
  const sums = new Map<string, ProblemOfCluster>();
  for (const { node, answer } of servers) {
    for (const group of answer) {
      const key = `${group.source} ${group.kind} ${group.text}`;
      const sum = sums.get(key);
      const later =
        sum === undefined || group.lastAtMs > sum.lastAtMs ? { ...group, server: node } : sum;
      sums.set(key, {
        ...later,
        count: group.count + (sum?.count ?? 0),
        firstAtMs: Math.min(group.firstAtMs, sum?.firstAtMs ?? Number.POSITIVE_INFINITY),
      });
    }
  }
  return [...sums.values()].toSorted((a, b) => b.lastAtMs - a.lastAtMs);
}

/**
 * Collects the gateways of all servers. A gateway that several servers have paused for the same reason is listed
 * once.
 */
export function mergeGateways(all: readonly OfServer<GatewaysOfServer>[]): GatewaysOfCluster {
  const found = new Map<string, PauseOfCluster>();
  for (const { node, answer } of all) {
    for (const pause of answer.pauses) {
      const { platform, origin, why, reason } = pause;
      const key = JSON.stringify([platform, origin, why, reason]);
      const other = found.get(key);
      found.set(key, {
        ...(other ?? pause),
        sinceMs: Math.min(pause.sinceMs, other?.sinceMs ?? pause.sinceMs),
        servers: [...(other?.servers ?? []), node],
      });
    }
  }
  const byPlatform = <Value>(make: (platform: Platform) => Value) =>
    Object.fromEntries(platforms.map((one) => [one, make(one)])) as Record<Platform, Value>;
  return {
    pauses: [...found.values()].toSorted((a, b) => a.sinceMs - b.sinceMs),
    // The numbers may overlap, so the largest one is a lower bound.
    morePauses: byPlatform((one) => Math.max(...all.map(({ answer }) => answer.morePauses[one]))),
    said: byPlatform((one) => lastSaid(all.map(({ answer }) => answer.said[one]))),
  };
}

function lastSaid(all: readonly SaidByGateway[]): SaidByGateway {
  return {
    acceptedAtMs: all.reduce<number | undefined>(
      (last, { acceptedAtMs }) => latest(last, acceptedAtMs),
      undefined,
    ),
    refusal: all
      .flatMap(({ refusal }) => refusal ?? [])
      .toSorted((a, b) => b.atMs - a.atMs)
      .at(0),
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Merges the lines of several logs by time. */
export function mergeLines(
  all: readonly OfServer<LogPage>[],
  limit: number,
): LogPage<ShownLine & { readonly server: string }> {
  const lines = all
    .flatMap(({ node, answer }) => answer.lines.map((line) => ({ ...line, server: node })))
    .toSorted((a, b) => a.atMs - b.atMs || compare(a.server, b.server) || a.n - b.n);
  // A server leaves out only lines older than the oldest one that it returned. Older lines of the other servers are
  // therefore left out as well.
  const fromMs = Math.max(
    lines.at(-limit)?.atMs ?? 0,
    ...all.map(({ answer }) => (answer.more ? (answer.lines[0]?.atMs ?? 0) : 0)),
  );
  const shown = lines.filter(({ atMs }) => atMs >= fromMs);
  const more = shown.length < lines.length || all.some(({ answer }) => answer.more);
  return { lines: shown, more };
}

/** How an address has answered the servers that tried it. */
export type EndpointOfCluster = EndpointOfServer & { readonly servers: readonly string[] };

/** Merges what the servers know about each address, latest attempt first. */
export function mergeEndpoints(
  servers: readonly OfServer<readonly EndpointOfServer[]>[],
  { sharesStore }: MergeOptions,
): readonly EndpointOfCluster[] {
  const sums = new Map<string, EndpointOfCluster>();
  for (const { node, answer } of servers) {
    for (const one of answer) {
      const sum = sums.get(one.endpoint);
      sums.set(
        one.endpoint,
        sum === undefined ? { ...one, servers: [node] } : together(sum, one, { node, sharesStore }),
      );
    }
  }
  return [...sums.values()].toSorted((a, b) => b.lastAtMs - a.lastAtMs);
}

function together(
  sum: EndpointOfCluster,
  one: EndpointOfServer,
  { node, sharesStore }: MergeOptions & { readonly node: string },
): EndpointOfCluster {
  const last = one.lastAtMs > sum.lastAtMs ? one : sum;
  const lastDeliveredAtMs = latest(sum.lastDeliveredAtMs, one.lastDeliveredAtMs);
  const failingSinceMs = earliest(sum.failingSinceMs, one.failingSinceMs);
  return {
    ...last,
    delivered: sum.delivered + one.delivered,
    failed: sum.failed + one.failed,
    lastDeliveredAtMs,
    failingSinceMs:
      // A later delivery by another server ends the period of failures.
      last.failingSinceMs === undefined ? undefined : latest(failingSinceMs, lastDeliveredAtMs),
    waiting: sharesStore ? Math.max(sum.waiting, one.waiting) : sum.waiting + one.waiting,
    oldestWaitingAtMs: earliest(sum.oldestWaitingAtMs, one.oldestWaitingAtMs),
    durations: sum.durations.map((count, place) => count + (one.durations[place] ?? 0)),
    servers: [...sum.servers, node],
  };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}
