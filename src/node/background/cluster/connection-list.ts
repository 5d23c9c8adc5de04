import type {
  ConnectionFilter,
  ListedConnection,
  OfAllServers,
} from '../../../admin/channels/inspecting.ts';
import { OperationRefused } from '../../../tenants/operation-refused.ts';
import type { ConnectionsOfServer } from './questions.ts';

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
  readonly connections: readonly (ListedConnection & { readonly server: string })[];
  readonly next: string | undefined;
}

/** The time limit for one page. When it is over, the page has what was found. Milliseconds. */
const PAGE_MS = 4_000;

/**
 * Lists connections server by server. A position consists of the name of a server and the position in that server's
 * list.
 */
export async function listConnections(
  { servers, away, now, ask }: ConnectionListOptions,
  { after, limit, ...filter }: ConnectionFilter,
): Promise<ConnectionList> {
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
      if (page === 'unknown') {
        const why = 'after: this list is not known any more; begin again without it';
        throw new OperationRefused('invalid', why, 'after');
      }
      connections.push(...page.connections.map((one) => ({ ...one, server })));
      position = page.next;
    } while (position !== undefined);
  }
  return { servers: shown(), connections, next: undefined };
}

/** The position at which the list of a server begins. */
export const FIRST = '0.0';

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** The server of a position, and the position in its list. */
function positionOf(after = ''): readonly [server: string, place: string | undefined] {
  const end = after.lastIndexOf('~');
  return end === -1 ? ['', undefined] : [after.slice(0, end), after.slice(end + 1)];
}
