import type { ClientConnection } from '../connection.ts';
import { type AddressKey, keyOf } from './packed-address.ts';

/**
 * The connections of one app, by client address. Nothing here iterates over all of them, because on a full server every
 * handshake asks for a connection of the address with the most.
 */
export class ConnectionsByAddress {
  private readonly byAddress = new Map<AddressKey, Set<ClientConnection>>();
  /** The addresses, by their number of connections. */
  private readonly bySize = new Map<number, Set<AddressKey>>();
  /** The number of connections of the largest address. */
  private most = 0;

  add(connection: ClientConnection): void {
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

  remove(connection: ClientConnection): void {
    const key = keyOf(connection.address);
    const alike = this.byAddress.get(key);
    if (alike?.delete(connection) !== true) return;
    if (alike.size === 0) this.byAddress.delete(key);
    this.move(key, alike.size + 1, alike.size);
    // No address has `most` any more: the last one that had has lost one.
    if (!this.bySize.has(this.most)) this.most--;
  }

  /**
   * Returns the oldest connection of the largest address; `undefined` if the address `key` would then be as large.
   */
  yieldsTo(key: AddressKey): ClientConnection | undefined {
    const own = this.byAddress.get(key)?.size ?? 0;
    return this.most > own + 1 ? this.largest() : undefined;
  }

  /** Returns the oldest connection of a largest address. */
  largest(): ClientConnection | undefined {
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
