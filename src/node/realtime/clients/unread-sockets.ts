import { addressKey } from '../../../runtime/ip-address.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { SocketMarks, SocketPlace } from '../../../runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { ClientConnections } from '../../../transports/clients/connections.ts';
import type { SlowConsumers } from '../../../transports/clients/frames/slow-consumers.ts';
import { WebSocketConnection } from '../../../transports/websocket/websocket-connection.ts';
import type { MemoryPlan } from '../../memory/shares.ts';
import { countOpenFiles, type OpenFiles } from '../../open-files.ts';
import { type ConnectedSocket, openKernelSockets } from '../../sockets/kernel-sockets.ts';
import { openSocketBytes } from '../../sockets/socket-bytes.ts';
import { UnreadSockets } from '../../sockets/unread-sockets.ts';

export interface UnreadSocketsParts {
  readonly memory: MemoryPlan;
  readonly openFiles: OpenFiles | undefined;
  readonly connections: ClientConnections;
  readonly slowConsumers: SlowConsumers;
  readonly socketsInUse: SocketMarks;
  readonly log: Log;
}

/**
 * Opens what bounds the memory that the kernel holds for clients that do not read. WebSockets of this loop are shared out by app,
 * all other connections of the process by address.
 */
export function openUnreadSockets(parts: UnreadSocketsParts): UnreadSockets | undefined {
  const { memory, openFiles, connections, slowConsumers, socketsInUse, log } = parts;
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
