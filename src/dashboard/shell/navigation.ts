import { may, seesEverything } from '../api/session.ts';
import type { IconName } from '../parts/icons.tsx';

interface Place {
  /** Below `/apps/APP` or `/push/INSTANCE`. */
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
  /** The second key after `g`. */
  readonly key?: string;
}

/** The pages of one app, in the order of the navigation. */
export const appPlaces: readonly Place[] = [
  { path: 'live', word: 'Live', icon: 'live', key: 'l' },
  { path: 'channels', word: 'Channels', icon: 'channel', key: 'c' },
  { path: 'connections', word: 'Connections', icon: 'connection', key: 'n' },
  { path: 'problems', word: 'Problems', icon: 'problem', key: 'p' },
  { path: 'send', word: 'Send', icon: 'send', key: 's' },
  { path: 'webhooks', word: 'Webhooks', icon: 'webhook', key: 'w' },
  { path: 'usage', word: 'Usage', icon: 'usage', key: 'm' },
  { path: 'connect', word: 'Connect', icon: 'api', key: 'o' },
  { path: 'keys', word: 'Keys', icon: 'key', key: 'k' },
  { path: 'settings', word: 'Settings', icon: 'settings', key: 't' },
];

/** The pages of one push instance, in the order of the navigation. */
export const pushPlaces: readonly Place[] = [
  { path: 'live', word: 'Live', icon: 'live', key: 'v' },
  { path: 'publishes', word: 'Publishes', icon: 'publish', key: 'u' },
  { path: 'devices', word: 'Devices', icon: 'device', key: 'd' },
  { path: 'compose', word: 'Compose', icon: 'send', key: 'e' },
  { path: 'credentials', word: 'Credentials', icon: 'key', key: 'i' },
  { path: 'settings', word: 'Settings', icon: 'settings', key: 'j' },
];

interface ServerPlace extends Omit<Place, 'key'> {
  /** Who may see it. */
  readonly role: Parameters<typeof may>[0];
}

const wholeServer: readonly ServerPlace[] = [
  { path: '/nodes', word: 'Servers', icon: 'server', role: 'viewer' },
  { path: '/log', word: 'Log', icon: 'log', role: 'support' },
  { path: '/audit', word: 'Audit', icon: 'person', role: 'admin' },
];

/**
 * The pages of the whole server that the user may see. Users who may see only some apps or instances see none of
 * them.
 */
export function serverPlaces(): readonly ServerPlace[] {
  return seesEverything() ? wholeServer.filter(({ role }) => may(role)) : [];
}
