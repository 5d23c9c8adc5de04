import { ask } from '../../channels/engine-failure.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import { textOf } from './body-text.ts';
import { type Answer, type Call, EMPTY } from './call.ts';
import { refuseExtraneous } from './extraneous.ts';
import { invalid } from './problems.ts';

/** `POST /users/UID/terminate_connections`: ends every connection that is signed in as the user. */
export function terminateConnections({
  hub,
  app,
  parameters,
  body,
  userId,
}: Call): MaybePromise<Answer> {
  const refused = refuseExtraneous(parameters) ?? refuseBody(body);
  if (refused !== undefined) return refused;
  return after(
    ask('terminate', () => hub.authority.terminate(app, userId)),
    () => EMPTY,
  );
}

/** No body is needed, but libraries send an empty object. */
function refuseBody(body: Uint8Array): Answer | undefined {
  const text = textOf(body);
  if (typeof text !== 'string') return text;
  const trimmed = text.trim();
  return trimmed === '' || /^\{\s*\}$/.test(trimmed)
    ? undefined
    : invalid(
        'The body must be empty, or an empty JSON object: no parameters are needed or allowed',
      );
}
