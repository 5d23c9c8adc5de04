import { z } from 'zod';
import { redactedUrl } from '../runtime/logging/redact.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';
import { DURATION_BOUNDS_MS } from '../webhooks/sending/endpoint-health.ts';
import { servers } from './channels/server-shapes.ts';
import { type Operation, operation } from './operation.ts';
import { numberIn } from './query-kinds.ts';
import { requireOwner } from './rights.ts';
import { attemptOutcome, ownedBy, seesWebhook, webhookKind } from './webhook-shapes.ts';

const count = z.int().min(0);
const time = count.describe('Milliseconds since 1970.');
const REDACTED = 'User, password, fragment and query values are shown as ***.';

/** Requests that one replay looks through, and those of one page. */
const SEARCHED_MAX = 5_000;
const PAGE = 250;

/** The operations that are about the addresses of webhooks. */
export const webhookEndpointOperations: readonly Operation[] = [
  operation({
    id: 'listWebhookEndpoints',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/webhook-endpoints',
    summary:
      'Show how each webhook address that was tried in the last 24 hours has answered, latest attempt first. Each server remembers up to 50 of an app or instance, and reports the last 1,000 to others.',
    query: z.strictObject({
      app: z.string().optional().describe('Only those of this app.'),
      instance: z.string().optional().describe('Only those of this instance.'),
    }),
    answer: z.strictObject({
      servers,
      endpoints: z.array(
        z
          .strictObject({
            kind: webhookKind,
            app: z.string().nullable(),
            instance: z.string().nullable(),
            url: z.string().describe(REDACTED),
            delivered: count.describe('Attempts that were answered with 2xx.'),
            failed: count.describe('Attempts that were not.'),
            lastAtMs: time,
            lastOutcome: attemptOutcome,
            lastStatus: z
              .int()
              .nullable()
              .describe('The HTTP status; null if there was no response.'),
            lastDeliveredAtMs: time.nullable(),
            failingSinceMs: time.nullable().describe('null if the last attempt was delivered.'),
            durations: z
              .array(
                z.strictObject({
                  upToMs: z.int().nullable().describe('null: longer than all others.'),
                  attempts: count,
                }),
              )
              .describe('How long attempts took.'),
            waiting: count.describe('Requests that wait for it.'),
            oldestWaitingAtMs: time.nullable(),
            servers: z.array(z.string()).describe('The servers that have tried it.'),
          })
          .meta({ id: 'WebhookEndpoint' }),
      ),
    }),
    act: async ({ ask }, { query: { app, instance }, rights }) => {
      const { kinds, ownerId } = ownedBy({ app, instance });
      const asked = await ask.everywhere('endpoints', { ownerId });
      const endpoints = asked.answer
        .filter((one) => seesWebhook(rights, one))
        .filter(({ kind }) => kinds === undefined || kinds.includes(kind));
      return {
        servers: asked.servers,
        endpoints: endpoints.map((one) => ({
          kind: one.kind,
          app: one.kind === 'channels' ? one.ownerId : null,
          instance: one.kind === 'channels' ? null : one.ownerId,
          url: redactedUrl(one.url),
          delivered: one.delivered,
          failed: one.failed,
          lastAtMs: one.lastAtMs,
          lastOutcome: one.lastOutcome,
          lastStatus: one.lastStatus ?? null,
          lastDeliveredAtMs: one.lastDeliveredAtMs ?? null,
          failingSinceMs: one.failingSinceMs ?? null,
          durations: one.durations.map((attempts, place) => ({
            upToMs: DURATION_BOUNDS_MS[place] ?? null,
            attempts,
          })),
          waiting: one.waiting,
          oldestWaitingAtMs: one.oldestWaitingAtMs ?? null,
          servers: one.servers,
        })),
      };
    },
  }),
  operation({
    id: 'replayWebhooks',
    role: 'operator',
    restricted: 'filtered',
    method: 'POST',
    path: '/webhook-replays',
    summary:
      'Send finished webhook requests again, the newest first: those of an owner, an address, a state and a time. Looks through 5,000 requests at a time.',
    status: 202,
    body: z.strictObject({
      app: z.string().optional().describe('Only requests of this app.'),
      instance: z.string().optional().describe('Only requests of this instance.'),
      url: z.string().optional().describe('Only requests to this address, as the list shows it.'),
      state: z.enum(['failed', 'delivered']).default('failed'),
      createdFromMs: time.optional(),
      createdToMs: time.optional(),
      before: z.string().optional().describe('Continue an earlier call: its `next`.'),
      limit: numberIn({
        min: 1,
        max: 500,
        fallback: 100,
        description: 'How many to send again at most.',
      }),
    }),
    answer: z.strictObject({
      replayed: count,
      next: z.string().nullable().describe('For `before`, if there may be more; null at the end.'),
    }),
    logLine: { message: 'Webhooks replayed', subject: 'webhook' },
    act: async ({ webhooks }, { body, rights }) => {
      const { app, instance, url, state, limit, createdFromMs = 0 } = body;
      requireOwner({ app, instance }, rights);
      const owner = ownedBy({ app, instance });
      const createdToMs = body.createdToMs ?? Number.POSITIVE_INFINITY;
      let [before, replayed] = [body.before, 0];
      for (let searched = 0; searched < SEARCHED_MAX; searched += PAGE) {
        const page = await webhooks.list({ ...owner, state, before, limit: PAGE });
        for (const one of page) {
          if (one.createdAtMs < createdFromMs) return { replayed, next: null };
          if (replayed === limit) return { replayed, next: before ?? null };
          before = one.id;
          if (one.createdAtMs > createdToMs) continue;
          if (url !== undefined && redactedUrl(one.url) !== url && one.url !== url) continue;
          if ((await webhooks.replay(one.id)) === 'replayed') replayed++;
        }
        if (page.length < PAGE) return { replayed, next: null };
      }
      return { replayed, next: before ?? null };
    },
  }),
  operation({
    id: 'testWebhook',
    role: 'operator',
    method: 'POST',
    path: '/apps/{id}/webhook-tests',
    summary:
      'Send a signed request without events to a webhook of an app now, and show what came of it. It is tried once and not kept.',
    body: z.strictObject({
      url: z.string().describe('The address of a webhook of the app, or as the list shows it.'),
    }),
    answer: z.strictObject({
      outcome: attemptOutcome,
      status: z.int().nullable().describe('The HTTP status; null if there was no response.'),
      durationMs: count,
      answer: z
        .string()
        .nullable()
        .describe(
          'The first bytes of the response, or why there was none; null if payloads are hidden from the caller.',
        ),
    }),
    refusals: ['not-found', 'conflict', 'over-limit'],
    logLine: { message: 'Webhook tested', subject: 'app' },
    act: async ({ apps, webhooks }, { path, body, rights }) => {
      const { tenant: app } = await apps.get(path('id'));
      const webhook = app.webhooks.find(
        ({ url }) => url === body.url || redactedUrl(url) === body.url,
      );
      if (webhook === undefined) {
        throw new OperationRefused(
          'invalid',
          'url: the app has no webhook with this address',
          'url',
        );
      }
      const tested = await webhooks.test(app.id, webhook.url);
      if (tested === 'busy') {
        throw new OperationRefused('over-limit', 'Too many webhooks are tested at this moment');
      }
      if ('refused' in tested) throw new OperationRefused('conflict', tested.refused);
      const { outcome, status, durationMs, answer } = tested;
      return {
        outcome,
        status: status ?? null,
        durationMs: Math.max(0, Math.round(durationMs)),
        answer: rights.seesPayloads ? answer : null,
      };
    },
  }),
];
