import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Button } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { say } from '../../parts/toasts.tsx';
import type { Outcome } from '../../parts/use-outcome.ts';

/** Revokes the grants of a user, if the app takes any and the caller may. */
export function RevokeButton({
  app,
  user,
  attempt,
}: {
  readonly app: string;
  readonly user: string;
  readonly attempt: Outcome<object>['attempt'];
}) {
  const [isAsked, setAsked] = useState(false);
  const skip = app === '' || !may('operator');
  const { value } = useAnswer('GET /apps/{id}', { path: { id: app } }, { skip });
  if (skip || value?.grants === undefined) return null;
  const revoke = async () => {
    await call('POST /apps/{id}/revocations', { path: { id: app }, body: { userId: user } });
    say('Revoked. Connections that hang on these grants end within 3 seconds.');
  };
  return (
    <>
      <Button look="danger" onClick={() => setAsked(true)}>
        Revoke
      </Button>
      {isAsked && (
        <Confirm
          title={`Revoke the grants of ${user}?`}
          typed={user}
          action="Revoke"
          close={() => setAsked(false)}
          act={() => attempt(revoke)}
        >
          Sign-ins and tokens that the user has now are refused in app {app} from now on, and
          connections that hang on them are closed. They come back, and your backend decides whether
          it gives them new ones.
        </Confirm>
      )}
    </>
  );
}
