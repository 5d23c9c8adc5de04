import type { App } from '../../channels/app.ts';
import { firstHalfOf, type SocketId } from '../../channels/socket-id.ts';
import { FairBudget } from '../../runtime/fair-budget.ts';
import type { Socket } from '../websocket/connection.ts';
import { ConnectionsByAddress } from './connections-by-address.ts';
import { keyOf, type PackedAddress } from './packed-address.ts';

/** Connections that are compared when one must be chosen. */
const LOOKED_MAX = 100;

/** Below this part of the limit, a server that was full counts as one that has room again. */
const HAS_ROOM = 3 / 4;

/** The accepted connections of this node. */
export class Connections {
  /** By the first halves of their ids, of which no two are the same. */
  private readonly byFirstHalf = new Map<number, Socket>();
  /** All open ones. */
  private readonly byApp: FairBudget<App>;
  /**
   * Of each app by address. Only from when the server is full until it has room again: at other times nobody asks, and
   * each connection would take memory for it.
   */
  private byAddress: Map<App, ConnectionsByAddress> | undefined;
  /** Of those that count for `limits.connections` of their app. */
  private readonly counted = new Map<App, number>();
  /** Where the walk through all of them in parts is. */
  private walk = this.byFirstHalf.values();
  /** Parts of this walk that are still to come, and how many connections they have together. */
  private partsLeft = 0;
  private toVisit = 0;
  /** Where the search for one that must yield is. */
  private search: Iterator<Socket> = this.byFirstHalf.values();

  /** `limit`: connections in all. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.byApp = new FairBudget(limit);
  }

  get size(): number {
    return this.byFirstHalf.size;
  }

  /** Of those that count for the quota of their app. */
  countOf(app: App): number {
    return this.counted.get(app) ?? 0;
  }

  /** All open ones, whether they count for the quota or not. */
  openOf(app: App): number {
    return this.byApp.of(app);
  }

  get(id: SocketId): Socket | undefined {
    const socket = this.byFirstHalf.get(firstHalfOf(id));
    return socket?.data.socketId === id ? socket : undefined;
  }

  /** Whether one has an id with this first half: then no other can have it. */
  isTaken(firstHalf: number): boolean {
    return this.byFirstHalf.has(firstHalf);
  }

  /**
   * What must happen before one more connection may be added: nothing (`'room'`), another one must end, or the new
   * one must be refused (`'full'`). The app that has most loses first, and in one app the address that has most.
   */
  roomFor(app: App, address: PackedAddress): 'room' | 'full' | Socket {
    const largestApp = this.byApp.whoYields(app);
    if (largestApp === undefined) return 'room';
    this.byAddress ??= this.sortByAddress();
    const ofApp = this.byAddress.get(largestApp);
    const yielding = largestApp === app ? ofApp?.yieldsTo(keyOf(address)) : ofApp?.largest();
    return yielding ?? 'full';
  }

  /** One of an app with subscriptions, and none of few if there are some of many. */
  findLarge(appId: string): Socket | undefined {
    let most: Socket | undefined;
    let looked = 0;
    // A few of many are enough to choose from: those of an attack are alike.
    this.find((socket) => {
      const { app, subscriptionCount } = socket.data;
      if (app.id !== appId || subscriptionCount === 0) return false;
      if (subscriptionCount > (most?.data.subscriptionCount ?? 0)) most = socket;
      looked++;
      return looked === LOOKED_MAX;
    });
    return most;
  }

  /** `firstHalf`: of its id. `counts`: whether it counts for the quota of its app already. */
  add(firstHalf: number, app: App, socket: Socket, counts: boolean): void {
    this.byFirstHalf.set(firstHalf, socket);
    this.byApp.add(app);
    if (this.byAddress !== undefined) addTo(this.byAddress, socket);
    if (counts) this.count(app);
  }

  /** One that did not count for the quota of its app does now. */
  count(app: App): void {
    this.counted.set(app, this.countOf(app) + 1);
  }

  remove(firstHalf: number, app: App, counted: boolean): void {
    const socket = this.byFirstHalf.get(firstHalf);
    if (socket === undefined) return;
    this.byFirstHalf.delete(firstHalf);
    this.byApp.release(app);
    const ofApp = this.byAddress?.get(app);
    ofApp?.remove(socket);
    if (ofApp?.isEmpty) this.byAddress?.delete(app);
    if (this.size < HAS_ROOM * this.byApp.capacity) this.byAddress = undefined;
    if (!counted) return;
    const left = this.countOf(app) - 1;
    if (left === 0) this.counted.delete(app);
    else this.counted.set(app, left);
  }

  /** May be changed while it is walked. */
  all(): Iterable<Socket> {
    return this.byFirstHalf.values();
  }

  /**
   * The next of so many parts of them, and after the last the first again, so that looking at all of them does not
   * hold up the loop. A round has all that were there when it began, once each: the others' coming and going does not
   * make them wait, nor come more often. Those that come meanwhile are in the next round.
   */
  nextPart(parts: number): readonly Socket[] {
    if (this.partsLeft === 0) {
      this.walk = this.byFirstHalf.values();
      this.partsLeft = parts;
      this.toVisit = this.size;
    }
    const count = Math.ceil(this.toVisit / this.partsLeft);
    this.toVisit -= count;
    this.partsLeft--;
    // Fewer where some have gone.
    return [...this.walk.take(count)];
  }

  private sortByAddress(): Map<App, ConnectionsByAddress> {
    const byAddress = new Map<App, ConnectionsByAddress>();
    for (const socket of this.all()) addTo(byAddress, socket);
    return byAddress;
  }

  /** The next that fits after the one found last: those that must yield mostly came one after the other. */
  private find(fits: (socket: Socket) => boolean): Socket | undefined {
    for (let rounds = 0; rounds < 2; ) {
      const { done, value } = this.search.next();
      if (done === true) {
        this.search = this.byFirstHalf.values();
        rounds++;
      } else if (fits(value)) {
        return value;
      }
    }
    return undefined;
  }
}

function addTo(byAddress: Map<App, ConnectionsByAddress>, socket: Socket): void {
  const { app } = socket.data;
  let ofApp = byAddress.get(app);
  if (ofApp === undefined) {
    ofApp = new ConnectionsByAddress();
    byAddress.set(app, ofApp);
  }
  ofApp.add(socket);
}
