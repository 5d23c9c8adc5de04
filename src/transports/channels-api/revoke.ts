import { type FieldNames, readRevocation } from '../../channels/grants/read-revocation.ts';
import { TOO_MANY } from '../../channels/grants/revocations.ts';
import type { RevokeOutcome } from '../../channels/hub.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import { type Answer, type Call, EMPTY } from './call.ts';
import { refuseExtraneous } from './extraneous.ts';
import { ApiRefusal, invalid } from './problems.ts';
import { readFields } from './read-fields.ts';
import { rateLimited } from './refuse-usage.ts';

/** The limit of a body: enough for every one that is right. */
const BODY_BYTES_MAX = 8192;

const names = {
  userId: 'user_id',
  jti: 'jti',
  all: 'all',
  issuedBefore: 'issued_before',
} as const satisfies FieldNames;

/** `POST /revocations`: ends grants on all servers of the store. Source: identity, §3.6. */
export function revoke({ hub, app, parameters, body }: Call): MaybePromise<Answer> {
  const refused = refuseExtraneous(parameters);
  if (refused !== undefined) return refused;
  if (app.grants === undefined) return invalid('revocations: the app takes no grants');
  const given = readFields(body, Object.values(names), BODY_BYTES_MAX);
  if (given instanceof ApiRefusal) return given;
  const read = readRevocation(
    {
      // Libraries send null for what is absent.
      userId: given[names.userId] ?? undefined,
      jti: given[names.jti] ?? undefined,
      all: given[names.all] ?? undefined,
      issuedBefore: given[names.issuedBefore] ?? undefined,
    },
    names,
    { appId: app.id, nowMs: hub.clock.now() },
  );
  if (!read.ok) return invalid(read.why);
  return after(hub.revoke(read.revocation), answerTo);
}

function answerTo(outcome: RevokeOutcome): Answer {
  switch (outcome) {
    case 'revoked':
      return EMPTY;
    case 'too-many':
      return invalid(TOO_MANY);
    case 'too-many-at-once':
      return rateLimited('Too many revocations wait for the store at the same time');
    case 'not-shared':
      return invalid(NOT_SHARED);
    case 'away':
      return new ApiRefusal('store-away', 'The store cannot be reached now, try again', {
        'retry-after': '1',
      });
    default:
      return outcome satisfies never;
  }
}

const NOT_SHARED = 'revocations need a store that all servers share';
