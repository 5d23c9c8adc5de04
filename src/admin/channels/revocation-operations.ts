import { z } from 'zod';
import { type FieldNames, readRevocation } from '../../channels/grants/read-revocation.ts';
import { type Revocation, type Revoked, TOO_MANY } from '../../channels/grants/revocations.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import type { Admin } from '../admin.ts';
import { type Operation, operation } from '../operation.ts';
import { listLimit } from '../query-kinds.ts';

const names = {
  userId: 'userId',
  jti: 'jti',
  all: 'all',
  issuedBefore: 'issuedBefore',
} as const satisfies FieldNames;

const seconds = z.int().min(0);

const shownRevocation = z
  .strictObject({
    userId: z.string().nullable().describe('The user whose grants are revoked.'),
    jti: z.string().nullable().describe('The token that is revoked.'),
    all: z.boolean().describe('Whether all grants of the app are revoked.'),
    issuedBefore: seconds
      .nullable()
      .describe(
        'Grants that were given in this second or before are revoked, in seconds since 1970; null for a token.',
      ),
    revokedAtMs: z.int().describe('Milliseconds since 1970.'),
  })
  .meta({ id: 'Revocation' });

const PLACE = 'must be the next of an earlier answer';

/** The operations on what is revoked of the grants of an app. */
export const revocationOperations: readonly Operation[] = [
  operation({
    id: 'revokeGrants',
    method: 'POST',
    path: '/apps/{id}/revocations',
    role: 'operator',
    summary:
      'Revoke grants of an app on all servers: of a user, one token, or all. Connections that hang on them are closed with 4200 one to three seconds later.',
    body: z
      .strictObject({
        userId: z.string().optional().describe('Revoke the grants of this user.'),
        jti: z.string().optional().describe('Revoke the token with this id.'),
        all: z.literal(true).optional().describe('Revoke all grants of the app.'),
        issuedBefore: seconds
          .optional()
          .describe(
            'Only grants that were given in this second or before, in seconds since 1970. Default: now. With `userId` or `all`.',
          ),
      })
      .meta({ id: 'RevocationRequest' }),
    answer: shownRevocation,
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Grants revoked by an operator', subject: 'app' },
    act: async (admin, { path, body }) => {
      const appId = await grantingApp(admin, path('id'));
      const { userId, jti, all, issuedBefore } = body;
      const fields = { userId, jti, all, issuedBefore };
      const read = readRevocation(fields, names, { appId, nowMs: Date.now() });
      if (!read.ok) throw new OperationRefused('invalid', read.why);
      switch (await admin.revocations.revoke(read.revocation)) {
        case 'revoked':
          return show(read.revocation);
        case 'too-many':
          throw new OperationRefused('invalid', TOO_MANY);
        case 'not-shared':
          throw new OperationRefused(
            'conflict',
            'The servers share no store, which revocations need',
          );
      }
    },
  }),
  operation({
    id: 'listRevocations',
    method: 'GET',
    path: '/apps/{id}/revocations',
    role: 'support',
    summary: 'List what is revoked of the grants of an app: all, tokens by their ids, then users.',
    query: z.strictObject({
      limit: listLimit(100),
      after: z.string().max(300).optional().describe('Continues the list: `next` of an answer.'),
    }),
    answer: z.strictObject({
      revocations: z.array(shownRevocation),
      next: z.string().nullable().describe('For `after`, to continue the list; null at the end.'),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, revocations }, { path, query: { limit, after } }) => {
      const { tenant: app } = await apps.get(path('id'));
      const page = { limit: limit + 1, after: after === undefined ? undefined : placeOf(after) };
      const found = await revocations.page(app.id, page);
      const listed = found.slice(0, limit);
      const last = listed.at(-1);
      return {
        revocations: listed.map(show),
        next: found.length > limit && last !== undefined ? `${last.kind}:${last.name}` : null,
      };
    },
  }),
];

async function grantingApp({ apps }: Admin, id: string): Promise<string> {
  const { tenant: app } = await apps.get(id);
  if (app.grants !== undefined) return app.id;
  throw new OperationRefused('invalid', 'revocations: the app takes no grants');
}

function placeOf(text: string): Revoked {
  const [, kind, name] = /^(all|token|user):(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new OperationRefused('invalid', `after: ${PLACE}`, 'after');
  return { kind: kind as Revoked['kind'], name };
}

function show({ kind, name, issuedBefore, revokedAtMs }: Revocation) {
  return {
    userId: kind === 'user' ? name : null,
    jti: kind === 'token' ? name : null,
    all: kind === 'all',
    issuedBefore: kind === 'token' ? null : issuedBefore,
    revokedAtMs,
  };
}
