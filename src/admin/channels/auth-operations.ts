import { z } from 'zod';
import { examineAuth } from '../../channels/signatures/examine.ts';
import { isToken } from '../../channels/signatures/token.ts';
import { type Operation, operation } from '../operation.ts';

/** The limit of the examined texts. The server itself accepts no longer ones either. */
const TEXT_MAX = 20_000;

const text = z.string().max(TEXT_MAX);

/** The operation that examines an authorisation. */
export const authOperations: readonly Operation[] = [
  operation({
    id: 'checkAuth',
    method: 'POST',
    path: '/apps/{id}/check-auth',
    role: 'support',
    summary:
      'Say whether the authorisation of a subscription is right, and if not, which part of it differs. Changes nothing.',
    body: z
      .strictObject({
        channel: text,
        socketId: text,
        auth: text.describe('What the backend has answered: KEY:SIGNATURE, or a token.'),
        channelData: text.optional().describe('`channel_data` exactly as the client has sent it.'),
      })
      .meta({ id: 'Authorisation' }),
    answer: z
      .strictObject({
        ok: z.boolean(),
        text: z.string().describe('What is right or wrong.'),
        expected: z.strictObject({
          signed: z
            .string()
            .describe(
              'The text to sign with the secret of the key; empty for a token. The response never contains the signature.',
            ),
        }),
      })
      .meta({ id: 'CheckedAuthorisation' }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, keySet, revocations }, { path, body }) => {
      const { tenant: app } = await apps.get(path('id'));
      const needsKeySet = isToken(app, body.auth) && app.grants?.jwksUrl != null;
      const { signed, ...found } = examineAuth(app, body, {
        keySet: needsKeySet ? await keySet(app.id) : undefined,
        nowSeconds: Date.now() / 1000,
        revocations: revocations.known,
      });
      return { ...found, expected: { signed } };
    },
  }),
];
