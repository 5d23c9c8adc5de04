import { isUserId } from '../../channels/channel-name.ts';
import { ask } from '../../channels/engine-failure.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { UserStatus } from '../../channels/ports.ts';
import { hasMoreValues } from '../../runtime/json-object.ts';
import type { Answer, Call } from './call.ts';
import { refuseExtraneous } from './extraneous.ts';
import { ApiRefusal, invalid } from './problems.ts';
import { readFields } from './read-fields.ts';

const USERS_MAX = 1000;

const RULE = `user_ids: must be 1 to ${USERS_MAX} user ids`;

/** The ids, and the values and the name around them. */
const VALUES_MAX = USERS_MAX + 10;

/** The limit of a body: enough for so many of the longest ids. */
const BODY_BYTES_MAX = 262_144;

/** Users that cost as much as one query. */
const USERS_PER_QUERY = 50;

/** `POST /users/status`: which of some users are online. */
export function userStatuses({ hub, app, parameters, body }: Call): MaybePromise<Answer> {
  const refused = refuseExtraneous(parameters);
  if (refused !== undefined) return refused;
  const userIds = readUserIds(body);
  if (userIds instanceof ApiRefusal) return userIds;
  hub.usage.chargeQueries(app, Math.ceil(userIds.length / USERS_PER_QUERY) - 1);
  return after(
    ask('userStatuses', () => hub.authority.userStatuses(app, userIds)),
    (statuses) => {
      const users = userIds.map((userId, n) => rowOf(userId, statuses[n]));
      return { json: JSON.stringify({ users }) };
    },
  );
}

function readUserIds(body: Uint8Array): readonly string[] | ApiRefusal {
  // Many values make reading slow.
  if (body.length <= BODY_BYTES_MAX && hasMoreValues(body, VALUES_MAX)) return invalid(RULE);
  const given = readFields(body, ['user_ids'], BODY_BYTES_MAX);
  if (given instanceof ApiRefusal) return given;
  const { user_ids: userIds } = given;
  const isRight =
    Array.isArray(userIds) &&
    userIds.length >= 1 &&
    userIds.length <= USERS_MAX &&
    userIds.every((one): one is string => typeof one === 'string' && isUserId(one));
  return isRight ? userIds : invalid(RULE);
}

function rowOf(id: string, status: UserStatus | undefined) {
  const { isOnline = false, sinceMs = null, lastSeenMs = null } = status ?? {};
  return { id, online: isOnline, since_ms: sinceMs, last_seen_ms: lastSeenMs };
}
