import type {
  ConnectionFilter,
  Inspecting,
  ListedConnection,
} from '../../admin/channels/inspecting.ts';
import type { ProblemGroup } from '../../channels/problem-book.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import { answered } from './answered.ts';

/** Questions for one page. Each looks at up to 2,000 connections. */
const QUESTIONS_MAX = 200;

/** Shows single channels, and the connections of all realtime loops of this server. */
export function inspecting(
  realtime: Pick<RealtimeClient, 'ask' | 'askAll' | 'count'>,
  serverName: string,
): Inspecting {
  return {
    serverName,
    channel: (appId, channel) =>
      answered(realtime.ask({ what: 'inspect-channel', appId, channel })),
    connections: (filter) => findConnections(realtime, filter),
    problems: async (appId) =>
      addProblems(await answered(realtime.askAll({ what: 'problems', appId }))),
    async connection(appId, socketId) {
      const all = await answered(realtime.askAll({ what: 'inspect-connection', appId, socketId }));
      return all.find((one) => one !== undefined);
    },
    async end(appId, socketId) {
      const all = await answered(realtime.askAll({ what: 'end-connection', appId, socketId }));
      return all.includes(true);
    },
  };
}

/** Adds up the groups of all loops, the last one first. */
function addProblems(loops: readonly (readonly ProblemGroup[])[]): readonly ProblemGroup[] {
  const sums = new Map<string, ProblemGroup>();
  for (const group of loops.flat()) {
    const key = `${group.source} ${group.kind} ${group.text}`;
    const sum = sums.get(key);
    const later = sum === undefined || group.lastAtMs > sum.lastAtMs ? group : sum;
    sums.set(key, {
      ...later,
      count: group.count + (sum?.count ?? 0),
      firstAtMs: Math.min(group.firstAtMs, sum?.firstAtMs ?? Number.POSITIVE_INFINITY),
    });
  }
  return [...sums.values()].toSorted((a, b) => b.lastAtMs - a.lastAtMs);
}

/** Walks through one loop after the other. A position is the number of a loop, and that of an unfinished walk there or 0. */
async function findConnections(
  realtime: Pick<RealtimeClient, 'ask' | 'count'>,
  { after = '0.0', limit, ...filter }: ConnectionFilter,
) {
  const connections: ListedConnection[] = [];
  let [loop = 0, walk = 0] = after.split('.').map(Number);
  for (let asked = 0; asked < QUESTIONS_MAX; asked++) {
    if (loop >= realtime.count) return { connections, next: undefined };
    if (connections.length >= limit) break;
    const page = await answered(
      realtime.ask(
        {
          what: 'find-connections',
          ...filter,
          after: walk === 0 ? undefined : walk,
          limit: limit - connections.length,
        },
        loop,
      ),
    );
    if (page === undefined) {
      const why = 'after: this list is not known any more; begin again without it';
      throw new OperationRefused('invalid', why, 'after');
    }
    connections.push(...page.connections);
    if (page.next === undefined) loop++;
    walk = page.next ?? 0;
  }
  return { connections, next: `${loop}.${walk}` };
}
