import { z } from 'zod';
import { appSettings } from '../config/channels-settings.ts';
import { redactedUrl } from '../runtime/redacted-url.ts';
import type { KeptApp } from '../tenants/kept.ts';
import { partsOf } from '../tenants/setting-parts.ts';
import { shownWebhookUrl } from '../tenants/webhook-url.ts';

const { id, keys, name, enabled, webhooks } = appSettings.shape;
const named = { name: name.unwrap().optional(), enabled: enabled.unwrap().optional() };
const settings = partsOf(appSettings.omit({ id: true, keys: true, name: true, enabled: true }));

/** What a change may hold. */
export const appChange = settings
  .extend(named)
  .describe(
    'What to change. `limits` are merged with those the app has; `webhooks` replace those it has, and a `url` that is sent as it is shown stays as it was.',
  );

/** What a new app may be given. */
export const newApp = settings
  .extend({ ...named, id: id.optional(), keys: keys.optional() })
  .describe('All of it may be left out: an id and a pair of key and secret are then made.');

const source = z
  .enum(['configuration', 'store'])
  .describe('Where the app is kept. What stands in the configuration is changed there.');

/** A pair as it is shown where its secret was asked for, and otherwise. */
const shownKey = z.strictObject({ key: z.string(), secret: z.string().optional() });

/** An app with every setting that applies to it. */
export const shownApp = appSettings
  .extend({
    source,
    keys: z.array(shownKey).describe('The oldest first: it signs webhooks.'),
    webhooks: z.array(
      webhooks.unwrap().element.extend({ url: shownWebhookUrl, events: z.array(z.string()) }),
    ),
  })
  .describe('One app, with every setting that applies to it.');

export const shownPair = z.strictObject({ key: z.string(), secret: z.string() });

/** Shows an app, its secrets only where they were asked for. */
export function showApp({ app, source: from }: KeptApp, withSecrets: boolean) {
  if (withSecrets) return { ...app, source: from };
  return {
    ...app,
    source: from,
    keys: app.keys.map(({ key }) => ({ key })),
    webhooks: app.webhooks.map((webhook) => ({ ...webhook, url: redactedUrl(webhook.url) })),
  };
}
