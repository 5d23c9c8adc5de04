import type { Job } from '../../model/delivery.ts';
import { type DeliveryLimits, NOT_NEEDED_MS } from '../limits.ts';
import type { PipelinePorts } from '../ports.ts';
import type { StoreAccess } from '../store-access.ts';

export interface GivenBack {
  /** Whether it waits for open circuits only. */
  readonly isHeld: boolean;
  /** Whether nothing else is needed of its instance for a moment. By the steady clock. */
  readonly notNeededSinceMs?: number;
}

/** Claimed jobs that this server cannot use now, on their way back to the store, where others may claim them soon. */
export class JobsGivenBack {
  private readonly ports: Pick<PipelinePorts, 'store' | 'timers'>;
  private readonly limits: DeliveryLimits;
  private readonly access: StoreAccess;
  private held: Job[] = [];
  private others: Job[] = [];
  /** Until when nothing is claimed of an instance. */
  private readonly notNeededUntilMs = new Map<number, number>();

  constructor(
    ports: Pick<PipelinePorts, 'store' | 'timers'>,
    limits: DeliveryLimits,
    access: StoreAccess,
  ) {
    this.ports = ports;
    this.limits = limits;
    this.access = access;
  }

  add(claim: Job, { isHeld, notNeededSinceMs }: GivenBack): void {
    if (notNeededSinceMs !== undefined) {
      this.notNeededUntilMs.set(claim.publish.instance, notNeededSinceMs + NOT_NEEDED_MS);
    }
    (isHeld ? this.held : this.others).push(claim);
  }

  /** Instances of which nothing is claimed now. */
  instances(nowMs: number): Iterable<number> {
    for (const [instance, untilMs] of this.notNeededUntilMs) {
      if (untilMs <= nowMs) this.notNeededUntilMs.delete(instance);
    }
    return this.notNeededUntilMs.keys();
  }

  /** Settles when the store has all of them. Never rejects. */
  async store(): Promise<void> {
    const { held, others, ports, access } = this;
    if (held.length + others.length === 0) return;
    this.held = [];
    this.others = [];
    const untilMs = ports.timers.now() + this.limits.awayMs;
    try {
      await access.ask(() =>
        Promise.all([
          held.length > 0 && ports.store.hold(held, untilMs),
          others.length > 0 && ports.store.extend({ plans: [], jobs: others }, untilMs),
        ]),
      );
    } catch {
      // Reported by `access`. The claims expire by themselves, only later.
    }
  }
}
