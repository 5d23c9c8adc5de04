import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { listLimit } from '../query-kinds.ts';

const time = z.iso.datetime();

/** The operation that shows who did what. */
export const auditOperations: readonly Operation[] = [
  operation({
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    summary:
      'List who did what by the admin API, the newest first: changes, log-ins, and secrets that were shown. The last 10,000 entries are kept, and the last 500 refusals; of the user with the most, the oldest are removed first. The same that was done again within a minute is one entry.',
    role: 'admin',
    query: z.strictObject({
      limit: listLimit(100),
      before: z
        .string()
        .regex(/^[\da-f-]{36}$/, { error: 'must be the `next` of an earlier response' })
        .optional()
        .describe('Continue an earlier list: its `next`.'),
    }),
    answer: z.strictObject({
      entries: z.array(
        z
          .strictObject({
            id: z.string(),
            at: time.describe('When it was done first.'),
            lastAt: time,
            times: z.int().min(1),
            user: z
              .string()
              .nullable()
              .describe('The name that a proxy gave; null for a log-in with the password.'),
            how: z.enum(['password', 'proxy']),
            address: z.string().nullable().describe('null if personal data is hidden.'),
            operation: z.string().describe('The `operationId`.'),
            subject: z
              .string()
              .nullable()
              .describe('The id of the app, instance or webhook that it was done to.'),
            detail: z.string().describe('The names of what was changed.'),
            status: z.int().describe('The status of the answer.'),
          })
          .meta({ id: 'AuditEntry' }),
      ),
      next: z.string().nullable().describe('For `before`, to continue the list; null at the end.'),
    }),
    act: async ({ audit }, { query: { limit, before }, rights }) => {
      const found = await audit.list({ limit: limit + 1, before });
      const entries = found.slice(0, limit);
      return {
        entries: entries.map(({ firstAtMs, lastAtMs, user, how, address, subject, ...entry }) => ({
          ...entry,
          at: new Date(firstAtMs).toISOString(),
          lastAt: new Date(lastAtMs).toISOString(),
          user: user === '' ? null : user,
          how: how === 'proxy' ? ('proxy' as const) : ('password' as const),
          address: rights.seesPayloads ? address : null,
          subject: subject === '' ? null : subject,
        })),
        next: found.length > limit ? (entries.at(-1)?.id ?? null) : null,
      };
    },
  }),
];
