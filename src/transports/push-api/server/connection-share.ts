import { FairBudget } from '../../../runtime/fair-budget.ts';
import type { Connection } from './connection.ts';

/** The connections of one address. */
interface OfAddress {
  /** Without a whole request: idle, or in the middle of sending one. The one that rests longest comes first. */
  readonly resting: Set<Connection>;
  readonly working: Set<Connection>;
}

/** Shares the connections of a listener fairly between the addresses that they come from. */
export class ConnectionShare {
  private readonly budget: FairBudget;
  private readonly addresses = new Map<string, OfAddress>();

  constructor(capacity: number) {
    this.budget = new FairBudget(capacity);
  }

  /**
   * The connection that must be closed before a new one of this address is taken; `undefined`: none. An address that
   * has most itself loses one that rests, or gets no new one: then it is the new one that is given.
   */
  tooMany(newcomer: Connection): Connection | undefined {
    const yields = this.budget.whoYields(newcomer.peerKey);
    if (yields === undefined) return undefined;
    const { resting, working } = this.addresses.get(yields) ?? NOTHING;
    const [longest] = resting;
    if (longest !== undefined) return longest;
    return yields === newcomer.peerKey ? newcomer : [...working].at(-1);
  }

  add(connection: Connection): void {
    const { peerKey } = connection;
    this.budget.add(peerKey);
    let ofAddress = this.addresses.get(peerKey);
    if (ofAddress === undefined) {
      ofAddress = { resting: new Set(), working: new Set() };
      this.addresses.set(peerKey, ofAddress);
    }
    (connection.isWorking ? ofAddress.working : ofAddress.resting).add(connection);
  }

  /** Takes note of whether it works now. */
  move(connection: Connection): void {
    const ofAddress = this.addresses.get(connection.peerKey);
    if (ofAddress === undefined) return;
    const [from, to] = connection.isWorking
      ? [ofAddress.resting, ofAddress.working]
      : [ofAddress.working, ofAddress.resting];
    if (from.delete(connection)) to.add(connection);
  }

  remove(connection: Connection): void {
    const { peerKey } = connection;
    const ofAddress = this.addresses.get(peerKey);
    if (ofAddress === undefined) return;
    if (!ofAddress.resting.delete(connection) && !ofAddress.working.delete(connection)) return;
    this.budget.release(peerKey);
    if (this.budget.of(peerKey) === 0) this.addresses.delete(peerKey);
  }
}

const NOTHING: OfAddress = { resting: new Set(), working: new Set() };
