import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import type { Broadcast, Member } from '../ports.ts';
import { memberBatch } from '../wire.ts';

/** How long changes are collected. Milliseconds. */
const WINDOW_MS = 1000;

/** What has changed in a channel since its last batch. Nobody is in both. */
interface Batch {
  readonly joined: Map<string, Member>;
  readonly left: Set<string>;
  readonly cancel: () => void;
}

/** Sends the members that have joined and left large channels: once a second, and at most as many as the rule names. */
export class MemberBatches {
  private readonly timers: Timers;
  private readonly send: (broadcast: Broadcast) => void;
  private readonly batches = new Map<Topic, Batch>();

  constructor(timers: Timers, send: (broadcast: Broadcast) => void) {
    this.timers = timers;
    this.send = send;
  }

  added(app: App, channel: ChannelName, member: Member, named: number): void {
    if (named === 0) return;
    const { joined, left } = this.batchOf(app, channel, named);
    if (!left.delete(member.userId)) joined.set(member.userId, member);
  }

  removed(app: App, channel: ChannelName, userId: string, named: number): void {
    if (named === 0) return;
    const { joined, left } = this.batchOf(app, channel, named);
    if (!joined.delete(userId)) left.add(userId);
  }

  /** No subscribers are left. */
  forget(app: App, channel: ChannelName): void {
    if (this.batches.size === 0) return;
    const topic = topicOf(app, channel);
    this.batches.get(topic)?.cancel();
    this.batches.delete(topic);
  }

  private batchOf(app: App, channel: ChannelName, named: number): Batch {
    const topic = topicOf(app, channel);
    return this.batches.getOrInsertComputed(topic, () => {
      const cancel = this.timers.after(WINDOW_MS, () => {
        this.batches.delete(topic);
        this.sendBatch(app, channel, batch, named);
      });
      const batch: Batch = { joined: new Map(), left: new Set(), cancel };
      return batch;
    });
  }

  private sendBatch(app: App, channel: ChannelName, batch: Batch, named: number): void {
    const total = batch.joined.size + batch.left.size;
    if (total === 0) return;
    const makeFrame = () => {
      const joined = [...batch.joined.values().take(named)];
      const left = [...batch.left.values().take(named - joined.length)];
      const more = total - joined.length - left.length;
      return memberBatch(channel.text, { joined, left, more });
    };
    this.send({ app, channel: channel.text, cause: 'clients', makeFrame });
  }
}
