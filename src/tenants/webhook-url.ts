import { z } from 'zod';
import { isObject } from '../config/settings/plain-json.ts';
import { isRedactedUrl, redactedUrl } from '../runtime/logging/redact.ts';
import type { Settings } from './merged.ts';
import { OperationRefused } from './operation-refused.ts';

/** The URL of a webhook in a response. */
export const shownWebhookUrl = z
  .string()
  .describe(
    'User, password, fragment and query values are shown as ***, unless secrets are requested.',
  );

/**
 * Restores the secrets in webhook URLs that a client sends back with `***`, as they were shown to it. `before` has
 * the present settings of the app or instance. Throws `OperationRefused` if no URL matches, or more than one.
 */
export function withWholeUrls(settings: Settings, before: Settings = {}): Settings {
  const { webhooks } = settings;
  if (!Array.isArray(webhooks)) return settings;
  const known = new Set(urlsOf(before));
  return {
    ...settings,
    webhooks: webhooks.map((webhook: unknown, at) => {
      const url = urlOf(webhook);
      if (url === undefined || !isRedactedUrl(url) || known.has(url)) return webhook;
      const meant = [...known].filter((one) => redactedUrl(one) === url);
      if (meant.length !== 1) throw unclear(at, meant.length);
      return { ...(isObject(webhook) ? webhook : {}), url: meant[0] };
    }),
  };
}

function urlsOf({ webhooks }: Settings): readonly string[] {
  return Array.isArray(webhooks) ? webhooks.flatMap((webhook) => urlOf(webhook) ?? []) : [];
}

function urlOf(webhook: unknown): string | undefined {
  const url = isObject(webhook) ? webhook['url'] : undefined;
  return typeof url === 'string' ? url : undefined;
}

function unclear(at: number, meant: number): OperationRefused {
  const setting = `webhooks[${at}].url`;
  const why = meant === 0 ? 'no existing webhook matches' : 'several webhooks match';
  return new OperationRefused(
    'invalid',
    `${setting}: *** stands for a secret, and ${why}; send the whole URL`,
    setting,
  );
}
