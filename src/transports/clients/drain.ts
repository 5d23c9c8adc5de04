import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';

/** Between two steps. Milliseconds. */
const STEP_MS = 100;

/**
 * Ends all connections in small steps, spread over the drain time: clients come back at once, so all at
 * once would be a stampede on whoever takes over. Returns as soon as none is left.
 */
export async function drain(
  connections: Connections,
  drainSeconds: number,
  end: (connection: Connection) => void,
): Promise<void> {
  let steps = Math.max(1, Math.floor((drainSeconds * 1000) / STEP_MS));
  for (; connections.size > 0 && steps > 0; steps--) {
    let share = Math.ceil(connections.size / steps);
    for (const connection of connections.all()) {
      if (share-- === 0) break;
      end(connection);
    }
    if (connections.size > 0) await Bun.sleep(STEP_MS);
  }
}
