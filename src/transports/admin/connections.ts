import type { Socket } from 'node:net';
import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import { addressKey } from '../../runtime/ip-address.ts';
import type { AdminBounds } from './bounds.ts';

/** The connections of a listener, by the address of the client. */
export class AdminConnections {
  private readonly bounds: AdminBounds;
  private readonly budget: FairBudget;
  /** The oldest connection of each address first. */
  private readonly byAddress = new Map<string, Set<Socket>>();
  /** Requests in flight of each connection. */
  private readonly busy = new Map<Socket, number>();

  constructor(bounds: AdminBounds) {
    this.bounds = bounds;
    this.budget = new FairBudget(bounds.connections);
  }

  /** Admits a connection, or closes it and returns `false` because its address has too many. */
  open(socket: Socket): boolean {
    const key = keyOf(socket);
    if (this.budget.of(key) >= this.bounds.connectionsPerAddress || !this.makeRoom(key)) {
      socket.destroy();
      return false;
    }
    this.budget.add(key);
    const sockets = this.byAddress.get(key) ?? new Set();
    this.byAddress.set(key, sockets.add(socket));
    socket.once('close', () => this.forget(key, socket));
    return true;
  }

  /** Counts a request that starts (1) or ends (-1) on a connection. Returns how many are in flight. */
  countRequest(socket: Socket, by: 1 | -1): number {
    const count = (this.busy.get(socket) ?? 0) + by;
    if (count > 0) this.busy.set(socket, count);
    else this.busy.delete(socket);
    return count;
  }

  closeAll(): void {
    for (const sockets of this.byAddress.values()) for (const socket of sockets) socket.destroy();
  }

  /** Makes room for a connection of this address, by closing another one if needed. Returns `false` if it must not. */
  private makeRoom(key: string): boolean {
    const largest = this.budget.ownerToEvict(key);
    if (largest === undefined) return true;
    if (largest === key && this.budget.of(key) > 0) return false;
    // If every address has one connection, the oldest one is closed. Otherwise many addresses could keep others out.
    const [oldest] = this.byAddress.keys();
    const loser = largest === key ? oldest : largest;
    if (loser === undefined) return false;
    const sockets = [...(this.byAddress.get(loser) ?? [])];
    const victim = sockets.find((socket) => !this.busy.has(socket)) ?? sockets.at(-1);
    if (victim === undefined) return false;
    this.forget(loser, victim);
    victim.destroy();
    return true;
  }

  private forget(key: string, socket: Socket): void {
    const sockets = this.byAddress.get(key);
    if (!sockets?.delete(socket)) return;
    this.busy.delete(socket);
    this.budget.release(key);
    if (sockets.size === 0) this.byAddress.delete(key);
  }
}

/** The owner of a connection: the address of its client. */
export function keyOf(socket: Socket): string {
  return addressKey(socket.remoteAddress ?? '');
}
