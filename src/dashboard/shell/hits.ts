import { call } from '../api/client.ts';
import type { IconName } from '../parts/icons.tsx';
import { appPlaces, pushPlaces, serverPlaces } from '../places/navigation.ts';
import { inApp, inInstance } from '../routing/router.ts';
import { apps, currentApp, nameOfId } from './apps.ts';
import { instances } from './instances.ts';
import { type Named, nameOf } from './tenants.ts';
import { userPath, userQuery } from './user-link.tsx';

/** A page that was found. */
export interface Hit {
  readonly icon: IconName;
  readonly what: string;
  readonly where: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

/** How many apps are searched for a channel, and how many push instances for a publish. */
export const SEARCHED_APPS = 5;

/** A device id, or as much of it as the server needs. */
const DEVICE_ID = /^(apns|fcm|web)-[\da-f]{6}[\da-f-]*$/i;
const PUBLISH_ID = /^pubid-/;
const SOCKET_ID = /^\d+\.\d+$/;

/** Finds what needs no request: pages, apps and instances, and what the text may be the id of. */
export function knownHits(wanted: string): readonly Hit[] {
  const fits = (text: string) => text.toLowerCase().includes(wanted.toLowerCase());
  const fitting = (tenants: readonly Named[] = []) =>
    tenants.filter(({ id, name }) => fits(id) || fits(name));
  return [
    ...connection(wanted),
    ...pages().filter(({ what }) => fits(what)),
    ...fitting(apps.value).map((app): Hit => {
      const path = inApp(app.id, 'live');
      return { icon: 'live', what: nameOf(app), where: `app ${app.id}`, path };
    }),
    ...fitting(instances.all.value).map((instance): Hit => {
      const path = inInstance(instance.id, 'publishes');
      return { icon: 'publish', what: nameOf(instance), where: 'push instance', path };
    }),
  ];
}

/** The pages of the navigation. */
function pages(): readonly Hit[] {
  const app = currentApp.value;
  const instance = instances.current.value;
  const home = { path: '/', word: 'Home', icon: 'home' } as const;
  return [
    ...appPlaces.flatMap(({ path, word: what, icon }) =>
      app === undefined ? [] : [{ icon, what, where: nameOfId(app), path: inApp(app, path) }],
    ),
    ...pushPlaces.flatMap(({ path, word: what, icon }) =>
      instance === undefined
        ? []
        : [{ icon, what, where: instances.nameOfId(instance), path: inInstance(instance, path) }],
    ),
    ...[...serverPlaces(), home].map(({ path, word: what, icon }) => ({
      icon,
      what,
      where: 'page',
      path,
    })),
  ];
}

function connection(wanted: string): readonly Hit[] {
  const app = currentApp.value;
  if (app === undefined || !SOCKET_ID.test(wanted)) return [];
  const path = inApp(app, 'connections', wanted);
  return [{ icon: 'connection', what: `Connection ${wanted}`, where: nameOfId(app), path }];
}

/** Anything that is no other id may be the id of a user, whether there is one or not. */
export function userHits(wanted: string): readonly Hit[] {
  const isOther = [SOCKET_ID, PUBLISH_ID, DEVICE_ID].some((id) => id.test(wanted));
  if (isOther || !/^[\w:@.=+-]{1,164}$/.test(wanted)) return [];
  return [
    {
      icon: 'person',
      what: `User ${wanted}`,
      where: 'connections and devices',
      path: userPath(wanted),
      query: userQuery(),
    },
  ];
}

/** Finds channels, devices or a publish, which takes requests. */
export function askedHits(wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (PUBLISH_ID.test(wanted)) return findPublish(wanted, signal);
  return (DEVICE_ID.test(wanted) ? findDevices : findChannels)(wanted, signal);
}

async function findChannels(prefix: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const current = currentApp.value;
  const ids = (apps.value ?? []).map(({ id }) => id).filter((id) => id !== current);
  const searched = (current === undefined ? ids : [current, ...ids]).slice(0, SEARCHED_APPS);
  const found = await Promise.all(
    searched.map(async (id) => {
      try {
        const { channels } = await call(
          'GET /apps/{id}/channels',
          { path: { id }, query: { prefix, limit: '6' } },
          signal,
        );
        return channels.map(
          ({ name }): Hit => ({
            icon: 'channel',
            what: name,
            where: nameOfId(id),
            path: inApp(id, 'channels', name),
          }),
        );
      } catch {
        return [];
      }
    }),
  );
  return found.flat();
}

/** Asks one push instance after the other, that of the navigation first. Those that refuse have nothing. */
async function inInstances(
  ask: (instance: string) => Promise<readonly Hit[]>,
): Promise<readonly Hit[]> {
  const current = instances.current.value;
  const ids = (instances.all.value ?? []).map(({ id }) => id).filter((id) => id !== current);
  const searched = (current === undefined ? ids : [current, ...ids]).slice(0, SEARCHED_APPS);
  const found = await Promise.all(searched.map((id) => ask(id).catch(() => [])));
  return found.flat();
}

async function findPublish(publish: string, signal: AbortSignal): Promise<readonly Hit[]> {
  try {
    const { id, instance } = await call('GET /publishes/{publish}', { path: { publish } }, signal);
    const path = inInstance(instance, 'publishes', id);
    return [{ icon: 'publish', what: id, where: instances.nameOfId(instance), path }];
  } catch {
    return [];
  }
}

function findDevices(wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  return inInstances(async (id) => {
    const found = /-[\da-f-]{36}$/i.test(wanted)
      ? // Also one that was removed.
        [await call('GET /instances/{id}/devices/{device}', deviceAt(id, wanted), signal)]
      : (await call('GET /instances/{id}/devices', idsLike(id, wanted), signal)).devices;
    return found.map(({ id: device }) => ({
      icon: 'device',
      what: device,
      where: instances.nameOfId(id),
      path: inInstance(id, 'devices', device),
    }));
  });
}

const deviceAt = (id: string, device: string) => ({ path: { id, device } });
const idsLike = (id: string, wanted: string) => ({
  path: { id },
  query: { id: wanted, limit: '6' },
});
