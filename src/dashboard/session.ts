import { signal } from '@preact/signals';

/** Who is logged in, and what they may do. */
export interface Session {
  readonly user: string | null;
  readonly role: 'viewer' | 'support' | 'operator' | 'admin';
  readonly apps: '*' | readonly string[];
  readonly instances: '*' | readonly string[];
  readonly payloads: boolean;
  readonly how: 'password' | 'proxy';
}

const ADDRESS = '/api/v1/session';

/** The session; `undefined`: nobody is logged in. */
export const session = signal<Session | undefined>(undefined);

/** Finds the session of this browser, or begins one with the token of a log-in link. */
export async function findSession(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token !== null) {
    // Removed at once, so that it is in no history and no copied address.
    history.replaceState(null, '', location.pathname + location.search);
    if ((await logIn({ token })) === undefined) return;
  }
  const response = await fetch(ADDRESS);
  if (response.ok) session.value = await response.json();
}

/** Begins a session. Returns why not, in words for the user. */
export async function logIn(
  given: { readonly password: string } | { readonly token: string },
): Promise<string | undefined> {
  const response = await fetch(ADDRESS, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(given),
  });
  const answer = await response.json();
  if (!response.ok) return answer.error;
  session.value = answer;
  return undefined;
}

/** Ends the session of this browser. */
export async function logOut(): Promise<void> {
  await fetch(ADDRESS, { method: 'DELETE', headers: { 'content-type': 'application/json' } });
  session.value = undefined;
}
