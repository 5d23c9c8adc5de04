import { SharedCounts, shareCounts } from '../../runtime/shared-memory/shared-counts.ts';
import { SharedTotal, shareTotals } from '../../runtime/shared-memory/shared-total.ts';
import { shareSocketMarks } from '../../runtime/shared-memory/socket-marks.ts';

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
  /** See `SocketMarks`. */
  readonly socketsInUse: SharedArrayBuffer;
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
    socketsInUse: shareSocketMarks(),
  };
}

/** The counts of all realtime loops together, as one of them uses them. */
export interface OpenTotals {
  readonly connections: SharedTotal;
  /** By app. */
  readonly appConnections: SharedCounts;
  readonly subscriptions: SharedTotal;
  readonly webhookEvents: SharedTotal;
  readonly webhookCharacters: SharedTotal;
  readonly slowConnectionsClosed: SharedTotal;
}

/** Opens the memory for one of several loops. */
export function openLoopTotals(memory: LoopTotals, loop: number): OpenTotals {
  const totalOf = (shared: SharedArrayBuffer) => new SharedTotal(shared, loop);
  return {
    connections: totalOf(memory.connections),
    appConnections: new SharedCounts(memory.appConnections),
    subscriptions: totalOf(memory.subscriptions),
    webhookEvents: totalOf(memory.webhookEvents),
    webhookCharacters: totalOf(memory.webhookCharacters),
    slowConnectionsClosed: totalOf(memory.slowConnectionsClosed),
  };
}
