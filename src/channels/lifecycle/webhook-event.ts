/**
 * One thing that happened in an app's channels, exactly as its webhooks are told of it: an event is sent as
 * the JSON of this object, so it holds nothing else. Source: Channels docs, "Webhooks".
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
      /** Text, also where the client sent an object: official libraries read it as text. */
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

/** A webhook event on its way from the loop where it happened to the one that sends it. */
export interface AppWebhookEvent {
  readonly appId: string;
  readonly event: WebhookEvent;
  /** When it happened. Milliseconds since 1970. */
  readonly atMs: number;
}
