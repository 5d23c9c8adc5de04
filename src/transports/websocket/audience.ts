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
  private servers: readonly Server<Connection>[] = [];

  constructor(connections: Connections, backlog: Backlog, meter: Meter) {
    this.connections = connections;
    this.backlog = backlog;
    this.meter = meter;
  }

  /** Where subscribers are: mostly one server, and more for a while after its certificate was replaced. */
  serve(servers: readonly Server<Connection>[]): void {
    this.servers = servers;
  }

  join(peer: Peer, topic: Topic): void {
    socketOf(peer).subscribe(topic);
  }

  leave(peer: Peer, topic: Topic): void {
    socketOf(peer).unsubscribe(topic);
  }

  send(topic: Topic, frame: string, except?: SocketId): number {
    const excepted = except === undefined ? undefined : this.connections.get(except);
    let receivers = 0;
    for (const server of this.servers) {
      const subscribers = server.subscriberCount(topic);
      if (subscribers === 0) continue;
      if (receivers === 0) this.backlog.published(frame.length);
      if (excepted?.data.server === server) {
        // A connection's own publish reaches everybody of its server but itself.
        receivers += excepted.isSubscribed(topic) ? subscribers - 1 : subscribers;
        excepted.publish(topic, frame);
      } else {
        receivers += subscribers;
        server.publish(topic, frame, false);
      }
    }
    if (receivers > 0) {
      this.meter.count('messagesDelivered', receivers);
      this.meter.count('deliveredBytes', receivers * frame.length);
    }
    return receivers;
  }
}

/** Every peer that this transport hands to the core is a socket of its own. */
function socketOf(peer: Peer): Socket {
  return peer as Socket;
}
