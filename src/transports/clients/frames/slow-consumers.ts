import type { App } from '../../../channels/app.ts';
import { FairBudget } from '../../../runtime/fairness/fair-budget.ts';
import type { ClientConnection } from '../connection.ts';
import type { ClientConnections } from '../connections.ts';
import { hashOf, PLACES, placeOf } from './topic-place.ts';

interface Sample {
  readonly bytes: number;
  /** `reach` at the time of the sample. */
  readonly reach: number;
}

export interface SlowConsumersOptions {
  readonly connections: ClientConnections;
  /** The limit of unread bytes for one connection: Bun closes it above that. */
  readonly bytesMax: number;
  /** The limit of unread bytes for all connections together. */
  readonly totalBytesMax: number;
  /** Ends a connection that reads too slowly. Must do so in another turn of the loop: this is called while publishing. */
  readonly end: (connection: ClientConnection) => void;
}

/** All connections are sampled once this share of a limit has been published since the last time. */
const SAMPLE_AFTER = 1 / 4;

/** The slowest are ended until this share of the total limit is left. */
const LEFT_AFTER_ENDING = 3 / 4;

/**
 * Detects slow consumers: clients that read more slowly than they are sent to.
 *
 * Bun reports a connection that it closed because its buffer was full and one that just went away alike, with 1006. To tell
 * them apart, the unread bytes of all connections are sampled whenever a quarter of a buffer may have been published to one of
 * them, so that no buffer fills up between two samples. The estimate for one connection is the smaller of all published bytes
 * and the bytes of the busiest topic times the most topics of one connection.
 *
 * It also enforces a limit of unread bytes for all connections: above it, the slowest of the app with the most are ended.
 */
export class SlowConsumers {
  private readonly options: SlowConsumersOptions;
  private readonly connections: ClientConnections;
  private readonly bytesMax: number;
  /** Connections that were ended because their clients did not read, not by Bun. */
  private readonly ended = new Set<ClientConnection>();
  /** Bytes sent to all connections since the last samples. */
  private sent = 0;
  private readonly samples = new Map<ClientConnection, Sample>();
  /** Bytes published since the last samples, by hash of the topic: topics that collide are overestimated. */
  private readonly publishedTo = new Float64Array(PLACES);
  private published = 0;
  private mostOfTopic = 0;
  private mostTopics = 0;
  /** The bytes that waited for all connections at the last sample. */
  private total = 0;

  constructor(options: SlowConsumersOptions) {
    this.options = options;
    this.connections = options.connections;
    this.bytesMax = options.bytesMax;
  }

  /** The bytes that wait for all connections in the server itself; at most 100 ms old. */
  get waitingBytes(): number {
    return this.total;
  }

  /** Must be called when a connection has joined a topic. */
  joined(connection: ClientConnection): void {
    this.mostTopics = Math.max(this.mostTopics, topicsOf(connection));
  }

  /** Must be called before something is published, so that samples do not contain it yet. */
  publishing(topic: string, bytes: number, receivers: number): void {
    this.note(topic, bytes);
    this.sent += bytes * receivers;
    const isNear =
      this.reach >= this.bytesMax * SAMPLE_AFTER ||
      this.sent >= this.options.totalBytesMax * SAMPLE_AFTER;
    if (!isNear) return;
    this.sample();
    this.note(topic, bytes);
  }

  /** Must be called before something is sent to connections that bound by themselves what waits for each of them. */
  sending(bytes: number): void {
    this.sent += bytes;
    if (this.sent >= this.options.totalBytesMax * SAMPLE_AFTER) this.sample();
  }

  /** Must be called after a connection was answered: answers are not counted by `publishing`. */
  answered(connection: ClientConnection): void {
    const bytes = connection.waitingBytes();
    if (bytes > 0) this.samples.set(connection, { bytes, reach: this.reach });
    else if (this.samples.size > 0) this.samples.delete(connection);
  }

  /**
   * Renews the samples. Called regularly, so that a client that has caught up and then disconnects does not count as
   * slow, and that answers count for the total limit as well.
   */
  sampleAgain(): void {
    const { reach } = this;
    let total = 0;
    for (const connection of this.samples.keys()) {
      const bytes = connection.waitingBytes();
      total += bytes;
      if (bytes > 0) this.samples.set(connection, { bytes, reach });
      else this.samples.delete(connection);
    }
    this.total = total;
    if (total > this.options.totalBytesMax) this.sample();
  }

  /** Samples every connection: about a millisecond for 10,000 of them. */
  sample(): void {
    this.publishedTo.fill(0);
    this.published = 0;
    this.mostOfTopic = 0;
    this.mostTopics = 0;
    this.samples.clear();
    this.sent = 0;
    let total = 0;
    for (const connection of this.connections.all()) {
      this.mostTopics = Math.max(this.mostTopics, topicsOf(connection));
      const bytes = connection.waitingBytes();
      if (bytes > 0) this.samples.set(connection, { bytes, reach: 0 });
      if (!this.ended.has(connection)) total += bytes;
    }
    this.total = total;
    if (total > this.options.totalBytesMax) this.endSlowest(total);
  }

  /** Closes the slowest connections of the app with the most unread bytes, until enough memory is free. */
  private endSlowest(totalBytes: number): void {
    const { totalBytesMax, end } = this.options;
    const budget = new FairBudget<App>(totalBytesMax * LEFT_AFTER_ENDING);
    const waiting = [...this.samples].filter(([connection]) => !this.ended.has(connection));
    const byApp = Map.groupBy(waiting, ([{ app }]) => app);
    for (const [app, samples] of byApp) {
      samples.sort(([, a], [, b]) => a.bytes - b.bytes);
      for (const [, { bytes }] of samples) budget.add(app, bytes);
    }
    for (let left = totalBytes; left > budget.capacity; ) {
      const app = budget.largestOwner();
      const slowest = app && byApp.get(app)?.pop();
      if (app === undefined || slowest === undefined) return;
      const [connection, { bytes }] = slowest;
      budget.release(app, bytes);
      left -= bytes;
      this.ending(connection);
      end(connection);
    }
  }

  /** Must be called before a connection ends because the kernel holds too much for it that its client does not read. */
  ending(connection: ClientConnection): void {
    this.ended.add(connection);
  }

  /** Whether a connection that was just closed with 1006 had too many unread bytes. */
  wasTooSlow(connection: ClientConnection): boolean {
    const sample = this.samples.get(connection);
    this.samples.delete(connection);
    if (this.ended.delete(connection)) return true;
    if (sample === undefined) return false;
    const most = sample.bytes + (this.reach - sample.reach);
    return sample.bytes >= this.bytesMax / 2 || most >= this.bytesMax;
  }

  /** Upper bound of the bytes published to one connection since the last samples. */
  private get reach(): number {
    return Math.min(this.published, this.mostTopics * this.mostOfTopic);
  }

  private note(topic: string, bytes: number): void {
    const place = placeOf(hashOf(topic));
    const ofTopic = (this.publishedTo[place] ?? 0) + bytes;
    this.publishedTo[place] = ofTopic;
    this.published += bytes;
    this.mostOfTopic = Math.max(this.mostOfTopic, ofTopic);
  }
}

function topicsOf({ subscriptionCount, watching }: ClientConnection): number {
  return subscriptionCount + watching.length;
}
