import { logOut, session } from './session.ts';

/** Everything but the log-in page. */
export function Pages() {
  const { user, role } = session.value ?? {};
  return (
    <main>
      <h1>Fanfare</h1>
      <p>
        {user ?? 'The owner'} is logged in as {role}.
      </p>
      <button type="button" onClick={() => void logOut()}>
        Log out
      </button>
    </main>
  );
}
