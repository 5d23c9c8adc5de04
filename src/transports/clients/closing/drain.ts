import type { Timers } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { pause } from '../../../runtime/time/pause.ts';

/** Between two steps. Milliseconds. */
export const DRAIN_STEP_MS = 100;

/** What is ended in small steps. What was ended leaves it. */
export interface Draining<T> {
  readonly size: number;
  all(): Iterable<T>;
}

/**
 * Closes all connections in small steps over a time. Clients reconnect immediately, so closing all at the
 * same moment would overload the server that they reconnect to. Settles as soon as no connection is left.
 */
export async function drain<T>(
  connections: Draining<T>,
  overMs: number,
  end: (connection: T) => void,
  timers: Timers = monotonicTimers,
): Promise<void> {
  const untilMs = timers.now() + overMs;
  let stepAtMs = timers.now() - DRAIN_STEP_MS;
  for (let isLast = false; connections.size > 0 && !isLast; ) {
    const nowMs = timers.now();
    // Closing many connections makes steps longer.
    const stepMs = nowMs - stepAtMs;
    stepAtMs = nowMs;
    isLast = untilMs - nowMs <= stepMs;
    let share = isLast
      ? connections.size
      : Math.ceil((connections.size * stepMs) / (untilMs - nowMs));
    for (const connection of connections.all()) {
      if (share-- === 0) break;
      end(connection);
    }
    if (connections.size === 0) return;
    await pause(timers, DRAIN_STEP_MS);
  }
}
