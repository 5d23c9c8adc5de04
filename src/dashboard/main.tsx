import { type ComponentType, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { askSession, session } from './api/session.ts';
import { LogInPage } from './shell/log-in.tsx';
import { applyTheme } from './shell/theme.ts';

/** The log-in page. The other pages are loaded once somebody has logged in. */
function Dashboard() {
  const [Loaded, setLoaded] = useState<ComponentType | undefined>(undefined);
  const isLoggedIn = session.value !== undefined;
  useEffect(() => {
    if (isLoggedIn) void import('./app.tsx').then(({ App }) => setLoaded(() => App));
  }, [isLoggedIn]);
  if (!isLoggedIn) return <LogInPage />;
  return Loaded === undefined ? null : <Loaded />;
}

const place = document.getElementById('dashboard');
applyTheme();
await askSession();
if (place !== null) render(<Dashboard />, place);
