import { ask } from '../../channels/engine-failure.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import { type Answer, type Call, EMPTY } from './call.ts';
import { refuseBody, refuseExtraneous } from './extraneous.ts';

/** `POST /users/UID/terminate_connections`: closes all connections that are signed in as the user. */
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
