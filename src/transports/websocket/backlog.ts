import type { Socket } from './connection.ts';
import type { Connections } from './connections.ts';

interface Sample {
  readonly bytes: number;
  /** What had been published in all when it was taken. */
  readonly published: number;
}

/**
 * Tells a connection that Bun closed because it read too slowly from one that went away: Bun reports both
 * as 1006. What waits for each connection is looked at now and then, and often enough that none can fill
 * its buffer unseen: at the latest whenever a quarter of a buffer has been published, to whomever.
 */
export class Backlog {
  private readonly connections: Connections;
  private readonly bytesMax: number;
  private readonly samples = new Map<Socket, Sample>();
  private publishedBytes = 0;
  private sampledAt = 0;

  /** `bytesMax` is what may wait for one connection. */
  constructor(connections: Connections, bytesMax: number) {
    this.connections = connections;
    this.bytesMax = bytesMax;
  }

  /** To be called before something is published: what is seen then does not hold it yet. */
  published(bytes: number): void {
    if (this.publishedBytes + bytes - this.sampledAt >= this.bytesMax / 4) this.sample();
    this.publishedBytes += bytes;
  }

  /** To be called after a connection was answered: answers are not published. */
  answered(socket: Socket): void {
    const bytes = socket.getBufferedAmount();
    if (bytes > 0) this.samples.set(socket, { bytes, published: this.publishedBytes });
    else if (this.samples.size > 0) this.samples.delete(socket);
  }

  /** Looks at every connection; a fraction of a millisecond for 10,000 of them. */
  sample(): void {
    this.sampledAt = this.publishedBytes;
    this.samples.clear();
    for (const socket of this.connections.all()) {
      const bytes = socket.getBufferedAmount();
      if (bytes > 0) this.samples.set(socket, { bytes, published: this.publishedBytes });
    }
  }

  /** Whether a connection that was just closed with 1006 had more waiting for it than it may. */
  wasTooSlow(socket: Socket): boolean {
    const sample = this.samples.get(socket);
    this.samples.delete(socket);
    if (sample === undefined) return false;
    const most = sample.bytes + (this.publishedBytes - sample.published);
    return sample.bytes >= this.bytesMax / 2 || most >= this.bytesMax;
  }
}
