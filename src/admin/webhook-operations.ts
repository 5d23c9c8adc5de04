import { z } from 'zod';
import { OperationRefused } from '../tenants/operation-refused.ts';
import { type Operation, operation } from './operation.ts';
import { listLimit } from './query-kinds.ts';
import { requireOwner, seesEverything } from './rights.ts';
import {
  ownedBy,
  seesWebhook,
  shownWebhook,
  shownWebhookDetails,
  showWebhook,
  showWebhookDetails,
  webhookState,
} from './webhook-shapes.ts';

/** The operations that show webhook requests and replay them. */
export const webhookOperations: readonly Operation[] = [
  operation({
    id: 'listWebhooks',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/webhooks',
    summary: 'List webhook requests, the newest first: waiting ones and finished ones.',
    query: z.strictObject({
      app: z.string().optional().describe('Only requests of this app.'),
      instance: z.string().optional().describe('Only requests of this instance.'),
      state: webhookState.optional().describe('Only requests in this state.'),
      limit: listLimit(50),
      before: z.string().optional().describe('Only requests older than the one with this id.'),
    }),
    answer: z.strictObject({
      webhooks: z.array(shownWebhook),
      next: z.string().nullable().describe('For `before`, to continue the list; null at the end.'),
    }),
    act: async ({ webhooks }, { query: { app, instance, state, limit, before }, rights }) => {
      requireOwner({ app, instance }, rights);
      const owner = ownedBy({ app, instance });
      const found = await webhooks.list({ ...owner, state, before, limit: limit + 1 });
      const listed = found.slice(0, limit).map(showWebhook);
      return {
        webhooks: listed,
        next: found.length > limit ? (listed.at(-1)?.id ?? null) : null,
      };
    },
  }),
  operation({
    id: 'getWebhook',
    role: 'support',
    restricted: 'filtered',
    method: 'GET',
    path: '/webhooks/{id}',
    summary: 'Show one webhook request with its body and every attempt to deliver it.',
    answer: shownWebhookDetails,
    refusals: ['not-found'],
    act: async ({ webhooks }, { path, rights }) => {
      const found = await webhooks.show(path('id'));
      if (found === undefined || !seesWebhook(rights, found)) throw noSuchWebhook(path('id'));
      return showWebhookDetails(found, rights);
    },
  }),
  operation({
    id: 'replayWebhook',
    role: 'operator',
    restricted: 'filtered',
    method: 'POST',
    path: '/webhooks/{id}/replay',
    summary: 'Send a finished webhook request again, with a new series of attempts.',
    status: 202,
    answer: z.strictObject({ id: z.string(), state: z.literal('waiting') }),
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Webhook replayed', subject: 'webhook' },
    act: async ({ webhooks }, { path, rights }) => {
      const id = path('id');
      if (!seesEverything(rights)) {
        const found = await webhooks.show(id);
        if (found === undefined || !seesWebhook(rights, found)) throw noSuchWebhook(id);
      }
      const result = await webhooks.replay(id);
      switch (result) {
        case 'replayed':
          return { id, state: 'waiting' as const };
        case 'waiting':
          throw new OperationRefused('conflict', `Webhook ${id} is still waiting to be delivered`);
        case 'unknown':
          throw noSuchWebhook(id);
        default:
          return result satisfies never;
      }
    },
  }),
];

function noSuchWebhook(id: string): OperationRefused {
  return new OperationRefused('not-found', `There is no webhook ${id}`);
}
