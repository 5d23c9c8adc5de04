import { z } from 'zod';
import type { App } from '../channels/app.ts';
import { appSettings } from '../config/settings/channels-settings.ts';
import { redactedUrl } from '../runtime/logging/redact.ts';
import type { KeptTenant } from '../tenants/manage-tenants.ts';
import { partsOf } from '../tenants/setting-parts.ts';
import { shownWebhookUrl } from '../tenants/webhook-url.ts';
import { tenantSource } from './tenant-shapes.ts';

const { id, keys, name, enabled, webhooks } = appSettings.shape;
const named = { name: name.unwrap().optional(), enabled: enabled.unwrap().optional() };
const settings = partsOf(appSettings.omit({ id: true, keys: true, name: true, enabled: true }));

/** The body of a change. */
export const appChange = settings
  .extend(named)
  .describe(
    'What to change. `limits` are merged with the present ones. `webhooks` replace the present ones; a `url` that is sent back as it was shown stays the same.',
  )
  .meta({ id: 'AppChanges' });

/** The body that creates an app. */
export const newApp = settings
  .extend({ ...named, id: id.optional(), keys: keys.optional() })
  .describe('All fields are optional. Without an id or a key, the server makes them.')
  .meta({ id: 'NewApp' });

/** A key. `secret` is shown only on request. */
const shownKey = z
  .strictObject({ key: z.string(), secret: z.string().optional() })
  .meta({ id: 'AppKey' });

/** An app with all of its settings. */
export const shownApp = appSettings
  .extend({
    source: tenantSource('app'),
    keys: z.array(shownKey).describe('The oldest first. It signs webhooks.'),
    webhooks: z.array(
      webhooks
        .unwrap()
        .element.extend({ url: shownWebhookUrl, events: z.array(z.string()) })
        .meta({ id: 'AppWebhook' }),
    ),
  })
  .describe('One app with all of its settings, defaults included.')
  .meta({ id: 'App' });

/** A key with its secret. */
export const shownPair = keys.element;

/** Shows an app, with its secrets only on request. */
export function showApp({ tenant: app, source }: KeptTenant<App>, withSecrets: boolean) {
  if (withSecrets) return { ...app, source };
  return {
    ...app,
    source,
    keys: app.keys.map(({ key }) => ({ key })),
    webhooks: app.webhooks.map((webhook) => ({ ...webhook, url: redactedUrl(webhook.url) })),
  };
}
