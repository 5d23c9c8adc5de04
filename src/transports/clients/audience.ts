import type { Topic } from '../../channels/event.ts';
import type { Audience, Meter, Peer, SendOptions } from '../../channels/ports.ts';
import type { ClientConnections } from './connections.ts';
import type { PublishTurns } from './frames/publish-turns.ts';
import type { SlowConsumers } from './frames/slow-consumers.ts';

/** The text of one event on its way to subscribers: made once, and only if there are any. */
export class LazyFrame {
  private readonly make: () => string;
  private madeText: string | undefined;
  private madeBytes: number | undefined;

  constructor(make: () => string) {
    this.make = make;
  }

  get text(): string {
    this.madeText ??= this.make();
    return this.madeText;
  }

  get bytes(): number {
    this.madeBytes ??= Buffer.byteLength(this.text);
    return this.madeBytes;
  }
}

export interface NativeSend {
  readonly except: Peer | undefined;
  readonly mayWait: boolean;
  /** See `SendOptions`. */
  readonly compressAboveBytes: number;
}

/** Subscribers that a transport reaches by means of its own; see `Audience` for what each method must do. */
export interface NativeTopics {
  /** Whether the peer is one of this transport's. The other methods are only called for those. */
  carries(peer: Peer): boolean;
  join(peer: Peer, topic: Topic): void;
  leave(peer: Peer, topic: Topic): void;
  leaveAll(peer: Peer): void;
  send(topic: Topic, frame: LazyFrame, options: NativeSend): number;
}

export interface ClientAudienceOptions {
  readonly native: NativeTopics;
  readonly connections: ClientConnections;
  readonly slowConsumers: Pick<SlowConsumers, 'sending'>;
  readonly meter: Meter;
  /** Counts everything that is published. */
  readonly turns?: Pick<PublishTurns, 'published'> | undefined;
}

/**
 * The subscribers of all transports: WebSockets by Bun's topics, and every other peer in a set per topic. While there are no
 * others, WebSockets pay one comparison per event for them.
 */
export class ClientAudience implements Audience {
  private readonly native: NativeTopics;
  private readonly connections: ClientConnections;
  private readonly slowConsumers: Pick<SlowConsumers, 'sending'>;
  private readonly meter: Meter;
  private readonly turns: ClientAudienceOptions['turns'];
  private readonly others = new Map<Topic, Set<Peer>>();
  /** The topics of each peer in `others`. */
  private readonly topicsOf = new Map<Peer, Set<Topic>>();

  constructor({ native, connections, slowConsumers, meter, turns }: ClientAudienceOptions) {
    this.native = native;
    this.connections = connections;
    this.slowConsumers = slowConsumers;
    this.meter = meter;
    this.turns = turns;
  }

  join(peer: Peer, topic: Topic): void {
    if (this.native.carries(peer)) return this.native.join(peer, topic);
    addTo(this.others, topic, peer);
    addTo(this.topicsOf, peer, topic);
  }

  leave(peer: Peer, topic: Topic): void {
    if (this.native.carries(peer)) return this.native.leave(peer, topic);
    removeFrom(this.others, topic, peer);
    removeFrom(this.topicsOf, peer, topic);
  }

  leaveAll(peer: Peer): void {
    if (this.native.carries(peer)) return this.native.leaveAll(peer);
    for (const topic of this.topicsOf.get(peer) ?? []) removeFrom(this.others, topic, peer);
    this.topicsOf.delete(peer);
  }

  send(topic: Topic, makeFrame: () => string, options: SendOptions = {}): number {
    const { mayWait = false, compressAboveBytes = 0 } = options;
    const except = options.except === undefined ? undefined : this.connections.get(options.except);
    const frame = new LazyFrame(makeFrame);
    let receivers = this.native.send(topic, frame, { except, mayWait, compressAboveBytes });
    if (this.others.size > 0) receivers += this.sendToOthers(topic, frame, except);
    if (receivers > 0) {
      this.meter.count('messagesDelivered', receivers);
      this.meter.count('deliveredBytes', receivers * frame.bytes);
      this.turns?.published(receivers * frame.bytes);
    }
    return receivers;
  }

  private sendToOthers(topic: Topic, frame: LazyFrame, except: Peer | undefined): number {
    const peers = this.others.get(topic);
    if (peers === undefined) return 0;
    this.slowConsumers.sending(peers.size * frame.bytes);
    let receivers = 0;
    for (const peer of peers) {
      if (peer === except) continue;
      peer.send(frame.text);
      receivers++;
    }
    return receivers;
  }
}

function addTo<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, new Set([value]));
  else values.add(value);
}

function removeFrom<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
