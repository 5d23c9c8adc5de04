import type { ConnectionFilter, ListedConnection } from '../../admin/channels/inspecting.ts';
import type { ProblemGroup } from '../../channels/problem-book.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import { answered } from './answered.ts';
import type { LocalServer } from './cluster/cluster.ts';
import { FIRST } from './cluster/connection-list.ts';
import { mergeProblems } from './cluster/merge.ts';
import type { ConnectionsOfServer } from './cluster/questions.ts';

/** A page that takes longer ends with what was found. Each question looks at up to 2,000 connections. Milliseconds. */
const PAGE_MS = 300;

/** Shows the connections of all realtime loops of this server, and what goes wrong there. */
export function inspectingLoops(
  realtime: Pick<RealtimeClient, 'ask' | 'askAll' | 'count'>,
): Pick<LocalServer, 'problems' | 'connections' | 'connection' | 'end'> {
  return {
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
  const all = mergeProblems(loops.map((answer) => ({ node: '', answer })));
  return all.map(({ server: _, ...group }) => group);
}

/** Walks through one loop after the other. A position is the number of a loop, and that of an unfinished walk there or 0. */
async function findConnections(
  realtime: Pick<RealtimeClient, 'ask' | 'count'>,
  { after = FIRST, limit, ...filter }: ConnectionFilter,
): Promise<ConnectionsOfServer | 'unknown'> {
  const connections: ListedConnection[] = [];
  let [loop = 0, walk = 0] = after.split('.').map(Number);
  const endMs = performance.now() + PAGE_MS;
  while (performance.now() < endMs) {
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
    if (page === undefined) return 'unknown';
    connections.push(...page.connections);
    if (page.next === undefined) loop++;
    walk = page.next ?? 0;
  }
  return { connections, next: `${loop}.${walk}` };
}
