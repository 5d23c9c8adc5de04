import type { Arrivals } from './arrivals.ts';

/** Which gateway is stood in for. */
export type SinkKind = 'apns' | 'fcm' | 'web';

/** A gateway that takes all notifications. */
export interface SinkAddress {
  readonly origin: string;
  /** To be trusted by whoever connects, as PEM. */
  readonly ca: string;
  /** The file that senders of FCM have; empty for the others. */
  readonly accountFile: string;
}

/** What the process of a gateway can be asked, and what it answers. */
export type SinkCalls = {
  /** Starts it; it ends with its process. Only FCM has a latency. */
  start: { ask: { kind: SinkKind; latencyMs: number }; answer: SinkAddress };
  /** Counts from zero from now on. */
  count: { ask: null; answer: null };
  /** See `ArrivalWatch.reach`. */
  arrive: {
    ask: { notifications: number; silenceMs: number; overSeconds: number };
    answer: Arrivals;
  };
};
