import type { Server } from 'bun';
import type { Topic } from '../../channels/event.ts';
import type { Peer } from '../../channels/ports.ts';
import type { LazyFrame, NativeSend, NativeTopics } from '../clients/audience.ts';
import type { SlowConsumers } from '../clients/frames/slow-consumers.ts';
import type { CoalescedPublish, Coalescer } from './coalescing/coalescer.ts';
import type { CompressionBudget } from './compression-budget.ts';
import { type Socket, type SocketData, WebSocketConnection } from './websocket-connection.ts';

/**
 * Bun's topics. Bun merges what one turn of the loop publishes into one write per connection, and walks the list of
 * subscribers outside of JavaScript.
 */
export class WebSocketTopics implements NativeTopics {
  private readonly slowConsumers: SlowConsumers;
  private readonly coalescer: Coalescer;
  private readonly compression: CompressionBudget;
  private servers: readonly Server<SocketData>[] = [];

  constructor(slowConsumers: SlowConsumers, coalescer: Coalescer, compression: CompressionBudget) {
    this.slowConsumers = slowConsumers;
    this.coalescer = coalescer;
    this.compression = compression;
  }

  /** Sets the servers that have subscribers: one, and more for a while after the certificate was replaced. */
  serve(servers: readonly Server<SocketData>[]): void {
    this.servers = servers;
  }

  carries(peer: Peer): peer is WebSocketConnection {
    return peer instanceof WebSocketConnection;
  }

  join(peer: Peer, topic: Topic): void {
    if (!this.carries(peer)) return;
    // A newcomer must not receive what was published before.
    this.coalescer.flush();
    peer.socket?.subscribe(topic);
    this.slowConsumers.joined(peer);
  }

  leave(peer: Peer, topic: Topic): void {
    this.coalescer.flush();
    socketOf(peer)?.unsubscribe(topic);
  }

  leaveAll(peer: Peer): void {
    // Bun removes a closed socket from its topics.
    if (!this.carries(peer) || !peer.isOpen) return;
    this.coalescer.flush();
    for (const topic of peer.socket?.subscriptions ?? []) peer.socket?.unsubscribe(topic);
  }

  send(topic: Topic, frame: LazyFrame, options: NativeSend): number {
    const { except, mayWait, compressAboveBytes } = options;
    const excepted = socketOf(except);
    let receivers = 0;
    for (const server of this.servers) {
      const subscribers = server.subscriberCount(topic);
      if (subscribers === 0) continue;
      // Bun lets a socket publish to all subscribers of its server but itself.
      const own = excepted?.data.server === server ? excepted : undefined;
      const reached = own?.isSubscribed(topic) ? subscribers - 1 : subscribers;
      const publish = new TopicPublish({
        publisher: own ?? server,
        topic,
        frame: frame.text,
        bytes: frame.bytes,
        receivers: reached,
        compression:
          compressAboveBytes > 0 && frame.bytes >= compressAboveBytes
            ? this.compression
            : undefined,
        slowConsumers: this.slowConsumers,
      });
      if (mayWait) this.coalescer.publishBatched(publish);
      else this.coalescer.publish(publish);
      receivers += reached;
    }
    return receivers;
  }
}

/** A server, or a socket, which publishes to all but itself, even after it has closed. */
interface Publisher {
  publish(topic: string, data: string, compress: boolean): number;
}

interface TopicPublishOptions {
  readonly publisher: Publisher;
  readonly topic: Topic;
  readonly frame: string;
  /** The size of the frame. */
  readonly bytes: number;
  readonly receivers: number;
  /** Says whether it is compressed for those who have agreed to that; `undefined`: it is not. */
  readonly compression: CompressionBudget | undefined;
  readonly slowConsumers: SlowConsumers;
}

class TopicPublish implements CoalescedPublish {
  readonly topic: Topic;
  readonly frame: string;
  readonly receivers: number;
  private readonly bytes: number;
  private readonly compression: CompressionBudget | undefined;
  private readonly publisher: Publisher;
  private readonly slowConsumers: SlowConsumers;

  constructor(options: TopicPublishOptions) {
    this.publisher = options.publisher;
    this.topic = options.topic;
    this.frame = options.frame;
    this.bytes = options.bytes;
    this.compression = options.compression;
    this.receivers = options.receivers;
    this.slowConsumers = options.slowConsumers;
  }

  run(): void {
    this.slowConsumers.publishing(this.topic, this.bytes, this.receivers);
    const isCompressed = this.compression?.take(this.receivers, this.bytes) ?? false;
    this.publisher.publish(this.topic, this.frame, isCompressed);
  }
}

function socketOf(peer: Peer | undefined): Socket | undefined {
  return peer instanceof WebSocketConnection ? peer.socket : undefined;
}
