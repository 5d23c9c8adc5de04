import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { Dialog } from '../parts/dialogs/dialog.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
import { go, inApp, inInstance } from '../routing/router.ts';
import { apps, currentApp, nameOfId } from './apps.ts';
import { instances } from './instances.ts';
import { appPlaces, pushPlaces, serverPlaces } from './navigation.ts';
import { nameOf } from './tenants.ts';
import { userPath, userQuery } from './user-link.tsx';

interface Hit {
  readonly icon: IconName;
  readonly what: string;
  readonly where: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

/** How many apps are searched for a channel, and how many push instances for a publish. */
const SEARCHED_APPS = 5;
const TYPING_MS = 150;

/** A device id, or as much of it as the server needs. */
const DEVICE_ID = /^(apns|fcm|web)-[\da-f]{6}[\da-f-]*$/i;

/** Finds pages, apps, channels, connections, users, devices and publishes, and goes there. */
export function Palette({ close }: { readonly close: () => void }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [searched, setSearched] = useState<readonly Hit[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const wanted = typed.trim();

  useEffect(() => {
    setSearched([]);
    if (wanted === '') return undefined;
    const stopping = new AbortController();
    const timer = setTimeout(() => {
      void finderOf(wanted)(wanted, stopping.signal).then((found) => {
        if (!stopping.signal.aborted) setSearched(found);
      });
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stopping.abort();
    };
  }, [wanted]);

  const hits = [...knownHits(wanted), ...searched].slice(0, 30);
  const current = Math.min(chosen, hits.length - 1);
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    close();
    go(hit.path, hit.query);
  };
  return (
    <Dialog label="Find anything" look="palette" close={close}>
      <label class="search">
        <Icon name="find" />
        <span class="unseen">Find anything</span>
        <input
          class="input"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-hits`}
          aria-activedescendant={hits.length === 0 ? undefined : `${id}-${current}`}
          placeholder="A page, app, channel, socket id, user, device id, pubid-… …"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (by !== undefined) {
              event.preventDefault();
              setChosen((current + by + hits.length) % Math.max(hits.length, 1));
            }
            if (event.key === 'Enter') open(hits[current]);
          }}
        />
      </label>
      <div id={`${id}-hits`} class="hits" ref={list} role="listbox" aria-label="Found">
        {hits.map((hit, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above walks the list by arrow keys.
          <div
            key={`${hit.path}${hit.what}${JSON.stringify(hit.query ?? {})}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => open(hit)}
          >
            <Icon name={hit.icon} />
            <span class="cut">{hit.what}</span>
            <span class="where">{hit.where}</span>
          </div>
        ))}
      </div>
      <p role="status">
        {hits.length === 0
          ? `Nothing is called “${wanted}” among pages and apps, occupied channels of ${SEARCHED_APPS} apps, devices and publishes of ${SEARCHED_APPS} push instances.`
          : '↑ ↓ to choose, ↵ to open, esc to close'}
      </p>
    </Dialog>
  );
}

/** What is searched for by asking the server. */
function finderOf(wanted: string) {
  if (/^pubid-/.test(wanted)) return findPublish;
  return DEVICE_ID.test(wanted) ? findDevices : findChannels;
}

function knownHits(wanted: string): readonly Hit[] {
  const app = currentApp.value;
  const fits = (text: string) => text.toLowerCase().includes(wanted.toLowerCase());
  const hits: Hit[] = [];
  if (app !== undefined && wanted !== '') {
    if (/^\d+\.\d+$/.test(wanted)) {
      hits.push({
        icon: 'connection',
        what: `Connection ${wanted}`,
        where: nameOfId(app),
        path: inApp(app, 'connections', wanted),
      });
    }
  }
  if (app !== undefined) {
    for (const { path, word, icon } of appPlaces.filter((place) => fits(place.word))) {
      hits.push({
        icon,
        what: word,
        where: nameOfId(app),
        path: inApp(app, path),
      });
    }
  }
  const instance = instances.current.value;
  if (instance !== undefined) {
    for (const { path, word, icon } of pushPlaces.filter((place) => fits(place.word))) {
      hits.push({
        icon,
        what: word,
        where: instances.nameOfId(instance),
        path: inInstance(instance, path),
      });
    }
  }
  for (const { path, word, icon } of serverPlaces().filter((place) => fits(place.word))) {
    hits.push({ icon, what: word, where: 'page', path });
  }
  if (fits('Home')) hits.push({ icon: 'home', what: 'Home', where: 'page', path: '/' });
  for (const each of (apps.value ?? []).filter(({ id, name }) => fits(id) || fits(name))) {
    hits.push({
      icon: 'live',
      what: nameOf(each),
      where: `app ${each.id}`,
      path: inApp(each.id, 'live'),
    });
  }
  for (const each of (instances.all.value ?? []).filter(({ id, name }) => fits(id) || fits(name))) {
    hits.push({
      icon: 'publish',
      what: nameOf(each),
      where: 'push instance',
      path: inInstance(each.id, 'publishes'),
    });
  }
  const isId = /^\d+\.\d+$|^pubid-/.test(wanted) || DEVICE_ID.test(wanted);
  if (/^[\w:@.=+-]{1,164}$/.test(wanted) && !isId) {
    hits.push({
      icon: 'person',
      what: `User ${wanted}`,
      where: 'connections and devices',
      path: userPath(wanted),
      query: userQuery(),
    });
  }
  return hits;
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
