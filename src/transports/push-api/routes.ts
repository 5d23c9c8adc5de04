import { type Platform, platforms } from '../../push/model/device.ts';
import { decodeLeniently } from '../request-target.ts';

/** Groups paths by their callers. */
export type PushFamily = 'publish' | 'customer' | 'device' | 'reporting' | 'sdk' | 'other';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

const PUBLISHES = '/publish_api/v1/instances/:instance/publishes';
const CUSTOMER_API = '/customer_api/v1/instances/:instance';
const USER_PREFERENCES = `${CUSTOMER_API}/user-preferences/:rest`;
const CHANNELS = '/publish_api/v1/instances/:instance/apns-channels';
const DEVICE_API = '/device_api/v1/instances/:instance';
const DEVICE = `${DEVICE_API}/devices/:platform/:device`;

/**
 * The whole API. A segment with a colon matches any non-empty text, `:platform` a platform, and `:rest` everything up to
 * the end. The first match counts.
 * Source: the seed's "Endpoints"; push protocol, §2.1, §2.4, §3.1, §3.8 and §3.9.
 */
export const routes = [
  ['POST', `${PUBLISHES}/interests`, 'publishToInterests'],
  // Used by the libraries for Go, Ruby and Swift.
  ['POST', PUBLISHES, 'publishToInterests'],
  ['POST', `${PUBLISHES}/users`, 'publishToUsers'],
  // Our own: the hosted service has no such calls.
  ['GET', `${PUBLISHES}/:publishId`, 'readPublish'],
  ['DELETE', `${PUBLISHES}/:publishId`, 'cancelPublish'],
  ['GET', `${PUBLISHES}/:publishId/pauses`, 'readPauses'],
  ['GET', `${PUBLISHES}/:publishId/devices/:device`, 'explainDevice'],
  ['POST', CHANNELS, 'createChannel'],
  ['GET', CHANNELS, 'listChannels'],
  ['DELETE', `${CHANNELS}/:device`, 'deleteChannel'],
  ['DELETE', `${CUSTOMER_API}/users/:rest`, 'deleteUser'],
  // Used by the library for Node.js.
  ['DELETE', '/user_api/v1/instances/:instance/users/:rest', 'deleteUser'],
  ['GET', USER_PREFERENCES, 'readUserPreferences'],
  ['PUT', USER_PREFERENCES, 'setUserPreferences'],
  ['DELETE', USER_PREFERENCES, 'forgetUserPreferences'],
  // Our own: devices come from another service, and leave for one.
  ['POST', `${CUSTOMER_API}/devices`, 'importDevices'],
  ['GET', `${CUSTOMER_API}/devices`, 'exportDevices'],
  ['GET', `${CUSTOMER_API}/imports/:name`, 'readImport'],
  ['DELETE', `${CUSTOMER_API}/imports/:name`, 'undoImport'],
  ['GET', `${DEVICE_API}/web-vapid-public-key`, 'readVapidKey'],
  ['POST', `${DEVICE_API}/devices/:platform`, 'registerDevice'],
  ['GET', DEVICE, 'readDevice'],
  ['DELETE', DEVICE, 'deleteDevice'],
  ['PUT', `${DEVICE}/metadata`, 'setMetadata'],
  ['PUT', `${DEVICE_API}/devices/fcm/:device/token`, 'setToken'],
  // Our own: our service worker moves a browser to its new subscription.
  ['PUT', `${DEVICE_API}/devices/web/:device/token`, 'setToken'],
  ['PUT', `${DEVICE}/user`, 'setUser'],
  // Our own, like the preferences of users.
  ['GET', `${DEVICE}/preferences`, 'readPreferences'],
  ['PUT', `${DEVICE}/preferences`, 'setPreferences'],
  ['GET', `${DEVICE}/interests`, 'readInterests'],
  ['PUT', `${DEVICE}/interests`, 'setInterests'],
  ['POST', `${DEVICE}/interests/:name`, 'addInterest'],
  ['DELETE', `${DEVICE}/interests/:name`, 'removeInterest'],
  ['POST', '/reporting_api/v2/instances/:instance/events', 'report'],
  ['GET', '/sdk/service-worker.js', 'readServiceWorker'],
] as const satisfies readonly (readonly [method: Method, path: string, endpoint: string])[];

/** The names of all operations of this API. Several paths may belong to one operation. */
export type EndpointName = (typeof routes)[number][2];

/** What a path names, decoded but not checked. Empty if it names none. */
export interface PathParams {
  readonly instance: string;
  readonly platform: Platform | undefined;
  readonly device: string;
  /** An interest, or the name of an import. */
  readonly name: string;
  readonly publishId: string;
  /** A user, slashes included. */
  readonly rest: string;
}

/** The result of looking up a request. */
export type FoundPushRoute = { readonly family: PushFamily } & (
  | {
      readonly found: 'endpoint';
      readonly endpoint: EndpointName;
      readonly params: PathParams;
    }
  /** The path has other methods: `allow` is the value of the `Allow` header. */
  | { readonly found: 'path'; readonly allow: string }
  /** With an instance id, it would be a path of this API. */
  | { readonly found: 'no-instance' }
  | { readonly found: 'nothing' }
);

interface Pattern {
  readonly segments: readonly string[];
  /** The index of the segment for each parameter; -1: none. */
  readonly at: Readonly<Record<keyof PathParams, number>>;
  readonly endpoints: ReadonlyMap<string, EndpointName>;
  readonly allow: string;
}

const patterns = [...Map.groupBy(routes, ([, path]) => path)].map(([path, group]) =>
  patternOf(path, group),
);

function patternOf(path: string, group: readonly (typeof routes)[number][]): Pattern {
  const segments = path.split('/');
  const methods: [method: string, endpoint: EndpointName][] = [];
  for (const [method, , endpoint] of group) {
    methods.push([method, endpoint]);
    if (method === 'GET') methods.push(['HEAD', endpoint]);
  }
  return {
    segments,
    at: {
      instance: segments.indexOf(':instance'),
      // Some paths have a literal platform.
      platform: segments.findIndex((segment) => /^(?::platform|fcm|web)$/.test(segment)),
      device: segments.indexOf(':device'),
      name: segments.indexOf(':name'),
      publishId: segments.indexOf(':publishId'),
      rest: segments.indexOf(':rest'),
    },
    endpoints: new Map(methods),
    allow: methods.map(([method]) => method).join(', '),
  };
}

/** By the first segment of the path, so that few are compared. */
const patternsByFirst: ReadonlyMap<string, readonly Pattern[]> = Map.groupBy(
  patterns,
  ({ segments }) => segments[1] ?? '',
);

const families: ReadonlyMap<string, PushFamily> = new Map([
  ['publish_api', 'publish'],
  ['customer_api', 'customer'],
  ['user_api', 'customer'],
  ['device_api', 'device'],
  ['reporting_api', 'reporting'],
  ['sdk', 'sdk'],
]);

/** The family of a path, whether the path exists or not. */
export function familyOf(path: string): PushFamily {
  return familyOfSegment(path.split('/')[1]);
}

function familyOfSegment(first = ''): PushFamily {
  return families.get(first) ?? 'other';
}

/** Looks up a request by its raw path, which is split before it is decoded. */
export function findRoute(method: string, path: string): FoundPushRoute {
  const key = method === 'POST' ? path : undefined;
  const known = key === undefined ? undefined : cache.get(key);
  if (known !== undefined) return known;
  const found = search(method, path);
  if (key !== undefined && isCacheable(found)) keep(key, found);
  return found;
}

/** A cache for POST requests, which have few different paths. It makes a publish cheaper by 7 %. */
const cache = new Map<string, FoundPushRoute>();
const CACHED_MAX = 1_000;
const CACHED_PATH_LENGTH_MAX = 200;

/** Other paths name devices, of which there are too many. */
function isCacheable({ found, family }: FoundPushRoute): boolean {
  return found === 'endpoint' && (family === 'publish' || family === 'reporting');
}

function keep(path: string, found: FoundPushRoute): void {
  if (path.length > CACHED_PATH_LENGTH_MAX) return;
  // Only invented paths can fill the cache. The others are soon cached again.
  if (cache.size >= CACHED_MAX) cache.clear();
  cache.set(path, found);
}

function search(method: string, path: string): FoundPushRoute {
  const segments = path.split('/');
  const family = familyOfSegment(segments[1]);
  const pattern = matching(segments);
  if (pattern !== undefined) {
    const endpoint = pattern.endpoints.get(method);
    return endpoint === undefined
      ? { family, found: 'path', allow: pattern.allow }
      : { family, found: 'endpoint', endpoint, params: paramsOf(pattern, segments) };
  }
  return { family, found: lacksInstance(segments) ? 'no-instance' : 'nothing' };
}

function matching(segments: readonly string[]): Pattern | undefined {
  return patternsByFirst
    .get(segments[1] ?? '')
    ?.find((pattern) => matches(pattern.segments, segments));
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const last = pattern.length - 1;
  const open = pattern[last] === ':rest';
  if (open ? segments.length <= last : segments.length !== pattern.length) return false;
  for (let at = 0; at <= last; at++) {
    const wanted = pattern[at] ?? '';
    const given = segments[at] ?? '';
    if (wanted === ':rest') return given !== '' || segments.length > pattern.length;
    if (!matchesSegment(wanted, given)) return false;
  }
  return true;
}

function matchesSegment(wanted: string, given: string): boolean {
  if (wanted === ':platform') return isPlatform(given);
  return wanted === given || (wanted.startsWith(':') && given !== '');
}

function isPlatform(text: string): text is Platform {
  return (platforms as readonly string[]).includes(text);
}

function paramsOf({ at }: Pattern, segments: readonly string[]): PathParams {
  const platform = segments[at.platform] ?? '';
  return {
    instance: named(segments, at.instance),
    platform: isPlatform(platform) ? platform : undefined,
    device: named(segments, at.device),
    name: named(segments, at.name),
    publishId: named(segments, at.publishId),
    rest: at.rest < 0 ? '' : decodeLeniently(segments.slice(at.rest).join('/')),
  };
}

function named(segments: readonly string[], at: number): string {
  return at < 0 ? '' : decodeLeniently(segments[at] ?? '');
}

/**
 * Whether a path is one of ours except that the instance id is empty or missing, with or without the segment before
 * it. Libraries with an empty instance id send such requests.
 */
function lacksInstance([
  before = '',
  first = '',
  version = '',
  ...rest
]: readonly string[]): boolean {
  const known = patternsByFirst.get(first);
  if (known === undefined || !known.some(({ segments }) => segments[2] === version)) return false;
  if (rest[0] === 'instances' && (rest[1] ?? '') === '') return true;
  const after = rest[0] === 'instances' ? rest.slice(1) : rest;
  return matching([before, first, version, 'instances', 'any', ...after]) !== undefined;
}

/** A path without device ids, which are secrets, and user ids, which may be personal data. */
export function pathForLog(path: string): string {
  return path
    .replace(/^(\/publish_api\/.*?\/devices\/).+/, '$1…')
    .replace(/^(\/publish_api\/.*?\/apns-channels\/).+/, '$1…')
    .replace(/(\/devices\/[^/]*\/)[^/]+/g, '$1…')
    .replace(/(\/(?:users|user-preferences)\/).+/, '$1…')
    .slice(0, PATH_CHARACTERS_IN_LOG);
}

const PATH_CHARACTERS_IN_LOG = 300;
