import type { App } from '../../channels/app.ts';
import { FairBudget } from '../../runtime/fair-budget.ts';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';
import { hashOf, PLACES, placeOf } from './topic-place.ts';

interface Sample {
  readonly bytes: number;
  /** What one connection could have been sent by then, since all were looked at. */
  readonly reach: number;
}

export interface SlowConsumersOptions {
  readonly connections: Connections;
  /** What may wait for one connection: Bun closes it above that. */
  readonly bytesMax: number;
  /** What may wait for all connections together. */
  readonly totalBytesMax: number;
  /** Ends a connection because it reads too slowly, in another turn of the loop: this is in the middle of a publish. */
  readonly end: (connection: Connection) => void;
}

/** A share of what may wait: as much may be published before all connections are looked at again. */
const LOOK_AFTER = 1 / 4;

/** What is left of all that waits after the slowest were ended. */
const LEFT_AFTER_ENDING = 3 / 4;

/**
 * Knows which clients read too slowly.
 *
 * It tells a connection that Bun closed for that from one that went away: Bun reports both as 1006. What waits for
 * each connection is looked at often enough that none can fill its buffer unseen: whenever a quarter of a buffer may
 * have been published to one of them. Upper bound for one connection: all bytes that were published, and the bytes
 * of the busiest topic times the most topics that one connection has.
 *
 * It also bounds what waits for all connections together: above that, the slowest readers of the app for which most
 * waits are ended.
 */
export class SlowConsumers {
  private readonly options: SlowConsumersOptions;
  private readonly connections: Connections;
  private readonly bytesMax: number;
  /** Ended by this class, and not by Bun. */
  private readonly ended = new Set<Connection>();
  /** Bytes that were sent to all connections since all were looked at. */
  private sent = 0;
  private readonly samples = new Map<Connection, Sample>();
  /** Since all were looked at. Topics share places, so it is no less than what was published to each of them. */
  private readonly publishedTo = new Float64Array(PLACES);
  private published = 0;
  private mostOfTopic = 0;
  private mostTopics = 0;

  constructor(options: SlowConsumersOptions) {
    this.options = options;
    this.connections = options.connections;
    this.bytesMax = options.bytesMax;
  }

  /** To be called when a connection has joined a topic. */
  joined(connection: Connection): void {
    this.mostTopics = Math.max(this.mostTopics, topicsOf(connection));
  }

  /** To be called before something is published: what is seen then does not hold it yet. */
  publishing(topic: string, bytes: number, receivers: number): void {
    this.note(topic, bytes);
    this.sent += bytes * receivers;
    const isNear =
      this.reach >= this.bytesMax * LOOK_AFTER ||
      this.sent >= this.options.totalBytesMax * LOOK_AFTER;
    if (!isNear) return;
    this.sample();
    this.note(topic, bytes);
  }

  /** To be called after a connection was answered: answers are not published. */
  answered(connection: Connection): void {
    const bytes = connection.waitingBytes();
    if (bytes > 0) this.samples.set(connection, { bytes, reach: this.reach });
    else if (this.samples.size > 0) this.samples.delete(connection);
  }

  /** To be called now and then: what was read since does not make a connection slow that goes away later. */
  lookAgain(): void {
    const { reach } = this;
    for (const connection of this.samples.keys()) {
      const bytes = connection.waitingBytes();
      if (bytes > 0) this.samples.set(connection, { bytes, reach });
      else this.samples.delete(connection);
    }
  }

  /** Looks at every connection; a millisecond or so for 10,000 of them. */
  private sample(): void {
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
    if (total > this.options.totalBytesMax) this.endSlowest(total);
  }

  /** Ends the slowest readers of the app for which most waits, until enough is free again. */
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
      this.ended.add(connection);
      end(connection);
    }
  }

  /** Whether a connection that was just closed with 1006 had more waiting for it than it may. */
  wasTooSlow(connection: Connection): boolean {
    const sample = this.samples.get(connection);
    this.samples.delete(connection);
    if (this.ended.delete(connection)) return true;
    if (sample === undefined) return false;
    const most = sample.bytes + (this.reach - sample.reach);
    return sample.bytes >= this.bytesMax / 2 || most >= this.bytesMax;
  }

  /** What one connection can have been sent of what was published, since all were looked at. */
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

function topicsOf({ subscriptionCount, watching }: Connection): number {
  return subscriptionCount + watching.length;
}
