import { FairBudget } from '../../../runtime/fairness/fair-budget.ts';
import type { PushConnection } from './connection.ts';

/** The connections of one address. */
interface AddressConnections {
  /** Idle, or in the middle of sending a request; the one that has rested longest first. */
  readonly resting: Set<PushConnection>;
  /** With a whole request that has no answer yet. */
  readonly working: Set<PushConnection>;
}

const NONE: AddressConnections = { resting: new Set(), working: new Set() };

/** Shares the connections of a listener fairly between client addresses. */
export class ConnectionShare {
  private readonly budget: FairBudget;
  private readonly addresses = new Map<string, AddressConnections>();

  constructor(capacity: number) {
    this.budget = new FairBudget(capacity);
  }

  /**
   * The connection that must be closed before a new one is accepted, if any. If the new connection's own address has
   * the most, that is an idle one of its own, or else the new one.
   */
  connectionToClose(newcomer: PushConnection): PushConnection | undefined {
    const { addressKey } = newcomer.peer;
    const yielding = this.budget.ownerToEvict(addressKey);
    if (yielding === undefined) return undefined;
    const { resting, working } = this.addresses.get(yielding) ?? NONE;
    const [longest] = resting;
    if (longest !== undefined) return longest;
    return yielding === addressKey ? newcomer : [...working].at(-1);
  }

  add(connection: PushConnection): void {
    const { addressKey } = connection.peer;
    this.budget.add(addressKey);
    let ofAddress = this.addresses.get(addressKey);
    if (ofAddress === undefined) {
      ofAddress = { resting: new Set(), working: new Set() };
      this.addresses.set(addressKey, ofAddress);
    }
    (connection.isWorking ? ofAddress.working : ofAddress.resting).add(connection);
  }

  /** To be called when `isWorking` of the connection has changed. */
  workChanged(connection: PushConnection): void {
    const ofAddress = this.addresses.get(connection.peer.addressKey);
    if (ofAddress === undefined) return;
    const [from, to] = connection.isWorking
      ? [ofAddress.resting, ofAddress.working]
      : [ofAddress.working, ofAddress.resting];
    if (from.delete(connection)) to.add(connection);
  }

  remove(connection: PushConnection): void {
    const { addressKey } = connection.peer;
    const ofAddress = this.addresses.get(addressKey);
    if (ofAddress === undefined) return;
    if (!ofAddress.resting.delete(connection) && !ofAddress.working.delete(connection)) return;
    this.budget.release(addressKey);
    if (this.budget.of(addressKey) === 0) this.addresses.delete(addressKey);
  }
}
