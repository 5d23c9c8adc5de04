import { z } from 'zod';
import type { InstanceSettings } from '../../config/schema.ts';
import { nestsDeeperThan } from '../../push/messages/nesting.ts';
import { byPlatform } from '../../push/model/device.ts';
import { isGiven } from '../../runtime/json-object.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { type Operation, operation } from '../operation.ts';
import { type Rights, seesApp } from '../rights.ts';
import type { Draft } from './composing.ts';
import { devicePlatform } from './device-shapes.ts';

/** Levels of objects in a body. More than a message of any gateway has; far more would overflow the stack. */
const LEVELS_MAX = 2_100;

const count = z.int().min(0);

const payload = (gateway: string) => z.unknown().optional().describe(`What ${gateway} gets.`);

const publishBody = z
  .looseObject({
    interests: z.unknown().optional().describe('The interests whose devices get it, up to 100.'),
    users: z.unknown().optional().describe('The users whose devices get it, up to 1,000.'),
    apns: payload('Apple'),
    fcm: payload('Firebase'),
    web: payload('a browser'),
    texts: z
      .unknown()
      .optional()
      .describe('Titles and texts by language, for devices of these languages.'),
    live: z
      .unknown()
      .optional()
      .describe('The event that users get in the app. Takes a caller who may see the app.'),
    webhookUrl: z.unknown().optional(),
    sendAt: z.unknown().optional().describe('When to send it, RFC 3339; without it, at once.'),
    sendAtLocal: z
      .unknown()
      .optional()
      .describe('When to send it by the clock of each device, such as 2030-01-31T18:00.'),
    urgent: z.unknown().optional().describe('true: it passes quiet hours and the cap.'),
    perSecond: z
      .unknown()
      .optional()
      .describe(
        'How many notifications it sends per second; without it, as many as gateways take.',
      ),
  })
  .describe('The body of a publish, as the push API takes it, with either `interests` or `users`.')
  .meta({ id: 'NewPublish' });

/** The operations that preview and send a publish. */
export const composeOperations: readonly Operation[] = [
  operation({
    id: 'previewPublish',
    role: 'support',
    method: 'POST',
    path: '/instances/{id}/previews',
    summary:
      'Show what a publish would do, without sending it: the rules that it breaks, the request that each gateway would get, and how many devices it would reach.',
    body: publishBody,
    answer: z
      .strictObject({
        faults: z
          .array(z.strictObject({ field: z.string(), rule: z.string() }))
          .describe(
            'The rules that it breaks, as the push API reports them. Empty: it can be sent.',
          ),
        requests: z.array(
          z
            .strictObject({
              platform: devicePlatform,
              only: z
                .enum(['safari'])
                .nullable()
                .describe('safari: only Safari gets it, in place of the other one; null: all do.'),
              language: z
                .string()
                .nullable()
                .describe(
                  'Its text is for devices of this language; null: for all without a text.',
                ),
              configured: z.boolean().describe('Whether the instance has a credential for it.'),
              bytes: count.describe('Bytes that count towards the limit of the gateway.'),
              bytesMax: count,
              method: z.literal('POST'),
              url: z.string(),
              headers: z.array(z.strictObject({ name: z.string(), value: z.string() })),
              body: z
                .string()
                .describe('JSON text; of browsers, before it is encrypted for the browser.'),
            })
            .meta({ id: 'GatewayRequest' }),
        ),
        audience: z
          .strictObject({
            devices: count.describe('Those that would get it, now or later.'),
            platforms: z.strictObject(byPlatform(() => count)),
            later: count.describe(
              'How many of them are due later than the others, by their local time or after their quiet hours.',
            ),
            quiet: count.describe('How many of these wait for the end of their quiet hours.'),
            languages: z
              .array(z.strictObject({ language: z.string(), devices: count }))
              .describe(
                'The texts that devices would get, and how many; those of no device are left out.',
              ),
            overCap: count.describe(
              'Devices that would not get it, as they had all that the cap of the instance allows.',
            ),
            tooLate: count.describe(
              'Devices that would not get it, as its time to live ends before their quiet hours do.',
            ),
            more: z
              .boolean()
              .describe('Whether there are more: counting ends after 10,000 devices.'),
          })
          .nullable()
          .describe('The devices that it is for now; null if it has no target.'),
        live: z
          .strictObject({ asked: count, reached: count, silent: count, absent: count })
          .nullable()
          .describe(
            'Of a publish with `live`: how many of its first 100 users answer now, in the app. They are sent nothing but a ping.',
          ),
      })
      .meta({ id: 'PublishPreview' }),
    refusals: ['not-found', 'forbidden', 'over-limit'],
    act: async ({ instances, composing }, { instanceId, body, rights }) => {
      const { tenant: instance } = await instances.get(instanceId());
      refuseForeignApp(instance, { body, rights });
      const { faults, requests, audience, live } = await composing.preview(instance, draftOf(body));
      return {
        faults,
        requests: requests.map((one) => ({
          ...one,
          only: one.only ?? null,
          language: one.language ?? null,
          configured: instance[one.platform] !== undefined,
          method: 'POST' as const,
        })),
        audience: audience ?? null,
        live: live ?? null,
      };
    },
  }),
  operation({
    id: 'sendPublish',
    role: 'operator',
    method: 'POST',
    path: '/instances/{id}/publishes',
    summary:
      'Send a publish, under the rules, limits and rate of the push API, without a secret key.',
    query: z.strictObject({
      idempotencyKey: z
        .string()
        .optional()
        .describe('With the same key, the same publish is sent once within 24 hours.'),
    }),
    body: publishBody,
    answer: z.strictObject({ publishId: z.string() }),
    refusals: ['not-found', 'forbidden', 'conflict', 'over-limit'],
    logLine: { message: 'Publish sent', subject: 'instance' },
    act: async ({ instances, composing }, { instanceId, query, body, rights }) => {
      const { tenant: instance } = await instances.get(instanceId());
      refuseForeignApp(instance, { body, rights });
      const publishId = await composing.publish(instanceId(), draftOf(body), query.idempotencyKey);
      return { publishId };
    },
  }),
];

/** Events go to the users of an app: who sends them must see it. Throws `OperationRefused`. */
function refuseForeignApp(
  { app }: InstanceSettings,
  { body, rights }: { readonly body: z.output<typeof publishBody>; readonly rights: Rights },
): void {
  if (!isGiven(body.live) || app === undefined || seesApp(rights, app)) return;
  throw new OperationRefused('forbidden', 'live: it takes a caller who may see the app', 'live');
}

function draftOf(fields: z.output<typeof publishBody>): Draft {
  if (nestsDeeperThan(fields, LEVELS_MAX)) {
    throw new OperationRefused('invalid', 'The body nests deeper than any message');
  }
  if (isGiven(fields.interests) && isGiven(fields.users)) {
    throw new OperationRefused('invalid', 'users: give either interests or users', 'users');
  }
  const kind = isGiven(fields.users) ? 'users' : 'interests';
  return { kind, fields, body: Buffer.from(JSON.stringify(fields)) };
}
