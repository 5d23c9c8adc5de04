import { signal } from '@preact/signals';
import type { Session } from './answers.ts';
import { call, loginDone, needsLogin } from './client.ts';

/** The user; `undefined` until the server has answered. */
export const session = signal<Session | undefined>(undefined);

const RANKS = ['viewer', 'support', 'operator', 'admin'] as const;

/** Whether the user has at least this role. */
export function may(role: Session['role']): boolean {
  return RANKS.indexOf(session.value?.role ?? 'viewer') >= RANKS.indexOf(role);
}

/** Whether the user may see all apps and instances, and therefore the whole server. */
export function seesEverything(): boolean {
  return session.value?.apps === '*' && session.value.instances === '*';
}

/** Asks who is logged in. First exchanges the token of a log-in link, and removes it from the address bar. */
export async function askSession(): Promise<void> {
  const token = /^#token=([\w.~-]+)$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    try {
      session.value = await call('POST /session', { body: { token } });
      return;
    } catch {
      // The link was used before or is too old: ask for the password instead.
    }
  }
  // This answer is 200 also without a session, because browsers print refusals in their console.
  const known = await call('GET /session', { query: { nobody: 'true' } });
  if (known === null) needsLogin.value = true;
  else session.value = known;
}

/** Logs in with the password. Throws the refusal. */
export async function logIn(password: string): Promise<void> {
  session.value = await call('POST /session', { body: { password } });
  loginDone();
}

export async function logOut(): Promise<void> {
  await call('DELETE /session');
  location.reload();
}
