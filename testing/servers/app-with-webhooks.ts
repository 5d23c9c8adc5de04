import { type Fanfare, startFanfare } from './fanfare.ts';

const EVENT_TYPES = [
  'channel_occupied',
  'channel_vacated',
  'member_added',
  'member_removed',
  'client_event',
  'cache_miss',
  'subscription_count',
] as const;

export interface Webhook {
  readonly url: string;
  /** All of them, unless said otherwise. */
  readonly events?: readonly string[];
  readonly batching?: boolean;
}

/** Settings of an app that has these webhooks, and client events. */
export function withWebhooks(
  webhooks: readonly Webhook[],
  app: object = {},
): Readonly<Record<string, unknown>> {
  return {
    clientEvents: true,
    webhooks: webhooks.map((webhook) => ({ events: EVENT_TYPES, ...webhook })),
    ...app,
  };
}

/** Starts a server that may send webhooks to 127.0.0.1. `webhooks` are those of its configured app. */
export function startWithWebhooks(webhooks: readonly Webhook[] = []): Promise<Fanfare> {
  return startFanfare({
    app: withWebhooks(webhooks),
    config: { webhooks: { allowPrivateAddresses: true } },
  });
}
