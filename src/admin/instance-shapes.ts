import { z } from 'zod';
import { instanceSettings } from '../config/push-settings.ts';
import { secretKeyName } from '../config/secret-key-name.ts';
import { redactedUrl } from '../runtime/redacted-url.ts';
import type { KeptInstance } from '../tenants/kept.ts';
import { partsOf } from '../tenants/setting-parts.ts';
import { shownWebhookUrl } from '../tenants/webhook-url.ts';

const { id, name, secretKeys, web, webhooks } = instanceSettings.shape;
const parts = partsOf(instanceSettings.omit({ id: true, name: true, secretKeys: true }));
const { apns, fcm, web: webParts } = parts.shape;

/** A gateway may be taken away. */
const settings = parts.extend({
  name: name.unwrap().optional(),
  apns: apns.unwrap().nullable().optional(),
  fcm: fcm.unwrap().nullable().optional(),
  web: webParts.unwrap().nullable().optional(),
});

/** What a change may hold. */
export const instanceChange = settings.describe(
  'What to change. `limits`, `apns`, `fcm` and `web` are merged with what the instance has, and null takes a gateway away; lists replace those it has, and the `url` of a webhook that is sent as it is shown stays as it was.',
);

/** What a new instance may be given. */
export const newInstanceBody = settings
  .extend({ id: id.optional(), secretKeys: secretKeys.optional() })
  .describe(
    'All of it may be left out: an id, a secret key and VAPID keys are then made. `web`: null makes none.',
  );

const source = z
  .enum(['configuration', 'store'])
  .describe('Where the instance is kept. What stands in the configuration is changed there.');

const shownWeb = web.unwrap();
const shownVapid = shownWeb.shape.vapid.shape;

/** An instance with every setting that applies to it; a secret only where it was asked for. */
export const shownInstance = instanceSettings
  .extend({
    source,
    secretKeys: z
      .array(z.string())
      .describe('The oldest first; of each only the first 8 characters, unless secrets are shown.'),
    web: shownWeb
      .extend({
        vapid: z.strictObject({ ...shownVapid, privateKey: z.string().optional() }),
        allowedHosts: z.array(z.string()),
      })
      .optional(),
    webhooks: z.array(
      webhooks.unwrap().element.extend({
        url: shownWebhookUrl,
        events: z.array(z.string()),
        secret: z.string().optional(),
      }),
    ),
  })
  .describe('One instance, with every setting that applies to it.');

/** Shows an instance, its secrets only where they were asked for. */
export function showInstance({ instance, source: from }: KeptInstance, withSecrets: boolean) {
  if (withSecrets) return { ...instance, source: from };
  return {
    ...instance,
    source: from,
    secretKeys: instance.secretKeys.map(secretKeyName),
    web: instance.web && { ...instance.web, vapid: publicHalf(instance.web.vapid) },
    webhooks: instance.webhooks.map(({ secret: _, ...webhook }) => ({
      ...webhook,
      url: redactedUrl(webhook.url),
    })),
  };
}

function publicHalf({ publicKey, subject }: { publicKey: string; subject: string }) {
  return { publicKey, subject };
}
