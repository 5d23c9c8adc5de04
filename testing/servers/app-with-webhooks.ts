import { type Fanfare, startFanfare } from './fanfare.ts';

export const EVENT_TYPES = [
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

/** A server that may send to 127.0.0.1, whose app has these webhooks and everything that can be told of. */
export function startWithWebhooks(
  webhooks: readonly Webhook[],
  app: Readonly<Record<string, unknown>> = {},
): Promise<Fanfare> {
  return startFanfare({
    app: {
      clientEvents: true,
      webhooks: webhooks.map((webhook) => ({ events: EVENT_TYPES, ...webhook })),
      ...app,
    },
    config: { webhooks: { allowPrivateAddresses: true } },
  });
}
