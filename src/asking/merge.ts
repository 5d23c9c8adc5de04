import type { ProblemGroup } from '../channels/problems/problem-book.ts';
import type { LastOutcomes } from '../push/delivering/ports.ts';
import { byPlatform } from '../push/model/device.ts';
import { mergeUses } from '../runtime/keys/key-uses.ts';
import type { ConnectionDetails } from './facts/connections.ts';
import type { GatewaysOfCluster, GatewaysOfServer, PauseOfCluster } from './facts/gateways.ts';
import type { LiveFigures } from './facts/live.ts';
import type { LogPage, ShownLine } from './facts/log.ts';
import {
  bySeries,
  type Checked,
  type CheckedByAll,
  type Condition,
  type ConditionOfCluster,
  type KeptFigures,
  type NodeReport,
  type OfServer,
  type SeriesName,
  type ShownNode,
} from './facts/servers.ts';
import type { EndpointOfCluster, EndpointOfServer, KeyUsesOfServer } from './facts/tenants.ts';
import type { AllAnswers, AnswerOf, MergeContext } from './question.ts';

/** Figures for which the highest value of any server counts. All others are added up. */
const highest: ReadonlySet<SeriesName> = new Set(['loopLateMs']);

/** Figures that every server reads from the shared store: adding them up would count them several times. */
const ofStore: ReadonlySet<SeriesName> = new Set(['webhooksWaiting', 'pushWaiting']);

/**
 * Adds up the figures of all servers since a time, step by step. In a step that a server did not measure, only the
 * others count.
 */
export function mergeFigures(
  [{ answer: own }, ...others]: AllAnswers<KeptFigures>,
  { sharesStore, query }: Pick<MergeContext<{ readonly sinceMs: number }>, 'sharesStore' | 'query'>,
): KeptFigures {
  const { stepMs, nowMs } = own;
  const all = [own, ...others.map(({ answer }) => answer).filter((one) => one.stepMs === stepMs)];
  const firstMs = Math.ceil(query.sinceMs / stepMs) * stepMs;
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

/** The servers that are known, this one first, each with its report. */
export function mergeReports(
  [own, ...asked]: AllAnswers<NodeReport>,
  { nowMs, others = [] }: Pick<MergeContext<unknown>, 'nowMs' | 'others'>,
): readonly ShownNode[] {
  const reports = new Map(asked.map(({ node, answer }) => [node, answer]));
  return [
    {
      name: own.node,
      isAsked: true,
      heardAtMs: nowMs,
      silentSinceMs: undefined,
      report: own.answer,
    },
    ...others.map(({ name, heardAtMs, silentSinceMs }) => ({
      name,
      isAsked: false,
      heardAtMs,
      silentSinceMs: reports.has(name) ? undefined : (silentSinceMs ?? nowMs),
      report: reports.get(name),
    })),
  ];
}

/** The conditions of all servers, worst first, with those that are away. */
export function mergeConditions(
  [own, ...others]: AllAnswers<Checked>,
  asked: Pick<MergeContext<unknown>, 'nowMs' | 'others' | 'away'>,
): CheckedByAll {
  const all = [
    { node: own.node, answer: [...own.answer.conditions, ...serversAway(asked)] },
    ...others.map(({ node, answer }) => ({ node, answer: answer.conditions })),
  ];
  const isOneOfSeveral = asked.others !== undefined;
  return {
    checkedAtMs: own.answer.checkedAtMs,
    checked: own.answer.checked + (isOneOfSeveral ? 1 : 0),
    conditions: collectConditions(all),
  };
}

/** The conditions that report servers without an answer. */
function serversAway({
  nowMs,
  others = [],
  away,
}: Pick<MergeContext<unknown>, 'nowMs' | 'others' | 'away'>): readonly Condition[] {
  const known = others.filter(({ name }) => away.includes(name));
  return known.map(({ name, silentSinceMs = nowMs }) => ({
    id: 'server-away',
    level: 'bad',
    text: `The server ${name} does not answer.`,
    advice:
      'Check its process, log and network. If it has failed, its clients connect to other servers, and it is forgotten after 10 minutes.',
    sinceMs: silentSinceMs,
  }));
}

/** The worst first. The same condition on several servers is listed once. */
function collectConditions(
  servers: readonly AnswerOf<readonly Condition[]>[],
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

/** Merges the groups of all loops, latest first. */
export function addProblems(loops: readonly (readonly ProblemGroup[])[]): readonly ProblemGroup[] {
  const all = mergeProblems(loops.map((answer) => ({ node: '', answer })));
  return all.map(({ server: _, ...group }) => group);
}

/** Merges the groups, latest first, each with the server that saw the latest of it. */
export function mergeProblems(
  servers: readonly AnswerOf<readonly ProblemGroup[]>[],
): readonly (ProblemGroup & OfServer)[] {
  const sums = new Map<string, ProblemGroup & OfServer>();
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
export function mergeGateways(all: readonly AnswerOf<GatewaysOfServer>[]): GatewaysOfCluster {
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
  return {
    pauses: [...found.values()].toSorted((a, b) => a.sinceMs - b.sinceMs),
    // The numbers may overlap, so the largest one is a lower bound.
    morePauses: byPlatform((one) => Math.max(...all.map(({ answer }) => answer.morePauses[one]))),
    said: byPlatform((one) => latestOutcomes(all.map(({ answer }) => answer.said[one]))),
  };
}

function latestOutcomes(all: readonly LastOutcomes[]): LastOutcomes {
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
  all: readonly AnswerOf<LogPage>[],
  { query: { limit } }: { readonly query: { readonly limit: number } },
): LogPage<ShownLine & OfServer> {
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

/** Merges what the servers know of the keys of one tenant: the latest use of each, which is known since the latest start. */
export function mergeKeyUses(all: readonly AnswerOf<KeyUsesOfServer>[]): KeyUsesOfServer {
  return {
    sinceMs: Math.max(...all.map(({ answer }) => answer.sinceMs)),
    keys: mergeUses(all.map(({ answer }) => answer.keys)),
  };
}

/** The connection, and the server that has it; `undefined`: none has. */
export function findConnection(
  all: readonly AnswerOf<ConnectionDetails | 'none'>[],
): (ConnectionDetails & OfServer) | undefined {
  for (const { node, answer } of all) if (answer !== 'none') return { ...answer, server: node };
  return undefined;
}

/** Merges what the servers know about each address, latest attempt first. */
export function mergeEndpoints(
  servers: readonly AnswerOf<readonly EndpointOfServer[]>[],
  { sharesStore }: Pick<MergeContext<unknown>, 'sharesStore'>,
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
  { node, sharesStore }: { readonly node: string; readonly sharesStore: boolean },
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

/** Adds up the figures of all loops. */
export function addFigures(loops: readonly LiveFigures[]): LiveFigures {
  return {
    apps: addUp(
      loops.flatMap(({ apps }) => apps),
      ({ appId }) => appId,
      (a, b) => ({
        appId: a.appId,
        connections: a.connections + b.connections,
        channels: a.channels + b.channels,
        messages: a.messages + b.messages,
        clientMessages: a.clientMessages + b.clientMessages,
      }),
    ),
    servers: addUp(
      loops.flatMap(({ servers }) => servers),
      ({ name }) => name,
      (a, b) => ({
        name: a.name,
        apps: addUp(
          [...a.apps, ...b.apps],
          ({ appId }) => appId,
          ({ appId, connections }, more) => ({
            appId,
            connections: connections + more.connections,
          }),
        ),
      }),
    ),
  };
}

/** Adds up items with the same name. */
function addUp<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  add: (a: T, b: T) => T,
): readonly T[] {
  const sums = new Map<string, T>();
  for (const item of items) {
    const name = nameOf(item);
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? item : add(sum, item));
  }
  return [...sums.values()];
}
