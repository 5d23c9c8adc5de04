import { PING } from '../../../channels/wire.ts';
import type { ClientConnection } from '../connection.ts';
import type { ConnectionProblem } from './close-codes.ts';

/** The silence after which a client is pinged, and the time it has to answer. Seconds. */
export interface HeartbeatTimes {
  readonly activityTimeoutSeconds: number;
  readonly pongTimeoutSeconds: number;
}

/**
 * Pings connections that were silent for the activity timeout, and closes those that stay silent for the pong timeout
 * after the ping. Called once a second for each connection, so an idle one costs a comparison and needs no timer.
 *
 * The ping is that of the transport, which every WebSocket library answers by itself: many clients do not know
 * `pusher:ping`. It is sent where the transport has no pings, and to clients that have not answered halfway through.
 * Source: Channels protocol, §3.
 */
export function checkHeartbeats(
  connections: Iterable<ClientConnection>,
  nowMs: number,
  times: HeartbeatTimes,
  end: (connection: ClientConnection, problem: ConnectionProblem) => void,
): void {
  const pingAfterMs = times.activityTimeoutSeconds * 1000;
  const endAfterMs = times.pongTimeoutSeconds * 1000;
  for (const connection of connections) {
    if (connection.isOneWay) continue;
    if (connection.pingedAtMs === 0) {
      if (nowMs - connection.heardAtMs < pingAfterMs) continue;
      connection.pingedAtMs = nowMs;
      if (!connection.ping('')) pingByEvent(connection);
    } else if (connection.pongsOwed === 0 && nowMs - connection.pingedAtMs >= endAfterMs / 2) {
      pingByEvent(connection);
    } else if (nowMs - connection.pingedAtMs >= endAfterMs) {
      end(connection, 'no-pong');
    }
  }
}

/** A client that owes a `pusher:pong` is not asked for another. */
function pingByEvent(connection: ClientConnection): void {
  connection.pongsOwed++;
  connection.send(PING);
}
