import { addressOf } from './addresses/packed-address.ts';
import type { Clients, RefusedClient } from './clients.ts';
import { closeCodes } from './closing/close-codes.ts';
import type { ClientConnection } from './connection.ts';
import { ClientConnections } from './connections.ts';

/** The room on a loop for connections over HTTP, which cost more than WebSockets. Whatever carries them shares it. */
export class HttpRoom {
  private readonly clients: Pick<Clients, 'endForRoom'>;
  private readonly connections: ClientConnections;

  constructor(clients: Pick<Clients, 'endForRoom'>, connectionsMax: number) {
    this.clients = clients;
    this.connections = new ClientConnections(connectionsMax);
  }

  /** Makes room for a new connection, if necessary at the expense of another; or returns why it must be refused. */
  makeFor({ app, address }: ClientConnection): RefusedClient | undefined {
    const room = this.connections.roomFor(app, address);
    if (room === 'room') return undefined;
    if (room !== 'full') {
      this.clients.endForRoom(room);
      return undefined;
    }
    const problem = 'server-over-capacity';
    return { problem, message: closeCodes[problem].message, address: addressOf(address), app };
  }

  add(connection: ClientConnection): void {
    this.connections.add(connection);
  }

  remove(connection: ClientConnection): void {
    this.connections.remove(connection);
  }
}
