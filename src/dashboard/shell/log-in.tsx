import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Failed } from '../api/client.ts';
import { logIn } from '../api/session.ts';
import { Button, Field } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';

/** Asks for the password. */
export function LogInForm({ says }: { readonly says: string }) {
  const [password, setPassword] = useState('');
  const [failed, setFailed] = useState<Failed>();
  const [isAsking, setAsking] = useState(false);
  const submit = async () => {
    setAsking(true);
    try {
      await logIn(password);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setFailed(error);
    } finally {
      setAsking(false);
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div>
        <h1 class="line-of">
          <Icon name="brand" /> Fanfare
        </h1>
        <p class="muted">{says}</p>
      </div>
      <UserName />
      <Field
        label="Password"
        wrong={failed && wordsFor(failed)}
        hint={
          <>
            <code>fanfare admin password</code> shows it, on the server.
          </>
        }
      >
        {(given) => (
          <input
            {...given}
            type="password"
            name="password"
            autocomplete="current-password"
            autofocus
            required
            value={password}
            onInput={({ currentTarget }) => setPassword(currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit" look="primary" disabled={isAsking}>
        Log in
      </Button>
    </form>
  );
}

/** A password manager keeps a password under a name. */
function UserName() {
  return (
    <input
      class="unseen"
      type="text"
      name="username"
      autocomplete="username"
      value="admin"
      readOnly
      tabIndex={-1}
      aria-hidden="true"
    />
  );
}

function wordsFor({ status, message }: Failed): string {
  if (status === 401) return 'This is not the password.';
  if (status === 429) return 'Too many wrong passwords came from this address. Wait a moment.';
  return message;
}

/** The page of a browser without a session. */
export function LogInPage() {
  return (
    <FrontPage>
      <LogInForm says="Log in to this server." />
    </FrontPage>
  );
}

/** A page for who cannot see the others. */
export function FrontPage({ children }: { readonly children: ComponentChildren }) {
  return (
    <main class="login">
      <div class="card inside stack">{children}</div>
    </main>
  );
}
