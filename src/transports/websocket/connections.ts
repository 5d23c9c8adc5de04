import type { App } from '../../channels/app.ts';
import { firstHalfOf, type SocketId } from '../../channels/socket-id.ts';
import type { Socket } from './connection.ts';

/** The accepted connections of this node. */
export class Connections {
  /** By the first halves of their ids, of which no two are the same. */
  private readonly byFirstHalf = new Map<number, Socket>();
  private readonly byApp = new Map<App, number>();
  private readonly gauge: Int32Array;
  /** Where the walk through all of them in parts is. */
  private walk: Iterator<Socket> = this.byFirstHalf.values();

  /** `gauge` holds their number in its first place, where another thread may read it. */
  constructor(gauge: Int32Array) {
    this.gauge = gauge;
  }

  get size(): number {
    return this.byFirstHalf.size;
  }

  /** Of those that count for the quota of their app. */
  countOf(app: App): number {
    return this.byApp.get(app) ?? 0;
  }

  /** All open ones, whether they count for the quota or not. */
  openOf(app: App): number {
    let open = 0;
    for (const { data } of this.byFirstHalf.values()) if (data.app === app) open++;
    return open;
  }

  get(id: SocketId): Socket | undefined {
    const socket = this.byFirstHalf.get(firstHalfOf(id));
    return socket?.data.socketId === id ? socket : undefined;
  }

  /** Whether one has this id, or half of it: then no other can have it. */
  isTaken(id: SocketId): boolean {
    return this.byFirstHalf.has(firstHalfOf(id));
  }

  /** `counts`: whether it counts for the quota of its app already. */
  add(id: SocketId, app: App, socket: Socket, counts: boolean): void {
    this.byFirstHalf.set(firstHalfOf(id), socket);
    this.gauge[0] = this.byFirstHalf.size;
    if (counts) this.count(app);
  }

  /** One that did not count for the quota of its app does now. */
  count(app: App): void {
    this.byApp.set(app, this.countOf(app) + 1);
  }

  remove(id: SocketId, app: App, counted: boolean): void {
    if (!this.byFirstHalf.delete(firstHalfOf(id))) return;
    this.gauge[0] = this.byFirstHalf.size;
    if (!counted) return;
    const left = this.countOf(app) - 1;
    if (left === 0) this.byApp.delete(app);
    else this.byApp.set(app, left);
  }

  /** May be changed while it is walked. */
  all(): Iterable<Socket> {
    return this.byFirstHalf.values();
  }

  /**
   * The next of so many parts of them, and after the last the first again, so that looking at all of them does not
   * hold up the loop. Those that come meanwhile are in a part too.
   */
  nextPart(parts: number): readonly Socket[] {
    const count = Math.ceil(this.size / parts);
    const part: Socket[] = [];
    for (let rounds = 0; part.length < count && rounds < 2; ) {
      const { done, value } = this.walk.next();
      if (done !== true) {
        part.push(value);
      } else {
        this.walk = this.byFirstHalf.values();
        rounds++;
      }
    }
    return part;
  }
}
