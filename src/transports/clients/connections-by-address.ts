import type { Connection } from './connection.ts';
import { type AddressKey, keyOf } from './packed-address.ts';

/**
 * The connections of one app, by the address of their clients. Nothing here walks through all of them: at the
 * limit of the server, every handshake asks for one of the address that has most.
 */
export class ConnectionsByAddress {
  private readonly byAddress = new Map<AddressKey, Set<Connection>>();
  /** The addresses, by how many connections each has. */
  private readonly bySize = new Map<number, Set<AddressKey>>();
  /** What the address with the most connections has. */
  private most = 0;

  add(connection: Connection): void {
    const key = keyOf(connection.address);
    let alike = this.byAddress.get(key);
    if (alike === undefined) {
      alike = new Set();
      this.byAddress.set(key, alike);
    }
    alike.add(connection);
    this.move(key, alike.size - 1, alike.size);
    this.most = Math.max(this.most, alike.size);
  }

  /** One that is in it. */
  remove(connection: Connection): void {
    const key = keyOf(connection.address);
    const alike = this.byAddress.get(key);
    if (alike?.delete(connection) !== true) return;
    if (alike.size === 0) this.byAddress.delete(key);
    this.move(key, alike.size + 1, alike.size);
    // The address that had most has one less now, and no other has more.
    if (!this.bySize.has(this.most)) this.most--;
  }

  /** The oldest of the address that has most; `undefined` where the address with this key would then have as many. */
  yieldsTo(key: AddressKey): Connection | undefined {
    const own = this.byAddress.get(key)?.size ?? 0;
    return this.most > own + 1 ? this.largest() : undefined;
  }

  /** The oldest of an address that has most. */
  largest(): Connection | undefined {
    for (const key of this.bySize.get(this.most) ?? []) {
      for (const connection of this.byAddress.get(key) ?? []) return connection;
    }
    return undefined;
  }

  get isEmpty(): boolean {
    return this.byAddress.size === 0;
  }

  private move(key: AddressKey, from: number, to: number): void {
    const left = this.bySize.get(from);
    left?.delete(key);
    if (left?.size === 0) this.bySize.delete(from);
    if (to === 0) return;
    const joined = this.bySize.get(to);
    if (joined === undefined) this.bySize.set(to, new Set([key]));
    else joined.add(key);
  }
}
