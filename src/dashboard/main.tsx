import { useSignal, useSignalEffect } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { LogIn } from './log-in.tsx';
import { findSession, session } from './session.ts';

/** The log-in page; the other pages are loaded once somebody has logged in. */
function Page() {
  const pages = useSignal<ComponentType | undefined>(undefined);
  useSignalEffect(() => {
    if (session.value === undefined || pages.peek() !== undefined) return;
    void import('./pages.tsx').then(({ Pages }) => {
      pages.value = Pages;
    });
  });
  if (session.value === undefined) return <LogIn />;
  const Loaded = pages.value;
  return Loaded === undefined ? <p role="status">Loading</p> : <Loaded />;
}

const place = document.getElementById('page');
await findSession();
if (place !== null) render(<Page />, place);
