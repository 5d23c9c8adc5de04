import { z } from 'zod';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { type Operation, operation } from '../operation.ts';
import { listLimit, numberIn } from '../query-kinds.ts';
import { seesInstance } from '../rights.ts';
import { noSuchPublish } from './publish-admin.ts';
import {
  publishState,
  shownPublish,
  shownPublishDetails,
  showPublish,
  showPublishDetails,
} from './publish-shapes.ts';

/** The operations that show and cancel publishes. */
export const publishOperations: readonly Operation[] = [
  operation({
    id: 'listPublishes',
    role: 'viewer',
    method: 'GET',
    path: '/instances/{id}/publishes',
    summary:
      'List the publishes of a push instance, the newest first. A response may hold fewer publishes than `limit`, or none, although there are more: then `next` is not null.',
    query: z.strictObject({
      state: publishState.optional().describe('Only publishes in this state.'),
      limit: numberIn({
        min: 1,
        max: 200,
        fallback: 50,
        description: 'How many to list at most.',
      }),
      before: z
        .string()
        .regex(/^[1-9]\d{0,15}$/, { error: 'must be the `next` of an earlier response' })
        .optional()
        .describe('Continue an earlier list: its `next`.'),
    }),
    answer: z.strictObject({
      publishes: z.array(shownPublish),
      next: z.string().nullable().describe('For `before`, to continue; null at the end.'),
    }),
    refusals: ['not-found'],
    act: async ({ publishes, ask }, { instanceId, query: { state, limit, before }, rights }) => {
      const from = before === undefined ? undefined : Number(before);
      const [found, gateways] = await Promise.all([
        publishes.list(instanceId(), { state, limit, before: from }),
        ask.everywhere('gateways', { instanceId: instanceId() }),
      ]);
      return {
        publishes: found.publishes.map((one) =>
          showPublish(one, { rights, paused: gateways.answer.pauses }),
        ),
        next: found.next === undefined ? null : String(found.next),
      };
    },
  }),
  operation({
    id: 'findPublish',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/publishes/{publish}',
    summary: 'Find the push instance that a publish is of.',
    answer: z.strictObject({ id: z.string(), instance: z.string() }),
    refusals: ['not-found'],
    act: async ({ publishes }, { path, rights }) => {
      const id = path('publish');
      const instance = await publishes.instanceOf(id);
      if (instance === undefined || !seesInstance(rights, instance)) {
        throw noSuchPublish({ publish: id });
      }
      return { id, instance };
    },
  }),
  operation({
    id: 'getPublish',
    role: 'viewer',
    method: 'GET',
    path: '/instances/{id}/publishes/{publish}',
    summary:
      'Show one publish: how many devices it reached, and why it did not reach the others. It is kept for 30 days after its end.',
    answer: shownPublishDetails,
    refusals: ['not-found'],
    act: async ({ publishes, ask }, { path, instanceId, rights }) => {
      const [found, gateways] = await Promise.all([
        publishes.show({ instance: instanceId(), publish: path('publish') }),
        ask.everywhere('gateways', { instanceId: instanceId() }),
      ]);
      return showPublishDetails(found, { rights, gateways });
    },
  }),
  operation({
    id: 'listPublishUsers',
    role: 'support',
    method: 'GET',
    path: '/instances/{id}/publishes/{publish}/users',
    summary:
      'List the users of a publish who were asked in the app, sorted by their ids, and whether they were notified.',
    query: z.strictObject({
      state: z.enum(['reached', 'silent', 'absent']).optional().describe('Only these.'),
      limit: listLimit(100),
      after: z.string().max(200).optional().describe('Continue an earlier list: its `next`.'),
    }),
    answer: z.strictObject({
      users: z.array(
        z
          .strictObject({
            user: z.string(),
            state: z.enum(['reached', 'silent', 'absent']),
            connections: z.int().min(0).describe('Connections that were asked.'),
            answeredAfterMs: z.number().nullable().describe('When the first one answered.'),
            notified: z
              .boolean()
              .nullable()
              .describe(
                'Whether a gateway accepted the notification for a device; null: no device has a final outcome, or there is none.',
              ),
          })
          .meta({ id: 'PublishUser' }),
      ),
      next: z.string().nullable().describe('For `after`; null at the end.'),
    }),
    refusals: ['not-found', 'forbidden'],
    act: async ({ publishes }, { path, instanceId, query, rights }) => {
      if (!rights.seesPayloads) {
        throw new OperationRefused('forbidden', 'Users are hidden from you');
      }
      const { state, limit, after = '' } = query;
      const named = { instance: instanceId(), publish: path('publish') };
      const found = await publishes.users(named, { state, after, limit: limit + 1 });
      const users = found.slice(0, limit);
      return {
        users: users.map(({ userId, isNotified, ...user }) => ({
          user: userId,
          state: user.state,
          connections: user.connections,
          answeredAfterMs: user.answeredAfterMs ?? null,
          notified: isNotified ?? null,
        })),
        next: found.length > limit ? (users.at(-1)?.userId ?? null) : null,
      };
    },
  }),
  operation({
    id: 'cancelPublish',
    role: 'operator',
    method: 'POST',
    path: '/instances/{id}/publishes/{publish}/cancel',
    summary:
      'Cancel what has not been sent yet of a publish. Notifications that gateways have accepted are not called back.',
    answer: z.strictObject({
      id: z.string(),
      state: publishState,
      cancelled: z.boolean().describe('false: it was over already.'),
    }),
    refusals: ['not-found'],
    act: async ({ publishes }, { path, instanceId }) => {
      const after = await publishes.cancel({ instance: instanceId(), publish: path('publish') });
      const { id, state, isCancelledNow = false } = after;
      return { id, state, cancelled: isCancelledNow };
    },
  }),
];
