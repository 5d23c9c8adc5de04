import type { Server } from 'bun';
import type { Topic } from '../../channels/event.ts';
import type { Audience, Meter, Peer } from '../../channels/ports.ts';
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
  private readonly meter: Meter;
  private server: Server<Connection> | undefined;

  constructor(connections: Connections, backlog: Backlog, meter: Meter) {
    this.connections = connections;
    this.backlog = backlog;
    this.meter = meter;
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

  send(topic: Topic, frame: string, except?: SocketId): number {
    const { server } = this;
    const subscribers = server?.subscriberCount(topic) ?? 0;
    if (server === undefined || subscribers === 0) return 0;
    const excepted = except === undefined ? undefined : this.connections.get(except);
    const receivers = excepted?.isSubscribed(topic) ? subscribers - 1 : subscribers;
    this.backlog.published(frame.length);
    // A connection's own publish reaches everybody but itself.
    if (excepted !== undefined) excepted.publish(topic, frame);
    else server.publish(topic, frame, false);
    this.meter.count('messagesDelivered', receivers);
    this.meter.count('deliveredBytes', receivers * frame.length);
    return receivers;
  }
}

/** Every peer that this transport hands to the core is a socket of its own. */
function socketOf(peer: Peer): Socket {
  return peer as Socket;
}
