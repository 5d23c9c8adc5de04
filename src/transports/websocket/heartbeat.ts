import { PING } from '../../channels/wire.ts';
import type { ConnectionProblem } from './close-codes.ts';
import type { Socket } from './connection.ts';

/** When a silent client is asked whether it is still there, and how long it may take to answer. Seconds. */
export interface HeartbeatTimes {
  readonly activityTimeoutSeconds: number;
  readonly pongTimeoutSeconds: number;
}

/**
 * Looks after many connections at once: asks those that have been silent for the activity timeout, and ends
 * those that said nothing for the pong timeout after that. Called every second for each; one timer for all of them,
 * so an idle connection costs a comparison and no memory. Source: Channels protocol, §3.
 */
export function checkHeartbeats(
  sockets: Iterable<Socket>,
  nowMs: number,
  times: HeartbeatTimes,
  end: (socket: Socket, problem: ConnectionProblem) => void,
): void {
  const askAfterMs = times.activityTimeoutSeconds * 1000;
  const endAfterMs = askAfterMs + times.pongTimeoutSeconds * 1000;
  for (const socket of sockets) {
    const silentMs = nowMs - socket.data.heardAt;
    if (silentMs < askAfterMs) continue;
    if (!socket.data.pinged) {
      socket.data.pinged = true;
      socket.send(PING);
    } else if (silentMs >= endAfterMs) {
      end(socket, 'no-pong');
    }
  }
}
