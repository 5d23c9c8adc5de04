import { addressKey } from '../../../runtime/ip-address.ts';
import type { SocketPlace } from '../../../runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { ClientConnections } from '../../../transports/clients/connections.ts';
import type { SlowConsumers } from '../../../transports/clients/frames/slow-consumers.ts';
import { WebSocketConnection } from '../../../transports/websocket/websocket-connection.ts';
import { countOpenFiles } from '../../open-files.ts';
import { type ConnectedSocket, openKernelSockets } from '../../sockets/kernel-sockets.ts';
import { openSocketBytes } from '../../sockets/socket-bytes.ts';
import { UnreadSockets } from '../../sockets/unread-sockets.ts';
import type { LoopBase } from '../loop-base.ts';

/**
 * Opens what bounds the memory that the kernel holds for clients that do not read. WebSockets of this loop are shared out by app,
 * all other connections of the process by address.
 */
export function openUnreadSockets(
  { memory, openFiles, socketsInUse, log }: LoopBase,
  connections: ClientConnections,
  slowConsumers: SlowConsumers,
): UnreadSockets | undefined {
  const heldBytes = memory.isPlenty ? undefined : openSocketBytes();
  const sockets = heldBytes && openKernelSockets();
  if (sockets === undefined || heldBytes === undefined || openFiles === undefined) return undefined;
  let byPlace = new Map<SocketPlace, WebSocketConnection>();
  const connectionOf = (socket: ConnectedSocket) => byPlace.get(socketsInUse.placeOf(socket));
  return new UnreadSockets({
    sockets,
    heldBytes,
    bytesMax: memory.shares.socketBytes,
    // The kernel gives out the lowest free descriptor, so few are far above the number in use.
    descriptors: () => Math.min(openFiles.limit, 2 * countOpenFiles(openFiles.limit) + 1_000),
    owners() {
      byPlace = new Map();
      for (const connection of connections.all()) {
        if (connection instanceof WebSocketConnection) byPlace.set(connection.place, connection);
      }
      return (socket) => {
        const app = connectionOf(socket)?.app;
        return app === undefined ? `address ${addressKey(socket.address)}` : `app ${app.id}`;
      };
    },
    onEnding(socket) {
      const connection = connectionOf(socket);
      if (connection !== undefined) slowConsumers.ending(connection);
    },
    log,
    clock: monotonicTimers,
  });
}
