import type { may } from '../api/session.ts';
import type { IconName } from '../parts/icons.tsx';
import type { View } from './views.ts';

/** How a page is shown in the navigation. */
interface Place {
  readonly word: string;
  readonly icon: IconName;
  /** The second key after `g`. */
  readonly key?: string;
  /** Who may see it; without it, everybody who may see the app or instance. */
  readonly role?: Parameters<typeof may>[0];
}

/** The names of the variables in a path. */
type Variable<Path extends string> = Path extends `${string}/:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | Variable<`/${More}`>
    : Rest
  : never;

interface More<Path extends string> {
  /** Without it, the page is not in the navigation. */
  readonly place?: Place;
  /** The commands that show the same. Without it, the page offers commands of its own, or no command shows the same. */
  readonly view?: View<Variable<Path>>;
}

function page<Path extends string, const Name extends string>(
  path: Path,
  name: Name,
  { place, view }: More<Path> = {},
) {
  return { path, name, place, view: view as View | undefined };
}

const app = { id: ':app' } as const;
const instance = { id: ':instance' } as const;

/**
 * Every page: its address below `/dashboard`, where `:app` and the like become properties of its component, and the name of
 * that. Those of the navigation are in its order.
 */
export const pages = [
  page('/', 'home', { view: { operation: 'GET /conditions' } }),
  page('/nodes', 'nodes', {
    place: { word: 'Servers', icon: 'server', role: 'viewer' },
    view: { operation: 'GET /nodes' },
  }),
  page('/log', 'log', {
    place: { word: 'Log', icon: 'log', role: 'support' },
    view: { operation: 'GET /log', filters: ['level', 'text'], fanfare: ['log'] },
  }),
  page('/audit', 'audit', {
    place: { word: 'Audit', icon: 'person', role: 'admin' },
    view: { operation: 'GET /audit' },
  }),
  page('/apps/:app/live', 'live', { place: { word: 'Live', icon: 'live', key: 'l' } }),
  page('/apps/:app/channels', 'channels', {
    place: { word: 'Channels', icon: 'channel', key: 'c' },
    view: { operation: 'GET /apps/{id}/channels', path: app, filters: ['prefix'] },
  }),
  page('/apps/:app/channels/:channel', 'channel', {
    view: { operation: 'GET /apps/{id}/channels/{name}', path: { ...app, name: ':channel' } },
  }),
  page('/apps/:app/connections', 'connections', {
    place: { word: 'Connections', icon: 'connection', key: 'n' },
    view: {
      operation: 'GET /apps/{id}/connections',
      path: app,
      filters: ['user', 'channel', 'address'],
    },
  }),
  page('/apps/:app/connections/:socket', 'connection', {
    view: {
      operation: 'GET /apps/{id}/connections/{socket}',
      path: { ...app, socket: ':socket' },
    },
  }),
  page('/apps/:app/problems', 'problems', {
    place: { word: 'Problems', icon: 'problem', key: 'p' },
    view: { operation: 'GET /apps/{id}/problems', path: app },
  }),
  page('/apps/:app/send', 'send', { place: { word: 'Send', icon: 'send', key: 's' } }),
  page('/apps/:app/webhooks', 'webhooks', {
    place: { word: 'Webhooks', icon: 'webhook', key: 'w' },
    view: {
      operation: 'GET /webhooks',
      query: { app: ':app' },
      filters: ['state'],
      fanfare: ['webhooks', 'list'],
    },
  }),
  page('/apps/:app/webhooks/:webhook', 'webhook', {
    view: {
      operation: 'GET /webhooks/{id}',
      path: { id: ':webhook' },
      fanfare: ['webhooks', 'show', ':webhook'],
    },
  }),
  page('/apps/:app/usage', 'usage', {
    place: { word: 'Usage', icon: 'usage', key: 'm' },
    view: { operation: 'GET /apps/{id}/usage', path: app, filters: ['unit', 'days'] },
  }),
  page('/apps/:app/connect', 'connect', { place: { word: 'Connect', icon: 'api', key: 'o' } }),
  page('/apps/:app/keys', 'keys', {
    place: { word: 'Keys', icon: 'key', key: 'k' },
    view: { operation: 'GET /apps/{id}', path: app, fanfare: ['apps', 'show', ':app'] },
  }),
  page('/apps/:app/settings', 'settings', {
    place: { word: 'Settings', icon: 'settings', key: 't' },
    view: { operation: 'GET /apps/{id}', path: app, fanfare: ['apps', 'show', ':app'] },
  }),
  page('/push/:instance/live', 'live', { place: { word: 'Live', icon: 'live', key: 'v' } }),
  page('/push/:instance/publishes', 'publishes', {
    place: { word: 'Publishes', icon: 'publish', key: 'u' },
    view: {
      operation: 'GET /instances/{id}/publishes',
      path: instance,
      filters: ['state'],
      fanfare: ['push', 'list', ':instance'],
    },
  }),
  page('/push/:instance/publishes/:publish', 'publish', {
    view: {
      operation: 'GET /instances/{id}/publishes/{publish}',
      path: { ...instance, publish: ':publish' },
      fanfare: ['push', 'status', ':publish'],
    },
  }),
  page('/push/:instance/devices', 'devices', {
    place: { word: 'Devices', icon: 'device', key: 'd' },
    view: {
      operation: 'GET /instances/{id}/devices',
      path: instance,
      filters: ['user', 'interest', 'id', 'platform', 'paused'],
      flags: ['paused'],
      fanfare: ['devices', 'list', ':instance'],
    },
  }),
  page('/push/:instance/devices/:device', 'device', {
    view: {
      operation: 'GET /instances/{id}/devices/{device}',
      path: { ...instance, device: ':device' },
    },
  }),
  page('/push/:instance/compose', 'compose', {
    place: { word: 'Compose', icon: 'send', key: 'e' },
  }),
  page('/push/:instance/credentials', 'credentials', {
    place: { word: 'Credentials', icon: 'key', key: 'i' },
    view: {
      operation: 'GET /instances/{id}/gateways',
      path: instance,
      fanfare: ['instances', 'show', ':instance'],
    },
  }),
  page('/push/:instance/settings', 'instanceSettings', {
    place: { word: 'Settings', icon: 'settings', key: 'j' },
    view: {
      operation: 'GET /instances/{id}',
      path: instance,
      fanfare: ['instances', 'show', ':instance'],
    },
  }),
  page('/users/:user', 'user', {
    view: {
      operation: 'GET /users/{user}',
      path: { user: ':user' },
      filters: ['app', 'channel', 'instance'],
    },
  }),
];

export type PageName = (typeof pages)[number]['name'];
