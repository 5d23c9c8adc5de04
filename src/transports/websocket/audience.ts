import type { Server } from 'bun';
import type { Topic } from '../../channels/event.ts';
import type { Audience, Peer } from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';
import type { Backlog } from './backlog.ts';
import type { Connection, Socket } from './connection.ts';
import type { Connections } from './connections.ts';

/**
 * Bun's own topics: what one turn of the loop publishes is merged into one write per connection, and the
 * list of subscribers is walked outside of JavaScript.
 */
export class WebSocketAudience implements Audience {
  private readonly connections: Connections;
  private readonly backlog: Backlog;
  private server: Server<Connection> | undefined;

  constructor(connections: Connections, backlog: Backlog) {
    this.connections = connections;
    this.backlog = backlog;
  }

  /** The server exists only once it listens, and nobody can join before. */
  attach(server: Server<Connection>): void {
    this.server = server;
  }

  join(peer: Peer, topic: Topic): void {
    socketOf(peer).subscribe(topic);
  }

  leave(peer: Peer, topic: Topic): void {
    socketOf(peer).unsubscribe(topic);
  }

  send(topic: Topic, frame: string, except?: SocketId): void {
    this.backlog.published(frame.length);
    const excepted = except === undefined ? undefined : this.connections.get(except);
    // A connection's own publish reaches everybody but itself.
    if (excepted !== undefined) excepted.publish(topic, frame);
    else this.server?.publish(topic, frame, false);
  }
}

/** Every peer that this transport hands to the core is a socket of its own. */
function socketOf(peer: Peer): Socket {
  return peer as Socket;
}
