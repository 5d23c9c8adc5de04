import type { Server } from 'bun';
import type { Topic } from '../../channels/event.ts';
import type { Audience, Meter, Peer } from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';
import type { Connections } from '../clients/connections.ts';
import type { HoldBack, Publish } from './coalescing/hold-back.ts';
import type { Connection, ConnectionData, Socket } from './connection.ts';
import type { SlowConsumers } from './slow-consumers.ts';

/**
 * Bun's own topics: what one turn of the loop publishes is merged into one write per connection, and the
 * list of subscribers is walked outside of JavaScript.
 */
export class WebSocketAudience implements Audience {
  private readonly connections: Connections;
  private readonly slowConsumers: SlowConsumers;
  private readonly holdBack: HoldBack;
  private readonly meter: Meter;
  private servers: readonly Server<ConnectionData>[] = [];

  constructor(
    connections: Connections,
    slowConsumers: SlowConsumers,
    holdBack: HoldBack,
    meter: Meter,
  ) {
    this.connections = connections;
    this.slowConsumers = slowConsumers;
    this.holdBack = holdBack;
    this.meter = meter;
  }

  /** Where subscribers are: mostly one server, and more for a while after its certificate was replaced. */
  serve(servers: readonly Server<ConnectionData>[]): void {
    this.servers = servers;
  }

  join(peer: Peer, topic: Topic): void {
    // Nobody hears what was sent before they joined.
    this.holdBack.flush();
    const connection = connectionOf(peer);
    connection.socket?.subscribe(topic);
    this.slowConsumers.joined(connection);
  }

  leave(peer: Peer, topic: Topic): void {
    this.holdBack.flush();
    connectionOf(peer).socket?.unsubscribe(topic);
  }

  send(topic: Topic, frame: string, except?: Peer): number {
    const excepted = except === undefined ? undefined : connectionOf(except).socket;
    return this.publish(topic, () => frame, excepted, false);
  }

  sendSoon(topic: Topic, makeFrame: () => string, except?: SocketId): number {
    const excepted = except === undefined ? undefined : this.connections.get(except);
    return this.publish(topic, makeFrame, excepted, true);
  }

  private publish(
    topic: Topic,
    makeFrame: () => string,
    excepted: Socket | undefined,
    mayWait: boolean,
  ): number {
    let frame: string | undefined;
    let bytes = 0;
    let receivers = 0;
    for (const server of this.servers) {
      const subscribers = server.subscriberCount(topic);
      if (subscribers === 0) continue;
      // A connection's own publish reaches everybody of its server but itself.
      const own = excepted?.data.server === server ? excepted : undefined;
      const reached = own?.isSubscribed(topic) ? subscribers - 1 : subscribers;
      if (frame === undefined) {
        frame = makeFrame();
        bytes = Buffer.byteLength(frame);
      }
      const publish = new TopicPublish({
        publisher: own ?? server,
        topic,
        frame,
        bytes,
        receivers: reached,
        slowConsumers: this.slowConsumers,
      });
      if (mayWait) this.holdBack.publishSoon(publish);
      else this.holdBack.publish(publish);
      receivers += reached;
    }
    if (frame !== undefined) {
      this.meter.count('messagesDelivered', receivers);
      this.meter.count('deliveredBytes', receivers * bytes);
    }
    return receivers;
  }
}

/** What both a server and a socket can do; a socket does it for all but itself, also when it has ended since. */
interface NativeTopics {
  publish(topic: string, data: string, compress: boolean): number;
}

interface TopicPublishOptions {
  readonly publisher: NativeTopics;
  readonly topic: Topic;
  readonly frame: string;
  /** Of the frame. */
  readonly bytes: number;
  readonly receivers: number;
  readonly slowConsumers: SlowConsumers;
}

class TopicPublish implements Publish {
  readonly topic: Topic;
  readonly frame: string;
  readonly receivers: number;
  private readonly bytes: number;
  private readonly publisher: NativeTopics;
  private readonly slowConsumers: SlowConsumers;

  constructor(options: TopicPublishOptions) {
    this.publisher = options.publisher;
    this.topic = options.topic;
    this.frame = options.frame;
    this.bytes = options.bytes;
    this.receivers = options.receivers;
    this.slowConsumers = options.slowConsumers;
  }

  run(): void {
    this.slowConsumers.publishing(this.topic, this.bytes, this.receivers);
    this.publisher.publish(this.topic, this.frame, false);
  }
}

/** Every peer that this transport hands to the core is a connection of its own. */
function connectionOf(peer: Peer): Connection {
  return peer as Connection;
}
