import type { App } from '../../channels/app.ts';
import { firstHalfOf, newHalf, type SocketId } from '../../channels/socket-id.ts';
import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { SharedTotal } from '../../runtime/shared-memory/shared-total.ts';
import { ConnectionsByAddress } from './addresses/connections-by-address.ts';
import { keyOf, type PackedAddress } from './addresses/packed-address.ts';
import type { ClientConnection } from './connection.ts';

/** Connections that are compared when one must be chosen. */
const LOOKED_MAX = 100;

/** Below this share of the limit, a server that was full counts as one that has room again. */
const HAS_ROOM = 3 / 4;

/** The registry of this node's open connections. */
export class ClientConnections {
  /** By the first halves of their ids, which are unique here. */
  private readonly byFirstHalf = new Map<number, ClientConnection>();
  /** Open connections by app. */
  private readonly byApp: FairBudget<App>;
  /** By app and address. Kept only while the server is full or nearly so: it takes memory for each connection. */
  private byAddress: Map<App, ConnectionsByAddress> | undefined;
  /** The current round of `nextPart`: how many parts and connections are left in it. */
  private walk = this.byFirstHalf.values();
  private partsLeft = 0;
  private toVisit = 0;
  /** The current position of `find`. */
  private search: Iterator<ClientConnection> = this.byFirstHalf.values();

  /** `limit`: connections in all, those of other loops included. `shared`: the total of all loops of this process. */
  constructor(limit = Number.POSITIVE_INFINITY, shared?: SharedTotal) {
    this.byApp = new FairBudget(limit, shared);
  }

  get size(): number {
    return this.byFirstHalf.size;
  }

  /** All open connections of an app. */
  openOf(app: App): number {
    return this.byApp.of(app);
  }

  /** The apps that have open connections, with their numbers. */
  openByApp(): Iterable<readonly [app: App, open: number]> {
    return this.byApp.all();
  }

  get(id: SocketId): ClientConnection | undefined {
    const connection = this.byFirstHalf.get(firstHalfOf(id));
    return connection?.socketId === id ? connection : undefined;
  }

  /** Makes the first half of a new socket id, which no open connection has. */
  newFirstHalf(): number {
    let firstHalf = newHalf();
    while (this.byFirstHalf.has(firstHalf)) firstHalf = newHalf();
    return firstHalf;
  }

  /**
   * Decides what must happen before another connection may be added: nothing (`'room'`), another connection must be
   * closed, or the new one must be refused (`'full'`). The largest app loses first, and within it the largest
   * address.
   */
  roomFor(app: App, address: PackedAddress): 'room' | 'full' | ClientConnection {
    const largestApp = this.byApp.ownerToEvict(app);
    if (largestApp === undefined) return 'room';
    this.byAddress ??= this.sortByAddress();
    const ofApp = this.byAddress.get(largestApp);
    const yielding = largestApp === app ? ofApp?.yieldsTo(keyOf(address)) : ofApp?.largest();
    return yielding ?? 'full';
  }

  /** Finds a connection of an app with many subscriptions, out of the next hundred that have any. */
  findLarge(appId: string): ClientConnection | undefined {
    let largest: ClientConnection | undefined;
    let looked = 0;
    // A hundred are enough to choose from: the connections of an attack are alike.
    this.find((connection) => {
      const { app, subscriptionCount } = connection;
      if (app.id !== appId || subscriptionCount === 0) return false;
      if (subscriptionCount > (largest?.subscriptionCount ?? 0)) largest = connection;
      looked++;
      return looked === LOOKED_MAX;
    });
    return largest;
  }

  add(connection: ClientConnection): void {
    this.byFirstHalf.set(connection.firstHalf, connection);
    this.byApp.add(connection.app);
    connection.keyUse?.opened();
    if (this.byAddress !== undefined) addTo(this.byAddress, connection);
  }

  remove(connection: ClientConnection): void {
    const { firstHalf, app } = connection;
    if (this.byFirstHalf.get(firstHalf) !== connection) return;
    this.byFirstHalf.delete(firstHalf);
    this.byApp.release(app);
    connection.keyUse?.closed();
    const ofApp = this.byAddress?.get(app);
    ofApp?.remove(connection);
    if (ofApp?.isEmpty) this.byAddress?.delete(app);
    if (this.size < HAS_ROOM * this.byApp.capacity) this.byAddress = undefined;
  }

  /** All of them. Connections may be added and removed while this is iterated. */
  all(): Iterable<ClientConnection> {
    return this.byFirstHalf.values();
  }

  /**
   * Returns the next part of all connections, so that a check of all of them does not block the loop; after the last of
   * `parts` parts it starts over. Each round visits every connection that was open at its start exactly once.
   */
  nextPart(parts: number): readonly ClientConnection[] {
    if (this.partsLeft === 0) {
      this.walk = this.byFirstHalf.values();
      this.partsLeft = parts;
      this.toVisit = this.size;
    }
    const count = Math.ceil(this.toVisit / this.partsLeft);
    this.toVisit -= count;
    this.partsLeft--;
    return [...this.walk.take(count)];
  }

  private sortByAddress(): Map<App, ConnectionsByAddress> {
    const byAddress = new Map<App, ConnectionsByAddress>();
    for (const connection of this.all()) addTo(byAddress, connection);
    return byAddress;
  }

  /**
   * Searches from the end of the last search, because connections that must yield have mostly come one after the
   * other.
   */
  private find(fits: (connection: ClientConnection) => boolean): ClientConnection | undefined {
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

function addTo(byAddress: Map<App, ConnectionsByAddress>, connection: ClientConnection): void {
  const { app } = connection;
  let ofApp = byAddress.get(app);
  if (ofApp === undefined) {
    ofApp = new ConnectionsByAddress();
    byAddress.set(app, ofApp);
  }
  ofApp.add(connection);
}
