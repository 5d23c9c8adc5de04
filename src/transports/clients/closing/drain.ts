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
): Promise<void> {
  let steps = Math.max(1, Math.floor(overMs / DRAIN_STEP_MS));
  for (; connections.size > 0 && steps > 0; steps--) {
    let share = Math.ceil(connections.size / steps);
    for (const connection of connections.all()) {
      if (share-- === 0) break;
      end(connection);
    }
    if (connections.size > 0) await Bun.sleep(DRAIN_STEP_MS);
  }
}
