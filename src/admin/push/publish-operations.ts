import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { numberIn } from '../query-kinds.ts';
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
    act: async ({ publishes, monitoring }, { path, query: { state, limit, before }, rights }) => {
      const from = before === undefined ? undefined : Number(before);
      const [found, { pauses: paused }] = await Promise.all([
        publishes.list(path('id'), { state, limit, before: from }),
        monitoring.gateways(path('id').toLowerCase()),
      ]);
      return {
        publishes: found.publishes.map((one) => showPublish(one, { rights, paused })),
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
    act: async ({ publishes, monitoring }, { path, rights }) => {
      const [found, gateways] = await Promise.all([
        publishes.show({ instance: path('id'), publish: path('publish') }),
        monitoring.gateways(path('id').toLowerCase()),
      ]);
      return showPublishDetails(found, { rights, gateways });
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
    act: async ({ publishes }, { path }) => {
      const after = await publishes.cancel({ instance: path('id'), publish: path('publish') });
      const { id, state, isCancelledNow = false } = after;
      return { id, state, cancelled: isCancelledNow };
    },
  }),
];
