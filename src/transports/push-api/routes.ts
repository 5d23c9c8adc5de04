import { type Platform, platforms } from '../../push/model/device.ts';
import { decodeLeniently } from '../request-target.ts';

/** Everything that this API does, by name; several paths may lead to one of them. */
export type EndpointName =
  | 'publishToInterests'
  | 'publishToUsers'
  | 'readPublish'
  | 'cancelPublish'
  | 'readPauses'
  | 'explainDevice'
  | 'deleteUser'
  | 'readVapidKey'
  | 'registerDevice'
  | 'readDevice'
  | 'deleteDevice'
  | 'setMetadata'
  | 'setToken'
  | 'setUser'
  | 'readInterests'
  | 'setInterests'
  | 'addInterest'
  | 'removeInterest'
  | 'report'
  | 'readServiceWorker';

/** Paths of one kind: who calls them, and from where. */
export type PushFamily = 'publish' | 'customer' | 'device' | 'reporting' | 'sdk' | 'other';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

const PUBLISHES = '/publish_api/v1/instances/:instance/publishes';
const DEVICE_API = '/device_api/v1/instances/:instance';
const DEVICE = `${DEVICE_API}/devices/:platform/:device`;

/**
 * The whole API. A step with a colon stands for any text but none, `:platform` for a platform, and `:rest` for
 * everything up to the end. Of two paths that fit, the first counts.
 * Source: the seed's "Endpoints"; push protocol, §2.1, §2.4, §3.1, §3.8 and §3.9.
 */
export const routes: readonly (readonly [method: Method, path: string, endpoint: EndpointName])[] =
  [
    ['POST', `${PUBLISHES}/interests`, 'publishToInterests'],
    // As the libraries for Go, Ruby and Swift have it.
    ['POST', PUBLISHES, 'publishToInterests'],
    ['POST', `${PUBLISHES}/users`, 'publishToUsers'],
    // Ours: the hosted service cannot be asked.
    ['GET', `${PUBLISHES}/:publishId`, 'readPublish'],
    ['DELETE', `${PUBLISHES}/:publishId`, 'cancelPublish'],
    ['GET', `${PUBLISHES}/:publishId/pauses`, 'readPauses'],
    ['GET', `${PUBLISHES}/:publishId/devices/:device`, 'explainDevice'],
    ['DELETE', '/customer_api/v1/instances/:instance/users/:rest', 'deleteUser'],
    // As the library for Node has it.
    ['DELETE', '/user_api/v1/instances/:instance/users/:rest', 'deleteUser'],
    ['GET', `${DEVICE_API}/web-vapid-public-key`, 'readVapidKey'],
    ['POST', `${DEVICE_API}/devices/:platform`, 'registerDevice'],
    ['GET', DEVICE, 'readDevice'],
    ['DELETE', DEVICE, 'deleteDevice'],
    ['PUT', `${DEVICE}/metadata`, 'setMetadata'],
    ['PUT', `${DEVICE_API}/devices/fcm/:device/token`, 'setToken'],
    ['PUT', `${DEVICE}/user`, 'setUser'],
    ['GET', `${DEVICE}/interests`, 'readInterests'],
    ['PUT', `${DEVICE}/interests`, 'setInterests'],
    ['POST', `${DEVICE}/interests/:name`, 'addInterest'],
    ['DELETE', `${DEVICE}/interests/:name`, 'removeInterest'],
    ['POST', '/reporting_api/v2/instances/:instance/events', 'report'],
    ['GET', '/sdk/service-worker.js', 'readServiceWorker'],
  ];

/** What a path names, decoded but not checked; empty where it names none. */
export interface PathParams {
  readonly instance: string;
  readonly platform: Platform | undefined;
  readonly device: string;
  /** An interest. */
  readonly name: string;
  readonly publishId: string;
  /** A user, slashes included. */
  readonly rest: string;
}

/** What a request asks for. */
export type Found = { readonly family: PushFamily } & (
  | {
      readonly found: 'endpoint';
      readonly endpoint: EndpointName;
      readonly params: PathParams;
    }
  /** The path takes other methods, as the `Allow` header lists them. */
  | { readonly found: 'path'; readonly allow: string }
  /** It would be a path of this API if it had an instance id. */
  | { readonly found: 'no-instance' }
  | { readonly found: 'nothing' }
);

interface Pattern {
  readonly steps: readonly string[];
  /** Where in the path each of them stands; -1 where it does not. */
  readonly at: Readonly<Record<keyof PathParams, number>>;
  readonly endpoints: ReadonlyMap<string, EndpointName>;
  readonly allow: string;
}

const patterns = [...Map.groupBy(routes, ([, path]) => path)].map(([path, group]) =>
  patternOf(path, group),
);

function patternOf(path: string, group: readonly (typeof routes)[number][]): Pattern {
  const steps = path.split('/');
  const methods: [method: string, endpoint: EndpointName][] = [];
  for (const [method, , endpoint] of group) {
    methods.push([method, endpoint]);
    // The same without the body.
    if (method === 'GET') methods.push(['HEAD', endpoint]);
  }
  return {
    steps,
    at: {
      instance: steps.indexOf(':instance'),
      // `fcm` stands in one path as itself.
      platform: steps.findIndex((step) => step === ':platform' || step === 'fcm'),
      device: steps.indexOf(':device'),
      name: steps.indexOf(':name'),
      publishId: steps.indexOf(':publishId'),
      rest: steps.indexOf(':rest'),
    },
    endpoints: new Map(methods),
    allow: methods.map(([method]) => method).join(', '),
  };
}

/** By the first step of the path, so that few are compared. */
const patternsByFirst: ReadonlyMap<string, readonly Pattern[]> = Map.groupBy(
  patterns,
  ({ steps }) => steps[1] ?? '',
);

const families: ReadonlyMap<string, PushFamily> = new Map([
  ['publish_api', 'publish'],
  ['customer_api', 'customer'],
  ['user_api', 'customer'],
  ['device_api', 'device'],
  ['reporting_api', 'reporting'],
  ['sdk', 'sdk'],
]);

/** Which family a path belongs to, whether it exists or not. */
export function familyOf(path: string): PushFamily {
  return familyOfStep(path.split('/')[1]);
}

function familyOfStep(first = ''): PushFamily {
  return families.get(first) ?? 'other';
}

/** Finds what a request asks for. The path is as it was sent: its steps are decoded only once they are told apart. */
export function findRoute(method: string, path: string): Found {
  const key = method === 'POST' ? path : undefined;
  const known = key === undefined ? undefined : remembered.get(key);
  if (known !== undefined) return known;
  const found = search(method, path);
  if (key !== undefined && isAskedOften(found)) remember(key, found);
  return found;
}

/**
 * Paths of POST that were found before: of each instance, the same few come again and again. Not to search anew
 * makes a publish cheaper by 7 %.
 */
const remembered = new Map<string, Found>();
const REMEMBERED_MAX = 1_000;
const REMEMBERED_CHARACTERS_MAX = 200;

/** Others name devices, and there are too many of these. */
function isAskedOften({ found, family }: Found): boolean {
  return found === 'endpoint' && (family === 'publish' || family === 'reporting');
}

function remember(path: string, found: Found): void {
  if (path.length > REMEMBERED_CHARACTERS_MAX) return;
  // Somebody makes paths up: what is forgotten with them is soon found again.
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(path, found);
}

function search(method: string, path: string): Found {
  const steps = path.split('/');
  const family = familyOfStep(steps[1]);
  const pattern = fitting(steps);
  if (pattern !== undefined) {
    const endpoint = pattern.endpoints.get(method);
    return endpoint === undefined
      ? { family, found: 'path', allow: pattern.allow }
      : { family, found: 'endpoint', endpoint, params: paramsOf(pattern, steps) };
  }
  return { family, found: lacksInstance(steps) ? 'no-instance' : 'nothing' };
}

function fitting(steps: readonly string[]): Pattern | undefined {
  return patternsByFirst.get(steps[1] ?? '')?.find((pattern) => fits(pattern.steps, steps));
}

function fits(pattern: readonly string[], steps: readonly string[]): boolean {
  const last = pattern.length - 1;
  const open = pattern[last] === ':rest';
  if (open ? steps.length <= last : steps.length !== pattern.length) return false;
  for (let at = 0; at <= last; at++) {
    const wanted = pattern[at];
    const given = steps[at] ?? '';
    const fit =
      wanted === given ||
      (wanted === ':platform'
        ? isPlatform(given)
        : wanted === ':rest'
          ? given !== '' || steps.length > pattern.length
          : wanted?.startsWith(':') === true && given !== '');
    if (!fit) return false;
  }
  return true;
}

function isPlatform(text: string): text is Platform {
  return (platforms as readonly string[]).includes(text);
}

function paramsOf({ at }: Pattern, steps: readonly string[]): PathParams {
  const platform = steps[at.platform] ?? '';
  return {
    instance: named(steps, at.instance),
    platform: isPlatform(platform) ? platform : undefined,
    device: named(steps, at.device),
    name: named(steps, at.name),
    publishId: named(steps, at.publishId),
    rest: at.rest < 0 ? '' : decodeLeniently(steps.slice(at.rest).join('/')),
  };
}

function named(steps: readonly string[], at: number): string {
  return at < 0 ? '' : decodeLeniently(steps[at] ?? '');
}

/**
 * Whether a path is one of ours but for the instance id: it is empty, or it is not there at all, with or without
 * the step before it. Libraries that were given an empty id ask for such paths.
 */
function lacksInstance([
  before = '',
  first = '',
  version = '',
  ...rest
]: readonly string[]): boolean {
  const known = patternsByFirst.get(first);
  if (known === undefined || !known.some(({ steps }) => steps[2] === version)) return false;
  if (rest[0] === 'instances' && (rest[1] ?? '') === '') return true;
  const after = rest[0] === 'instances' ? rest.slice(1) : rest;
  return fitting([before, first, version, 'instances', 'any', ...after]) !== undefined;
}

/**
 * A path for the log: who knows a device's id may change the device, and a user's id may be a name or an address
 * of somebody.
 */
export function pathForLog(path: string): string {
  return path
    .replace(/^(\/publish_api\/.*?\/devices\/).+/, '$1…')
    .replace(/(\/devices\/[^/]*\/)[^/]+/g, '$1…')
    .replace(/(\/users\/).+/, '$1…')
    .slice(0, PATH_CHARACTERS_IN_LOG);
}

const PATH_CHARACTERS_IN_LOG = 300;
