import type { Clock } from '../runtime/ports.ts';
import type {
  ConnectionFilter,
  ConnectionsOfServer,
  ListedConnection,
} from './facts/connections.ts';
import type { OfAllServers, OfServer } from './facts/servers.ts';
import type { AskLoops } from './own-answers.ts';

export interface ConnectionListOptions {
  /** The servers that answer, and those that do not. */
  readonly servers: readonly string[];
  readonly away: readonly string[];
  readonly now: () => number;
  /** Asks one server for a part of its connections; `undefined`: no answer. */
  readonly ask: (
    server: string,
    filter: ConnectionFilter,
  ) => Promise<ConnectionsOfServer | 'unknown' | undefined>;
}

export interface ConnectionList extends OfAllServers {
  readonly connections: readonly (ListedConnection & OfServer)[];
  readonly next: string | undefined;
}

/** The time limits for a page of all servers, and of one. When it is over, the page has what was found. Milliseconds. */
const PAGE_MS = 4_000;
const SERVER_PAGE_MS = 300;

/** The position at which the list of a server begins. */
export const FIRST = '0.0';

/**
 * Lists connections server by server. A position consists of the name of a server and the position in that server's
 * list. `unknown`: the list that it belongs to no longer exists.
 */
export async function listConnections(
  { servers, away, now, ask }: ConnectionListOptions,
  { after, limit, ...filter }: ConnectionFilter,
): Promise<ConnectionList | 'unknown'> {
  const silent = new Set(away);
  const connections: ConnectionList['connections'][number][] = [];
  const shown = () =>
    [...servers, ...away].map((name) => ({ name, away: silent.has(name) })).toSorted(byName);
  const [begin, place] = positionOf(after);
  const endMs = now() + PAGE_MS;
  for (const server of servers.toSorted().filter((name) => name >= begin)) {
    let position = server === begin ? place : undefined;
    do {
      if (connections.length >= limit || now() >= endMs) {
        return { servers: shown(), connections, next: `${server}~${position ?? FIRST}` };
      }
      const left = limit - connections.length;
      const page = await ask(server, { ...filter, limit: left, after: position });
      if (page === undefined) {
        silent.add(server);
        break;
      }
      if (page === 'unknown') return page;
      connections.push(...page.connections.map((one) => ({ ...one, server })));
      position = page.next;
    } while (position !== undefined);
  }
  return { servers: shown(), connections, next: undefined };
}

/**
 * Lists the connections of this server, loop by loop. Each question examines up to 2,000 connections. A position is the
 * number of a loop, and the position in an unfinished walk there, or 0.
 */
export async function findConnections(
  loops: AskLoops,
  { after = FIRST, limit, ...filter }: ConnectionFilter,
  monotonic: Clock,
): Promise<ConnectionsOfServer | 'unknown'> {
  const connections: ListedConnection[] = [];
  let [loop = 0, walk = 0] = after.split('.').map(Number);
  const endMs = monotonic.now() + SERVER_PAGE_MS;
  while (monotonic.now() < endMs) {
    if (loop >= loops.count) return { connections, next: undefined };
    if (connections.length >= limit) break;
    const left = limit - connections.length;
    const query = { ...filter, after: walk === 0 ? undefined : walk, limit: left };
    const page = await loops.ask('find-connections', query, loop);
    if (page === 'unknown') return page;
    connections.push(...page.connections);
    if (page.next === undefined) loop++;
    walk = page.next ?? 0;
  }
  return { connections, next: `${loop}.${walk}` };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** The server of a position, and the position in its list. */
function positionOf(after = ''): readonly [server: string, place: string | undefined] {
  const end = after.lastIndexOf('~');
  return end === -1 ? ['', undefined] : [after.slice(0, end), after.slice(end + 1)];
}
