import type { InstanceWebhook } from '../model/instance.ts';
import { nameUuid } from './name-uuid.ts';

/** A webhook of an instance, and the id that its endpoint knows it by. */
export interface NamedWebhook extends InstanceWebhook {
  /** A UUID. */
  readonly id: string;
}

/**
 * Gives the webhooks of an instance their ids, which no configuration has. An id follows from the instance, the
 * URL, and where several have that URL, which of them it is: so it stays when events, secret or data change.
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
