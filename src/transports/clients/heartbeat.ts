import { PING } from '../../channels/wire.ts';
import type { Socket } from '../websocket/connection.ts';
import type { ConnectionProblem } from './close-codes.ts';

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
  sockets: Iterable<Socket>,
  nowMs: number,
  times: HeartbeatTimes,
  end: (socket: Socket, problem: ConnectionProblem) => void,
): void {
  const pingAfterMs = times.activityTimeoutSeconds * 1000;
  const endAfterMs = times.pongTimeoutSeconds * 1000;
  for (const socket of sockets) {
    const { data } = socket;
    if (data.pingedAtMs === 0) {
      if (nowMs - data.heardAtMs < pingAfterMs) continue;
      data.pingedAtMs = nowMs;
      socket.send(PING);
    } else if (nowMs - data.pingedAtMs >= endAfterMs) {
      end(socket, 'no-pong');
    }
  }
}
