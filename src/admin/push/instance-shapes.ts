import { z } from 'zod';
import type { InstanceSettings } from '../../config/schema.ts';
import { instanceSettings, vapidSubject } from '../../config/settings/push-settings.ts';
import { secretKeyName } from '../../config/settings/secret-key-name.ts';
import { redactedUrl } from '../../runtime/logging/redact.ts';
import type { KeptTenant } from '../../tenants/manage-tenants.ts';
import { partsOf } from '../../tenants/setting-parts.ts';
import { shownWebhookUrl } from '../../tenants/webhook-url.ts';
import { tenantSource } from '../tenant-shapes.ts';

const { id, name, secretKeys, web, webhooks } = instanceSettings.shape;
const parts = partsOf(instanceSettings.omit({ id: true, name: true, secretKeys: true }));
const { app, apns, fcm, web: webParts } = parts.shape;

/** `null` removes a gateway, or the app. */
const settings = parts.extend({
  name: name.unwrap().optional(),
  app: app.unwrap().nullable().optional(),
  apns: apns.unwrap().nullable().optional(),
  fcm: fcm.unwrap().nullable().optional(),
  web: webParts.unwrap().nullable().optional(),
});

/** The body of a change. */
export const instanceChange = settings
  .describe(
    'What to change. `limits`, `apns`, `fcm` and `web` are merged with the present settings; null removes a gateway, or the app. Lists replace the present ones; the `url` of a webhook that is sent back as it was shown stays the same.',
  )
  .meta({ id: 'InstanceChanges' });

/** The body that creates an instance. */
export const newInstanceBody = settings
  .extend({ id: id.optional(), secretKeys: secretKeys.optional() })
  .describe(
    'All fields are optional. Without an id, a secret key or VAPID keys, the server makes them. With `web`: null, it makes no VAPID keys.',
  )
  .meta({ id: 'NewInstance' });

const shownWeb = web.unwrap();
const { privateKey: _key, ...shownApns } = instanceSettings.shape.apns.unwrap().shape;
const { serviceAccount: _account, ...shownFcm } = instanceSettings.shape.fcm.unwrap().shape;

/** An instance with all of its settings. Secrets are shown only on request. */
export const shownInstance = instanceSettings
  .extend({
    source: tenantSource('instance'),
    secretKeys: z
      .array(z.string())
      .describe(
        'The oldest first. Only the first 8 characters of each, unless secrets are requested.',
      ),
    apns: z.strictObject(shownApns).meta({ id: 'ApnsSettings' }).optional(),
    fcm: z.strictObject(shownFcm).meta({ id: 'FcmSettings' }).optional(),
    web: shownWeb
      .extend({
        vapid: z
          .strictObject({
            publicKey: z
              .string()
              .describe(
                'In URL-safe base64, whatever the form in the settings. Web pages subscribe with it.',
              ),
            privateKey: z.string().optional().describe('32 bytes in URL-safe base64.'),
            subject: vapidSubject,
          })
          .meta({ id: 'VapidKeys' }),
        allowedHosts: z.array(z.string()),
      })
      .meta({ id: 'WebSettings' })
      .optional(),
    webhooks: z.array(
      webhooks
        .unwrap()
        .element.extend({
          url: shownWebhookUrl,
          events: z.array(z.string()),
          secret: z.string().optional(),
        })
        .meta({ id: 'InstanceWebhook' }),
    ),
  })
  .describe('One instance with all of its settings, defaults included.')
  .meta({ id: 'Instance' });

/** Shows an instance, with its secrets only on request, but never with the credentials that vendors gave for it. */
export function showInstance(
  { tenant, source }: KeptTenant<InstanceSettings>,
  withSecrets: boolean,
) {
  const { apns, fcm, ...others } = tenant;
  const instance = {
    ...others,
    ...(apns === undefined ? {} : { apns: withoutKey(apns) }),
    ...(fcm === undefined ? {} : { fcm: withoutAccount(fcm) }),
    source,
  };
  if (withSecrets) return instance;
  return {
    ...instance,
    secretKeys: instance.secretKeys.map(secretKeyName),
    web: instance.web && { ...instance.web, vapid: withoutPrivateKey(instance.web.vapid) },
    webhooks: instance.webhooks.map(({ secret: _, ...webhook }) => ({
      ...webhook,
      url: redactedUrl(webhook.url),
    })),
  };
}

function withoutKey({ privateKey: _, ...shown }: NonNullable<InstanceSettings['apns']>) {
  return shown;
}

function withoutAccount({ serviceAccount: _, ...shown }: NonNullable<InstanceSettings['fcm']>) {
  return shown;
}

function withoutPrivateKey({ publicKey, subject }: { publicKey: string; subject: string }) {
  return { publicKey, subject };
}
