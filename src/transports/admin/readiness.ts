/** Who uses the store, and notices when it does not work; `store` is who only looks after it. */
export type StoreUser = 'apps' | 'instances' | 'push' | 'store' | 'usage' | 'webhooks';

/** Whether this server can do its work now, and if not, why. */
export class Readiness {
  private realtime: 'starting' | 'listening' | 'stopping' = 'starting';
  private readonly storeFaults = new Map<StoreUser, string>();

  setRealtime(state: 'starting' | 'listening' | 'stopping'): void {
    this.realtime = state;
  }

  /** What one user of the store found: `undefined` where it works. Tells whether that is news of that user. */
  setStore(user: StoreUser, fault: string | undefined): boolean {
    const isNews = (fault === undefined) === this.storeFaults.has(user);
    if (fault === undefined) this.storeFaults.delete(user);
    else this.storeFaults.set(user, fault);
    return isNews;
  }

  /** What one user of the store found last, where it does not work. */
  storeFault(user: StoreUser): string | undefined {
    return this.storeFaults.get(user);
  }

  /** Whether the store works for all who use it. */
  get storeWorks(): boolean {
    return this.storeFaults.size === 0;
  }

  /** Empty when ready; otherwise one reason for each part that is not. */
  reasons(): readonly string[] {
    const reasons: string[] = [];
    if (this.realtime !== 'listening') reasons.push(`realtime: ${this.realtime}`);
    // Most often they all found the same.
    const usersOf = Map.groupBy(this.storeFaults, ([, fault]) => fault);
    for (const [fault, users] of usersOf) {
      reasons.push(`store: ${fault} (${users.map(([user]) => user).join(', ')})`);
    }
    return reasons;
  }
}
