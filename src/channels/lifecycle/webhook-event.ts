/**
 * A webhook event of an app's channels. The JSON of this object is what is sent, so it has no other fields.
 * Source: Channels docs, "Webhooks".
 */
export type WebhookEvent =
  | {
      readonly name: 'channel_occupied' | 'channel_vacated' | 'cache_miss';
      readonly channel: string;
    }
  | {
      readonly name: 'member_added' | 'member_removed';
      readonly channel: string;
      readonly user_id: string;
    }
  | {
      readonly name: 'client_event';
      readonly channel: string;
      readonly event: string;
      /** Text, even if the client sent an object: official libraries read it as text. */
      readonly data: string;
      readonly socket_id: string;
      /** In presence channels only. */
      readonly user_id?: string;
    }
  | {
      readonly name: 'subscription_count';
      readonly channel: string;
      readonly subscription_count: number;
    };

/** A webhook event on its way from the realtime loop to the background loop, which sends it. */
export interface AppWebhookEvent {
  readonly appId: string;
  readonly event: WebhookEvent;
  /** When it happened. Milliseconds since 1970. */
  readonly atMs: number;
  /** The same for every report of one event. A node that is unsure whether an event was stored reports it again; the outbox keeps one. */
  readonly id?: string;
}
