import { shareCounts } from '../../runtime/shared-memory/shared-counts.ts';
import { shareTotals } from '../../runtime/shared-memory/shared-total.ts';

/** Shared memory for counts that hold for all realtime loops together. */
export interface LoopTotals {
  readonly connections: SharedArrayBuffer;
  /** By app. */
  readonly appConnections: SharedArrayBuffer;
  readonly subscriptions: SharedArrayBuffer;
  /** Webhook events that wait for the background loop. */
  readonly webhookEvents: SharedArrayBuffer;
  readonly webhookCharacters: SharedArrayBuffer;
  /** Connections that were closed because they read too slowly. */
  readonly slowConnectionsClosed: SharedArrayBuffer;
}

/** Allocates the memory for this many loops. */
export function createLoopTotals(loops: number): LoopTotals {
  return {
    connections: shareTotals(loops),
    // One loop counts by itself.
    appConnections: loops > 1 ? shareCounts() : new SharedArrayBuffer(0),
    subscriptions: shareTotals(loops),
    webhookEvents: shareTotals(loops),
    webhookCharacters: shareTotals(loops),
    slowConnectionsClosed: shareTotals(loops),
  };
}
