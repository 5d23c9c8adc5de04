import { PING } from '../../channels/wire.ts';
import type { ConnectionProblem } from './close-codes.ts';
import type { Connection } from './connection.ts';

/** When a silent client is pinged, and how long it may take to answer. Seconds. */
export interface HeartbeatTimes {
  readonly activityTimeoutSeconds: number;
  readonly pongTimeoutSeconds: number;
}

/**
 * Looks after many connections at once: pings those that were silent for the activity timeout, and ends those that
 * said nothing for the pong timeout after the ping. Called every second for each connection. One timer serves all of
 * them, so an idle connection costs a comparison and no memory. Source: Channels protocol, §3.
 */
export function checkHeartbeats(
  connections: Iterable<Connection>,
  nowMs: number,
  times: HeartbeatTimes,
  end: (connection: Connection, problem: ConnectionProblem) => void,
): void {
  const pingAfterMs = times.activityTimeoutSeconds * 1000;
  const endAfterMs = times.pongTimeoutSeconds * 1000;
  for (const connection of connections) {
    if (connection.pingedAtMs === 0) {
      if (nowMs - connection.heardAtMs < pingAfterMs) continue;
      connection.pingedAtMs = nowMs;
      connection.send(PING);
    } else if (nowMs - connection.pingedAtMs >= endAfterMs) {
      end(connection, 'no-pong');
    }
  }
}
