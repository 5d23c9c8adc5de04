/**
 * A webhook event of an app's channels or users. Its JSON is sent as it is, so there are no other fields. Source: Channels
 * docs, "Webhooks".
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
      /** A string, even if the client sent an object, because official libraries expect a string. */
      readonly data: string;
      readonly socket_id: string;
      /** Only in presence channels. */
      readonly user_id?: string;
    }
  | {
      readonly name: 'subscription_count';
      readonly channel: string;
      readonly subscription_count: number;
    }
  | {
      readonly name: 'user_online';
      readonly channel?: undefined;
      readonly user_id: string;
    }
  | {
      readonly name: 'user_offline';
      readonly channel?: undefined;
      readonly user_id: string;
      /** When the last connection ended. Milliseconds since 1970. */
      readonly last_seen_ms: number;
    };

/** A webhook event that the realtime loop passes to the background loop, which sends it. */
export interface AppWebhookEvent {
  readonly appId: string;
  readonly event: WebhookEvent;
  /** When it happened. Milliseconds since 1970. */
  readonly atMs: number;
  /**
   * Equal for every report of one event. A node that does not know whether an event was stored reports it again, and
   * the outbox keeps one.
   */
  readonly id?: string;
}
