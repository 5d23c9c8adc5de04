import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { failedOf } from './api/client.ts';
import { askSession, session } from './api/session.ts';
import type { App } from './app.tsx';
import { FrontPage, LogInPage } from './shell/log-in.tsx';
import { applyTheme } from './shell/theme.ts';

/** The log-in page. The other pages are loaded after the log-in. */
function Dashboard() {
  const [Loaded, setLoaded] = useState<typeof App>();
  const [isLost, setLost] = useState(false);
  const isLoggedIn = session.value !== undefined;
  useEffect(() => {
    if (!isLoggedIn) return;
    import('./app.tsx').then(
      ({ App }) => setLoaded(() => App),
      () => setLost(true),
    );
  }, [isLoggedIn]);
  if (!isLoggedIn) return <LogInPage />;
  if (isLost) return <p role="alert">The dashboard could not be loaded. Reload this page.</p>;
  return Loaded === undefined ? null : <Loaded />;
}

const place = document.getElementById('dashboard');
applyTheme();
const failed = await askSession().then(
  () => undefined,
  (error: unknown) => failedOf(error).message,
);
const page =
  failed === undefined ? (
    <Dashboard />
  ) : (
    <FrontPage>
      <h1>The dashboard cannot be shown</h1>
      <p role="alert">{failed}</p>
      <p class="muted">Then reload this page.</p>
    </FrontPage>
  );
if (place !== null) render(page, place);
