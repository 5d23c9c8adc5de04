import type { Arrivals } from './arrivals.ts';

/** Which gateway it replaces. */
export type SinkKind = 'apns' | 'fcm' | 'web';

/** A gateway that accepts all notifications. */
export interface SinkAddress {
  readonly origin: string;
  /** Clients must trust it; in PEM. */
  readonly ca: string;
  /** The file that senders of FCM need; empty for the others. */
  readonly accountFile: string;
}

/** The calls of a gateway's process, with their results. */
export type SinkCalls = {
  /** Starts the gateway, which ends with its process. Only FCM has a latency. */
  start: { ask: { kind: SinkKind; latencyMs: number }; answer: SinkAddress };
  /** Counts from zero from now on. */
  count: { ask: null; answer: null };
  /** See `ArrivalWatch.reach`. */
  arrive: {
    ask: { notifications: number; silenceMs: number; overSeconds: number };
    answer: Arrivals;
  };
};
