import { PING } from '../../../channels/wire.ts';
import type { Connection } from '../connection.ts';
import type { ConnectionProblem } from './close-codes.ts';

/** The silence after which a client is pinged, and the time it has to answer. Seconds. */
export interface HeartbeatTimes {
  readonly activityTimeoutSeconds: number;
  readonly pongTimeoutSeconds: number;
}

/**
 * Pings connections that were silent for the activity timeout, and closes those that stay silent for the pong timeout
 * after the ping. Called once a second for each connection, so an idle one costs a comparison and needs no timer.
 * Source: Channels protocol, §3.
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
      connection.pongsOwed++;
      connection.send(PING);
    } else if (nowMs - connection.pingedAtMs >= endAfterMs) {
      end(connection, 'no-pong');
    }
  }
}
