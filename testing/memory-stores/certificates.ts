import type {
  CertificateStore,
  KeptAccount,
  KeptState,
  OrderClaim,
  OrderEnd,
} from '../../src/certificates/kept.ts';

/** Certificates in memory, for one or several servers. */
export class MemoryCertificates implements CertificateStore {
  readonly isShared: boolean;
  /** Whether every call fails. */
  isAway = false;
  kept: KeptState = {
    account: undefined,
    certificate: undefined,
    plan: undefined,
    challenges: new Map(),
  };
  private changes = 0;
  private lease: { readonly server: string; readonly untilMs: number } | undefined;

  constructor({ isShared = false } = {}) {
    this.isShared = isShared;
  }

  async revision(): Promise<number> {
    this.check();
    return this.changes;
  }

  async read(): Promise<KeptState> {
    this.check();
    return this.kept;
  }

  async claim({ server, revision, nowMs, untilMs, plan }: OrderClaim): Promise<boolean> {
    this.check();
    const { lease } = this;
    const isLate = lease !== undefined && lease.untilMs > untilMs + (untilMs - nowMs);
    const isOver = lease === undefined || lease.untilMs <= nowMs || isLate;
    if (!isOver && lease.server !== server) return false;
    if (revision !== this.changes) return false;
    this.lease = { server, untilMs };
    this.change({ plan });
    return true;
  }

  async keepAccount(account: KeptAccount): Promise<void> {
    this.check();
    this.change({ account });
  }

  async offer(challenges: ReadonlyMap<string, string>): Promise<void> {
    this.check();
    this.change({ challenges });
  }

  async end({ server, plan, certificate }: OrderEnd): Promise<void> {
    this.check();
    if (this.lease?.server !== server) return;
    this.lease = { server, untilMs: 0 };
    this.change({ plan, challenges: new Map(), ...(certificate && { certificate }) });
  }

  private change(changes: Partial<KeptState>): void {
    this.kept = { ...this.kept, ...changes };
    this.changes += 1;
  }

  private check(): void {
    if (this.isAway) throw new Error('the store is away');
  }
}
