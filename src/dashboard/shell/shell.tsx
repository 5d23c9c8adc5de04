import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { needsLogin } from '../api/client.ts';
import { hasNewVersion, serverFacts } from '../api/server-facts.ts';
import { logOut, session } from '../api/session.ts';
import { Button } from '../parts/controls.tsx';
import { Dialog } from '../parts/dialogs/dialog.tsx';
import { duration } from '../parts/formats.ts';
import { commandKey, listenForKeys, useHotkeys } from '../parts/hotkeys.ts';
import { Icon } from '../parts/icons.tsx';
import { Key } from '../parts/key.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { address, go, inApp, inInstance, pathTo } from '../routing/router.ts';
import { currentApp, knownApps } from './apps.ts';
import { instances } from './instances.ts';
import { KeysHelp } from './keys-help.tsx';
import { LogInForm } from './log-in.tsx';
import { appPlaces, pushPlaces, serverPlaces } from './navigation.ts';
import { Palette } from './palette.tsx';
import { type Named, nameOf, type Tenants } from './tenants.ts';
import { nextTheme, theme } from './theme.ts';

const opened = signal<'find' | 'keys' | 'more' | undefined>(undefined);

const close = () => {
  opened.value = undefined;
};

/** The frame of every page: navigation, search, and the windows over it. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  useEffect(() => {
    listenForKeys(() => {
      opened.value = 'find';
    });
  }, []);
  const app = currentApp.value;
  const instance = instances.current.value;
  useHotkeys({
    '/': () => {
      opened.value = 'find';
    },
    '?': () => {
      opened.value = 'keys';
    },
    'g h': () => go('/'),
    ...Object.fromEntries([
      ...appPlaces.map(({ key, path }) => [
        `g ${key}`,
        () => {
          if (app !== undefined) go(inApp(app, path));
        },
      ]),
      ...pushPlaces.map(({ key, path }) => [
        `g ${key}`,
        () => {
          if (instance !== undefined) go(inInstance(instance, path));
        },
      ]),
    ]),
  });
  return (
    <>
      <a class="button skip" href="#page">
        To the page
      </a>
      <div class="shell">
        <Side />
        <TopBar />
        <div class="main">
          {hasNewVersion.value && (
            <div class="banner" role="status">
              The server runs a new version.
              <Button look="slim" onClick={() => location.reload()}>
                Reload
              </Button>
            </div>
          )}
          <main id="page" tabIndex={-1}>
            {children}
          </main>
        </div>
        <BottomBar />
      </div>
      {opened.value === 'find' && <Palette close={close} />}
      {opened.value === 'keys' && <KeysHelp close={close} />}
      {opened.value === 'more' && <More />}
      {needsLogin.value && (
        <Dialog label="Log in">
          <LogInForm says="The session has ended. The page stays as it is." />
        </Dialog>
      )}
      <Toasts />
    </>
  );
}

function Side() {
  return (
    <header class="side">
      <a class="brand" href={pathTo('/')}>
        <Icon name="brand" />
        <span class="words">Fanfare</span>
      </a>
      <button
        type="button"
        class="button find"
        onClick={() => {
          opened.value = 'find';
        }}
      >
        <Icon name="find" />
        <span class="words">Find anything</span>
        <Key name={`${commandKey} K`} />
      </button>
      <Links />
      <div class="foot">
        <ServerLine />
        <SideButtons />
      </div>
    </header>
  );
}

function Links() {
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

function ServerLinks() {
  return (
    <>
      <PageLink path="/" word="Home" icon="home" />
      {serverPlaces().map(({ path, word, icon }) => (
        <PageLink key={path} path={path} word={word} icon={icon} />
      ))}
    </>
  );
}

function AppLinks() {
  const app = currentApp.value;
  if (app === undefined) return null;
  return appPlaces.map(({ path, word, icon }) => (
    <PageLink key={path} path={inApp(app, path)} word={word} icon={icon} />
  ));
}

function PushLinks() {
  const instance = instances.current.value;
  if (instance === undefined) return null;
  return pushPlaces.map(({ path, word, icon }) => (
    <PageLink key={path} path={inInstance(instance, path)} word={word} icon={icon} />
  ));
}

function PageLink({
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
function AppChoice({ id }: { readonly id: string }) {
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
function InstanceChoice({ id }: { readonly id: string }) {
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
  readonly of: Pick<Tenants<Named>, 'all' | 'current' | 'keep'>;
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

function ServerLine() {
  const facts = serverFacts.value;
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((turn) => turn + 1), 60_000);
    return () => clearInterval(timer);
  }, []);
  if (facts === undefined) return null;
  return (
    <p title={`Fanfare ${facts.version}`}>
      {facts.name} · up {duration(Date.now() - facts.startedAtMs)}
    </p>
  );
}

function SideButtons() {
  return (
    <div class="buttons">
      <Button icon="theme" look="quiet" label={`Colours: ${theme.value}`} onClick={nextTheme} />
      <Button
        look="quiet for-keys"
        label="Keys"
        onClick={() => {
          opened.value = 'keys';
        }}
      >
        <Key name="?" />
      </Button>
      {session.value?.how === 'password' && (
        <Button icon="leave" look="quiet" label="Log out" onClick={() => void logOut()} />
      )}
    </div>
  );
}

function TopBar() {
  return (
    <header class="top">
      <a class="brand" href={pathTo('/')}>
        <Icon name="brand" /> Fanfare
      </a>
      {address.value.path.startsWith('/push/') ? (
        <InstanceChoice id="instance-of-top" />
      ) : (
        <AppChoice id="app-of-top" />
      )}
    </header>
  );
}

function BottomBar() {
  const app = currentApp.value;
  const instance = instances.current.value;
  return (
    <nav class="bottom" aria-label="Main pages">
      <PageLink path="/" word="Home" icon="home" />
      {app !== undefined && <PageLink path={inApp(app, 'live')} word="Live" icon="live" />}
      {instance !== undefined ? (
        <PageLink path={inInstance(instance, 'publishes')} word="Push" icon="publish" />
      ) : (
        app !== undefined && <PageLink path={inApp(app, 'send')} word="Send" icon="send" />
      )}
      <button
        type="button"
        onClick={() => {
          opened.value = 'find';
        }}
      >
        <Icon name="find" />
        Find
      </button>
      <button
        type="button"
        aria-expanded={opened.value === 'more'}
        onClick={() => {
          opened.value = 'more';
        }}
      >
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}

function More() {
  return (
    <Dialog label="More pages" look="more" close={close}>
      <nav class="nav" aria-label="More pages">
        <ServerLinks />
        <AppLinks />
        <PushLinks />
      </nav>
      <div class="foot">
        <ServerLine />
        <SideButtons />
      </div>
    </Dialog>
  );
}
