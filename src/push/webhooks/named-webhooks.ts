import type { InstanceWebhook } from '../model/instance.ts';
import { nameUuid } from './name-uuid.ts';

/** A webhook of an instance with its id. */
export interface NamedWebhook extends InstanceWebhook {
  /** A UUID. Sent with each request. */
  readonly id: string;
}

/**
 * Adds ids to the webhooks of an instance; the configuration has none. An id is derived from the instance, the URL and
 * the position among webhooks with that URL, so it stays the same when events, secret or custom data change.
 */
export function nameWebhooks(
  instanceId: string,
  webhooks: readonly InstanceWebhook[],
): readonly NamedWebhook[] {
  const seen = new Map<string, number>();
  return webhooks.map((webhook) => {
    const place = seen.get(webhook.url) ?? 0;
    seen.set(webhook.url, place + 1);
    return { ...webhook, id: nameUuid(instanceId, ['webhook', webhook.url, place]) };
  });
}
