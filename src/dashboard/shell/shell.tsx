import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { needsLogin } from '../api/client.ts';
import { hasNewVersion, serverFacts } from '../api/server-facts.ts';
import { logOut, session } from '../api/session.ts';
import { Button } from '../parts/controls.tsx';
import { Dialog } from '../parts/dialogs/dialog.tsx';
import { duration } from '../parts/formats.ts';
import { commandKey, type Hotkeys, listenForKeys, useHotkeys } from '../parts/hotkeys.ts';
import { Icon } from '../parts/icons.tsx';
import { Key } from '../parts/key.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { appPlaces, pushPlaces } from '../places/navigation.ts';
import { address, go, inApp, inInstance, pathTo } from '../routing/router.ts';
import { currentApp } from './apps.ts';
import { instances } from './instances.ts';
import { KeysHelp } from './keys-help.tsx';
import {
  AppChoice,
  AppLinks,
  InstanceChoice,
  Links,
  PageLink,
  PushLinks,
  ServerLinks,
} from './links.tsx';
import { LogInForm } from './log-in.tsx';
import { Palette } from './palette.tsx';
import { nextTheme, theme } from './theme.ts';
import { close, find, opened, showKeys, showMore } from './windows.ts';

/** The frame of every page: navigation, search, and the windows over it. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  useEffect(() => listenForKeys(find), []);
  useHotkeys({ '/': find, '?': showKeys, 'g h': () => go('/'), ...placeKeys() });
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

/** The keys that open a page of the current app or push instance. */
function placeKeys(): Hotkeys {
  const app = currentApp.value;
  const instance = instances.current.value;
  return Object.fromEntries([
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
  ]);
}

function Side() {
  return (
    <header class="side">
      <a class="brand" href={pathTo('/')}>
        <Icon name="brand" />
        <span class="words">Fanfare</span>
      </a>
      <button type="button" class="button find" onClick={find}>
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
      <Button look="quiet for-keys" label="Keys" onClick={showKeys}>
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
      <button type="button" onClick={find}>
        <Icon name="find" />
        Find
      </button>
      <button type="button" aria-expanded={opened.value === 'more'} onClick={showMore}>
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
