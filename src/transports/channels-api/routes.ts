import type { ChannelsEndpoint } from './call.ts';
import { triggerBatch, triggerEvent, triggerRawEvent } from './events/trigger.ts';
import { forgetHistory, readHistory } from './queries/history.ts';
import { channelStats, describeChannel, listChannels } from './queries/query-channels.ts';
import { describeMember, listMembers } from './queries/query-members.ts';
import { revoke } from './revoke.ts';
import { terminateConnections } from './terminate-connections.ts';
import { userStatuses } from './user-statuses.ts';

export type Method = 'GET' | 'POST';

/** The HTTP API. Source: the seed's "Endpoints"; Channels protocol, §14.3. */
export const routes: readonly (readonly [
  method: Method,
  path: string,
  endpoint: ChannelsEndpoint,
])[] = [
  ['POST', '/apps/:app/events', triggerEvent],
  ['POST', '/apps/:app/batch_events', triggerBatch],
  ['GET', '/apps/:app/channels', listChannels],
  ['GET', '/apps/:app/channels/:channel', describeChannel],
  ['GET', '/apps/:app/channels/:channel/users', listMembers],
  ['GET', '/apps/:app/channels/:channel/users/:user', describeMember],
  ['POST', '/apps/:app/channels/:channel/events', triggerRawEvent],
  ['GET', '/apps/:app/channels/:channel/stats', channelStats],
  ['GET', '/apps/:app/channels/:channel/history', readHistory],
  ['POST', '/apps/:app/channels/:channel/forget_history', forgetHistory],
  ['POST', '/apps/:app/revocations', revoke],
  ['POST', '/apps/:app/users/status', userStatuses],
  ['POST', '/apps/:app/users/:user/terminate_connections', terminateConnections],
  // The Python library's path: the app is that of the key.
  ['POST', '/users/:user/terminate_connections', terminateConnections],
];

/** The endpoints of a path, and the names in it, still encoded. */
export interface ChannelsRoute {
  /** `undefined` if the path names no app. */
  readonly appId: string | undefined;
  readonly channelText: string | undefined;
  readonly userId: string | undefined;
  /** Whether a `POST` counts as a query, and not as a trigger. */
  readonly isQuery: boolean;
  readonly endpoints: Partial<Record<Method, ChannelsEndpoint>>;
}

interface Pattern {
  readonly segments: readonly string[];
  readonly endpoints: Partial<Record<Method, ChannelsEndpoint>>;
}

const patterns: readonly Pattern[] = [...Map.groupBy(routes, ([, path]) => path)].map(
  ([path, group]) => ({
    segments: path.split('/'),
    endpoints: Object.fromEntries(group.map(([method, , endpoint]) => [method, endpoint])),
  }),
);

/** Routes that are cached. Most requests have one of few paths, but there is no limit to channels and users. */
const CACHED_MAX = 256;
/** Longer paths are not cached, so that clients cannot fill the memory with them. */
const CACHED_CHARACTERS_MAX = 200;
const cache = new Map<string, ChannelsRoute>();
/** The last route found: most requests have the path of the previous one, and comparing is cheaper than hashing. */
let last: { readonly path: string; readonly route: ChannelsRoute } | undefined;

/** The endpoint that answers a method; `HEAD` runs that of `GET`. */
export function endpointOf(
  { endpoints }: ChannelsRoute,
  method: string,
): ChannelsEndpoint | undefined {
  if (method === 'POST') return endpoints.POST;
  return method === 'GET' || method === 'HEAD' ? endpoints.GET : undefined;
}

/** The methods of a path, as `Allow` names them. */
export function methodsOf({ endpoints }: ChannelsRoute): readonly string[] {
  return Object.keys(endpoints).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method));
}

/** Finds the route of a path. */
export function findRoute(path: string): ChannelsRoute | undefined {
  if (last?.path === path) return last.route;
  if (path.length > CACHED_CHARACTERS_MAX) return searchRoute(path);
  const route = cachedRoute(path);
  if (route !== undefined) last = { path, route };
  return route;
}

function cachedRoute(path: string): ChannelsRoute | undefined {
  const known = cache.get(path);
  if (known !== undefined) return known;
  const route = searchRoute(path);
  if (route !== undefined) {
    if (cache.size >= CACHED_MAX) cache.clear();
    cache.set(path, route);
  }
  return route;
}

function searchRoute(path: string): ChannelsRoute | undefined {
  const segments = path.split('/');
  for (const pattern of patterns) {
    if (fits(pattern.segments, segments)) return routeOf(pattern, segments);
  }
  return undefined;
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index];
    if (part !== segment && (!part.startsWith(':') || segment === '')) return false;
  }
  return true;
}

function routeOf(
  { segments: pattern, endpoints }: Pattern,
  segments: readonly string[],
): ChannelsRoute {
  const named = (name: string) => {
    const at = pattern.indexOf(name);
    return at < 0 ? undefined : segments[at];
  };
  return {
    appId: named(':app'),
    channelText: named(':channel'),
    userId: named(':user'),
    isQuery: pattern.includes('users'),
    endpoints,
  };
}
