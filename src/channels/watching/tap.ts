/** The kinds of things that happen in an app, as live streams name them. */
export const tapKinds = [
  'api',
  'client',
  'subscribed',
  'unsubscribed',
  'refused',
  'signed-in',
  'connected',
  'disconnected',
  'occupied',
  'vacated',
  'member-added',
  'member-removed',
  'user-online',
  'user-offline',
  'cache-miss',
  'count',
  'webhook',
  'slow',
  'error',
  'quota',
  'terminated',
] as const;

export type TapKind = (typeof tapKinds)[number];

/** Something that happened in an app. It never contains a signature, a token or a secret. */
export interface TapEvent {
  readonly kind: TapKind;
  readonly socket?: string | undefined;
  readonly user?: string | undefined;
  readonly channel?: string | undefined;
  /** The name of an event, or the names of webhook events. */
  readonly event?: string | undefined;
  /** The whole data. The tap truncates it, and leaves it out for encrypted channels. */
  readonly data?: string | undefined;
  /** The connection that must not receive the event. */
  readonly except?: string | undefined;
  /** The key of the app that signed the request. */
  readonly key?: string | undefined;
  readonly reason?: string | undefined;
  readonly advice?: string | undefined;
  /** The code of a `pusher:error`. */
  readonly code?: number | undefined;
  readonly transport?: string | undefined;
  /** A subscription count. */
  readonly count?: number | undefined;
  /** Where a webhook was sent: only the host, since the rest of the URL may contain a secret. */
  readonly host?: string | undefined;
  /** The HTTP status of a webhook's answer. */
  readonly status?: number | undefined;
  /** The result of an attempt to send a webhook. */
  readonly outcome?: string | undefined;
}

/** Returns the reason of a refusal without the signed data, which are personal and shown separately. */
export function withoutData(reason: string, data: string | undefined): string {
  return data === undefined || data === '' ? reason : reason.replaceAll(data, () => '(data)');
}

/**
 * Handles what happens in an app while somebody watches it. Both methods return synchronously and never fail; what
 * they store is bounded.
 */
export interface Tap {
  /**
   * Counts an event, and records it if a watcher wants it and there is room. Returns the name of the record if its
   * receivers must be counted.
   */
  record(event: TapEvent): string | undefined;
  /** A recorded event was sent to this many subscribers of this loop. */
  sent(trace: string, receivers: number): void;
}
