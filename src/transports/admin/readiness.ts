/** The parts that use the store and report its faults. `store` is the health check itself. */
export type StoreUser = 'apps' | 'instances' | 'push' | 'store' | 'usage' | 'webhooks';

/** Since when the engine of a realtime loop cannot be used, in milliseconds since 1970, and why. */
export interface EngineAway {
  readonly sinceMs: number;
  readonly why: string;
  /** Whether it answers, but refuses what the server asks of it. */
  readonly isRefused: boolean;
}

/**
 * How long the engine may be away before the server counts as not ready. Long, because all servers lose it at the
 * same time, and it comes back by itself. One that refuses commands waits for an operator. Milliseconds.
 */
const ENGINE_AWAY_MAX_MS = 30_000;

/** Knows whether this server can do its work now, and if not, why. */
export class Readiness {
  private realtime: 'starting' | 'listening' | 'stopping' = 'starting';
  /** The names of realtime loops that do not answer. */
  private readonly silentLoops = new Set<string>();
  private readonly storeFaults = new Map<StoreUser, string>();
  /** The engines that cannot be used, by the names of their realtime loops. */
  private readonly enginesAway = new Map<string, EngineAway>();
  /** What is wrong with the certificate; `isMissing`: no client can connect. */
  certificateFault: () => { readonly isMissing: boolean; readonly text: string } | undefined = () =>
    undefined;
  /** Why files of TLS on the disk have not been usable for minutes. */
  tlsFilesFault: () => { readonly why: string; readonly sinceMs: number } | undefined = () =>
    undefined;
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

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

  /** Records since when the engine of a realtime loop cannot be used; `undefined`: it can. */
  setEngine(name: string, away: EngineAway | undefined): void {
    if (away === undefined) this.enginesAway.delete(name);
    else this.enginesAway.set(name, away);
  }

  /** What an operator should know although the server is ready. */
  notes(): readonly string[] {
    const notes = Array.from(this.enginesAway, ([name, away]) => engineNote(name, away));
    const fault = this.certificateFault();
    return fault?.isMissing === false ? [...notes, `certificate: ${fault.text}`] : notes;
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

  /** The faults of the store, by the part that found them. */
  get faultsOfStore(): ReadonlyMap<StoreUser, string> {
    return this.storeFaults;
  }

  /** The engines that cannot be used, by the names of their realtime loops. */
  get awayEngines(): ReadonlyMap<string, EngineAway> {
    return this.enginesAway;
  }

  /** The names of realtime loops that do not answer. */
  get silent(): ReadonlySet<string> {
    return this.silentLoops;
  }

  /** The reasons why the server is not ready; empty if it is. */
  reasons(): readonly string[] {
    const reasons: string[] = [];
    if (this.realtime !== 'listening') reasons.push(`realtime: ${this.realtime}`);
    for (const name of this.silentLoops) reasons.push(`${name}: does not answer`);
    for (const [name, away] of this.enginesAway) {
      const isLong = this.now() - away.sinceMs > ENGINE_AWAY_MAX_MS;
      if (isLong || away.isRefused) reasons.push(engineNote(name, away));
    }
    const fault = this.certificateFault();
    if (fault?.isMissing === true) reasons.push(`certificate: ${fault.text}`);
    // Users that report the same fault share a line.
    const usersOf = Map.groupBy(this.storeFaults, ([, fault]) => fault);
    for (const [fault, users] of usersOf) {
      reasons.push(`store: ${fault} (${users.map(([user]) => user).join(', ')})`);
    }
    return reasons;
  }
}

function engineNote(name: string, { sinceMs, why, isRefused }: EngineAway): string {
  const state = isRefused ? 'engine refuses commands' : 'engine away';
  return `${name}: ${state} since ${new Date(sinceMs).toISOString()}: ${why}`;
}
