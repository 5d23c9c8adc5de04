/** The parts that use the store and report its faults. `store` is the health check itself. */
export type StoreUser = 'apps' | 'instances' | 'push' | 'store' | 'usage' | 'webhooks';

/** Knows whether this server can do its work now, and if not, why. */
export class Readiness {
  private realtime: 'starting' | 'listening' | 'stopping' = 'starting';
  /** The names of realtime loops that do not answer. */
  private readonly silentLoops = new Set<string>();
  private readonly storeFaults = new Map<StoreUser, string>();

  setRealtime(state: 'starting' | 'listening' | 'stopping'): void {
    this.realtime = state;
  }

  /** Records whether a realtime loop answers. Returns whether that has changed. */
  setLoop(name: string, { answers }: { readonly answers: boolean }): boolean {
    if (this.silentLoops.has(name) !== answers) return false;
    if (answers) this.silentLoops.delete(name);
    else this.silentLoops.add(name);
    return true;
  }

  /** Records a fault that one user of the store found, or `undefined` if it works. Returns whether that has changed. */
  setStore(user: StoreUser, fault: string | undefined): boolean {
    const hasChanged = (fault === undefined) === this.storeFaults.has(user);
    if (fault === undefined) this.storeFaults.delete(user);
    else this.storeFaults.set(user, fault);
    return hasChanged;
  }

  /** The fault that one user of the store reported last; `undefined` if the store works for it. */
  storeFault(user: StoreUser): string | undefined {
    return this.storeFaults.get(user);
  }

  /** Whether the store works for all of its users. */
  get storeWorks(): boolean {
    return this.storeFaults.size === 0;
  }

  /** The reasons why the server is not ready; empty if it is. */
  reasons(): readonly string[] {
    const reasons: string[] = [];
    if (this.realtime !== 'listening') reasons.push(`realtime: ${this.realtime}`);
    for (const name of this.silentLoops) reasons.push(`${name}: does not answer`);
    // Users that report the same fault share a line.
    const usersOf = Map.groupBy(this.storeFaults, ([, fault]) => fault);
    for (const [fault, users] of usersOf) {
      reasons.push(`store: ${fault} (${users.map(([user]) => user).join(', ')})`);
    }
    return reasons;
  }
}
