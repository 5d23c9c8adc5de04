import type { Server } from 'bun';
import type { Topic } from '../../channels/event.ts';
import type { Audience, Meter, Peer } from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';
import type { Connections } from '../clients/connections.ts';
import type { SlowConsumers } from '../clients/slow-consumers.ts';
import type { HoldBack, Publish } from './coalescing/hold-back.ts';
import { type Socket, type SocketData, WebSocketConnection } from './websocket-connection.ts';

/**
 * Bun's own topics: what one turn of the loop publishes is merged into one write per connection, and the
 * list of subscribers is walked outside of JavaScript.
 */
export class WebSocketAudience implements Audience {
  private readonly connections: Connections;
  private readonly slowConsumers: SlowConsumers;
  private readonly holdBack: HoldBack;
  private readonly meter: Meter;
  private servers: readonly Server<SocketData>[] = [];

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
  serve(servers: readonly Server<SocketData>[]): void {
    this.servers = servers;
  }

  join(peer: Peer, topic: Topic): void {
    // Nobody hears what was sent before they joined.
    this.holdBack.flush();
    if (!(peer instanceof WebSocketConnection)) return;
    peer.socket?.subscribe(topic);
    this.slowConsumers.joined(peer);
  }

  leave(peer: Peer, topic: Topic): void {
    this.holdBack.flush();
    socketOf(peer)?.unsubscribe(topic);
  }

  send(topic: Topic, frame: string, except?: Peer): number {
    const excepted = socketOf(except);
    return this.publish(topic, () => frame, excepted, false);
  }

  sendSoon(topic: Topic, makeFrame: () => string, except?: SocketId): number {
    const excepted = except === undefined ? undefined : socketOf(this.connections.get(except));
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

function socketOf(peer: Peer | undefined): Socket | undefined {
  return peer instanceof WebSocketConnection ? peer.socket : undefined;
}
