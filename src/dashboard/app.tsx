import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { askServerFacts } from './api/server-facts.ts';
import { load, type PageComponent } from './pages/load.ts';
import { Button } from './parts/controls.tsx';
import { Notice } from './parts/notices.tsx';
import { PageHead } from './parts/page-head.tsx';
import { viewCommands } from './parts/view-commands.ts';
import { pages } from './places/pages.ts';
import { commandsOf } from './places/views.ts';
import { address, catchLinks, match, pathTo } from './routing/router.ts';
import { askApps, knownApps } from './shell/apps.ts';
import { instances } from './shell/instances.ts';
import { Shell } from './shell/shell.tsx';

/** All pages for a logged-in user. */
export function App() {
  useEffect(() => {
    catchLinks();
    void askServerFacts();
    void askApps();
    void instances.ask();
  }, []);
  const { path } = address.value;
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    // The focused link has disappeared with its page, so the new page gets the focus.
    if (document.activeElement === document.body) document.getElementById('page')?.focus();
  }, [path]);
  return (
    <Shell>
      <Guarded key={path}>
        <Page path={path} />
      </Guarded>
    </Shell>
  );
}

function Page({ path }: { readonly path: string }) {
  const page = pages.find((each) => match(each.path, path) !== undefined);
  const values = page && match(page.path, path);
  const [loaded, setLoaded] = useState<{
    readonly of: string;
    readonly Component: PageComponent;
  }>();
  const [isLost, setLost] = useState(false);
  const { app, instance } = values ?? {};
  const unknown =
    (app !== undefined && knownApps.lacks(app) && `There is no app ${app}`) ||
    (instance !== undefined && instances.lacks(instance) && `There is no instance ${instance}`);
  useEffect(() => {
    // It may be newer than what this page knows.
    if (unknown !== false) void (app === undefined ? instances : knownApps).ask();
  }, [unknown, app]);
  useEffect(() => {
    if (app !== undefined) knownApps.keep(app);
    if (instance !== undefined) instances.keep(instance);
  }, [app, instance]);
  useEffect(() => {
    if (page === undefined) return;
    load(page.name).then(
      (Component) => setLoaded({ of: page.path, Component }),
      () => setLost(true),
    );
  }, [page]);
  // Before the page is drawn, which shows them.
  viewCommands.value =
    values === undefined ? [] : commandsOf(page?.view, values, () => address.peek().query);
  if (page === undefined || values === undefined) {
    return <Nothing title="There is no such page" says={path} />;
  }
  if (unknown !== false) {
    return <Nothing title={unknown} says="It was deleted, or you may not see it." />;
  }
  if (isLost) {
    return (
      <div class="page">
        <Notice level="warn" actions={<Button onClick={() => location.reload()}>Reload</Button>}>
          The page could not be loaded. The server may run a new version.
        </Notice>
      </div>
    );
  }
  if (loaded?.of !== page.path) return <div class="page" aria-busy="true" />;
  const { Component } = loaded;
  return <Component key={JSON.stringify(values)} {...values} />;
}

function Nothing({ title, says }: { readonly title: string; readonly says: string }) {
  return (
    <div class="page">
      <PageHead title={title} says={says} />
      <p>
        <a class="button" href={pathTo('/')}>
          To Home
        </a>
      </p>
    </div>
  );
}

/** Shows what went wrong in a page instead of an empty window. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown: unknown) => console.error(thrown));
  if (error === undefined) return <>{children}</>;
  return (
    <div class="page">
      <Notice level="bad" actions={<Button onClick={() => location.reload()}>Reload</Button>}>
        <p>This page has a fault: {String(error)}</p>
        <p class="advice">The server goes on. Please report it with what you did before.</p>
      </Notice>
    </div>
  );
}
