import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { appPlaces, pushPlaces, serverPlaces } from '../places/navigation.ts';
import { address, go, inApp, inInstance, pathTo } from '../routing/router.ts';
import { currentApp, knownApps } from './apps.ts';
import { instances } from './instances.ts';
import { type Named, nameOf, type ShownTenants } from './tenants.ts';
import { close } from './windows.ts';

export function Links() {
  const list = useRef<HTMLElement>(null);
  const { path } = address.value;
  const known = [knownApps.all.value, instances.all.value];
  // In a low window, only a part of the links is in view.
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [path, ...known]);
  return (
    <nav ref={list} class="nav" aria-label="Pages">
      <ServerLinks />
      <AppChoice id="app-of-side" />
      <AppLinks />
      <InstanceChoice id="instance-of-side" />
      <PushLinks />
    </nav>
  );
}

export function ServerLinks() {
  return (
    <>
      <PageLink path="/" word="Home" icon="home" />
      {serverPlaces().map(({ path, word, icon }) => (
        <PageLink key={path} path={path} word={word} icon={icon} />
      ))}
    </>
  );
}

export function AppLinks() {
  const app = currentApp.value;
  if (app === undefined) return null;
  return appPlaces.map(({ path, word, icon }) => (
    <PageLink key={path} path={inApp(app, path)} word={word} icon={icon} />
  ));
}

export function PushLinks() {
  const instance = instances.current.value;
  if (instance === undefined) return null;
  return pushPlaces.map(({ path, word, icon }) => (
    <PageLink key={path} path={inInstance(instance, path)} word={word} icon={icon} />
  ));
}

export function PageLink({
  path,
  word,
  icon,
}: {
  readonly path: string;
  readonly word: string;
  readonly icon: Parameters<typeof Icon>[0]['name'];
}) {
  const { path: shown } = address.value;
  const isHere = path === '/' ? shown === '/' : shown === path || shown.startsWith(`${path}/`);
  return (
    <a href={pathTo(path)} aria-current={isHere ? 'page' : undefined} onClick={close}>
      <Icon name={icon} />
      <span class="words">{word}</span>
    </a>
  );
}

/** Chooses the app that the navigation is about. */
export function AppChoice({ id }: { readonly id: string }) {
  return (
    <Choice
      id={id}
      label="App"
      of={knownApps}
      open={(app) => go(inApp(app, sameKindOfPage('apps', 'live')))}
    />
  );
}

/** Chooses the push instance that the navigation is about. */
export function InstanceChoice({ id }: { readonly id: string }) {
  return (
    <Choice
      id={id}
      label="Push instance"
      of={instances}
      open={(instance) => go(inInstance(instance, sameKindOfPage('push', 'publishes')))}
    />
  );
}

/** The address of the current page for another app or instance, if that has the same page. */
function sameKindOfPage(section: 'apps' | 'push', otherwise: string): string {
  const [, shown, , page = otherwise] = address.value.path.split('/');
  return shown === section ? page : otherwise;
}

function Choice({
  id,
  label,
  of,
  open,
}: {
  readonly id: string;
  readonly label: string;
  readonly of: Pick<ShownTenants<Named>, 'all' | 'current' | 'keep'>;
  readonly open: (id: string) => void;
}) {
  const known = of.all.value ?? [];
  if (known.length === 0) return null;
  return (
    <div class="choice">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={of.current.value}
        onChange={({ currentTarget: { value } }) => {
          of.keep(value);
          open(value);
        }}
      >
        {known.map((each) => (
          <option key={each.id} value={each.id}>
            {nameOf(each)}
          </option>
        ))}
      </select>
    </div>
  );
}
