import { isObject } from '../config/settings/plain-json.ts';
import { redactedUrl } from '../runtime/logging/redact.ts';

type Settings = Readonly<Record<string, unknown>>;

/** The settings of an app or instance, without the secrets in the URLs of its webhooks. */
export function shownSettings(settings: Settings): Settings {
  const { webhooks } = settings;
  if (!Array.isArray(webhooks)) return settings;
  return {
    ...settings,
    webhooks: webhooks.map((webhook: unknown) =>
      isObject(webhook) && typeof webhook['url'] === 'string'
        ? { ...webhook, url: redactedUrl(webhook['url']) }
        : webhook,
    ),
  };
}
