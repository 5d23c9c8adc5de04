import type { Connection, Socket } from './connection.ts';
import type { Connections } from './connections.ts';
import { hashOf, PLACES, placeOf } from './topic-place.ts';

interface Sample {
  readonly bytes: number;
  /** What one connection could have been sent by then, since all were looked at. */
  readonly reach: number;
}

/**
 * Tells a connection that Bun closed because it read too slowly from one that went away: Bun reports both
 * as 1006. What waits for each connection is looked at often enough that none can fill its buffer unseen:
 * whenever a quarter of a buffer may have been published to one of them.
 * That is no more than what was published in all, and no more than the most of one topic times the most topics that
 * one connection has: where many topics have few events each, all connections need not be looked at for each of them.
 */
export class Backlog {
  private readonly connections: Connections;
  private readonly bytesMax: number;
  private readonly samples = new Map<Socket, Sample>();
  /** Since all were looked at. Topics share places, so it is no less than what was published to each of them. */
  private readonly publishedTo = new Float64Array(PLACES);
  private published = 0;
  private mostOfTopic = 0;
  private mostTopics = 0;

  /** `bytesMax` is what may wait for one connection. */
  constructor(connections: Connections, bytesMax: number) {
    this.connections = connections;
    this.bytesMax = bytesMax;
  }

  /** To be called when a connection has joined a topic. */
  joined(connection: Connection): void {
    this.mostTopics = Math.max(this.mostTopics, topicsOf(connection));
  }

  /** To be called before something is published: what is seen then does not hold it yet. */
  publishing(topic: string, bytes: number): void {
    this.note(topic, bytes);
    if (this.reach < this.bytesMax / 4) return;
    this.sample();
    this.note(topic, bytes);
  }

  /** To be called after a connection was answered: answers are not published. */
  answered(socket: Socket): void {
    const bytes = socket.getBufferedAmount();
    if (bytes > 0) this.samples.set(socket, { bytes, reach: this.reach });
    else if (this.samples.size > 0) this.samples.delete(socket);
  }

  /** To be called now and then: what was read since does not make a connection slow that goes away later. */
  lookAgain(): void {
    const { reach } = this;
    for (const socket of this.samples.keys()) {
      const bytes = socket.getBufferedAmount();
      if (bytes > 0) this.samples.set(socket, { bytes, reach });
      else this.samples.delete(socket);
    }
  }

  /** Looks at every connection; a few milliseconds for 10,000 of them. */
  private sample(): void {
    this.publishedTo.fill(0);
    this.published = 0;
    this.mostOfTopic = 0;
    this.mostTopics = 0;
    this.samples.clear();
    for (const socket of this.connections.all()) {
      this.mostTopics = Math.max(this.mostTopics, topicsOf(socket.data));
      const bytes = socket.getBufferedAmount();
      if (bytes > 0) this.samples.set(socket, { bytes, reach: 0 });
    }
  }

  /** Whether a connection that was just closed with 1006 had more waiting for it than it may. */
  wasTooSlow(socket: Socket): boolean {
    const sample = this.samples.get(socket);
    this.samples.delete(socket);
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
