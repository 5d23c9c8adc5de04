import { useSignal } from '@preact/signals';
import { logIn } from './session.ts';

/** The form for the password. */
export function LogIn() {
  const wrong = useSignal<string | undefined>(undefined);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) return;
    const password = String(new FormData(form).get('password') ?? '');
    wrong.value = await logIn({ password });
  };
  return (
    <main class="log-in">
      <h1>Fanfare</h1>
      <form onSubmit={submit}>
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" />
        <button type="submit">Log in</button>
        {wrong.value === undefined ? null : (
          <p class="wrong" role="alert">
            {wrong.value}
          </p>
        )}
      </form>
      <p>
        <code>npx fanfare admin password</code> shows it.
      </p>
    </main>
  );
}
