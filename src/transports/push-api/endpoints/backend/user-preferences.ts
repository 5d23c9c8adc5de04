import type { MaybePromise } from '../../../../channels/maybe-promise.ts';
import type { UserOfInstance } from '../../../../push/preference-store.ts';
import { FieldFault, PushRefusal, refuseField } from '../../../../push/refusal.ts';
import { readPreferences } from '../../../../push/requests/preferences.ts';
import { readJsonObject } from '../../../../runtime/json-object.ts';
import type { PushAnswer, PushCall, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { shownPreferences } from '../device/preferences.ts';
import { backendEndpoint } from './backend-endpoint.ts';
import { refuseUserId, userIdIn } from './user-in-path.ts';

const DONE: PushAnswer = { empty: true };

/** `GET …/user-preferences/ID`: what holds for all devices of a user that say nothing else themselves. */
export function readUserPreferences(context: EndpointContext): PushEndpoint {
  const { preferences, guard } = context;
  return userEndpoint(context, 'nothing', (user) =>
    guard.ask(() => preferences.ofUser(user), shownPreferences),
  );
}

/** `PUT …/user-preferences/ID`. The user need not have devices yet. */
export function setUserPreferences(context: EndpointContext): PushEndpoint {
  const { preferences, guard } = context;
  return userEndpoint(context, 'small-json', (user, { body }) => {
    const fields = readJsonObject(body);
    if (fields === undefined) {
      return new PushRefusal('bad-request', 'The body cannot be read as a JSON object');
    }
    const changes = readPreferences(fields);
    if (changes instanceof FieldFault) return refuseField('bad-request', changes);
    return guard.ask(
      () => preferences.setOfUser({ ...user, changes }),
      () => DONE,
    );
  });
}

/** `DELETE …/user-preferences/ID`. */
export function forgetUserPreferences(context: EndpointContext): PushEndpoint {
  const { preferences, guard } = context;
  return userEndpoint(context, 'nothing', (user) =>
    guard.ask(
      () => preferences.forgetUser(user),
      () => DONE,
    ),
  );
}

function userEndpoint(
  context: EndpointContext,
  takes: 'small-json' | 'nothing',
  answer: (user: UserOfInstance, call: PushCall) => MaybePromise<PushAnswer>,
): PushEndpoint {
  return backendEndpoint(context, takes, ({ number }, call) => {
    const userId = userIdIn(call, '/user-preferences/');
    return refuseUserId(userId) ?? answer({ instance: number, userId }, call);
  });
}
