import type { ConnectionFilter, ListedConnection } from '../../../admin/channels/inspecting.ts';
import type { ProblemGroup } from '../../../channels/problems/problem-book.ts';
import { mergeUses, type UsedKey } from '../../../runtime/keys/key-uses.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import { answered } from '../admin/answered.ts';
import type { LocalServer } from './cluster.ts';
import { FIRST } from './connection-list.ts';
import { mergeProblems } from './merge.ts';
import type { ConnectionsOfServer } from './questions.ts';

/**
 * The time limit for one page. When it is over, the page has what was found. Each question examines up to 2,000
 * connections. Milliseconds.
 */
const PAGE_MS = 300;

/** Lists the connections of all realtime loops of this server, and their problems. */
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

/** Merges the groups of all loops, latest first. */
function addProblems(loops: readonly (readonly ProblemGroup[])[]): readonly ProblemGroup[] {
  const all = mergeProblems(loops.map((answer) => ({ node: '', answer })));
  return all.map(({ server: _, ...group }) => group);
}

/** When the keys of an app were last used on any loop of this server. */
export async function keyUsesOfApp(
  realtime: Pick<RealtimeClient, 'askAll'>,
  appId: string,
): Promise<readonly UsedKey[]> {
  return mergeUses(await answered(realtime.askAll({ what: 'key-uses', appId })));
}

/**
 * Walks through the loops in order. A position is the number of a loop, and the position in an unfinished walk there,
 * or 0.
 */
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
