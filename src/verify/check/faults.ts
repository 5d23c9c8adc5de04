import type { FaultKind, LineOf } from '../history/line.ts';
import type { RuleName } from './verdict.ts';

/** A fault that excuses a broken rule, and when. All other broken rules are broken, whatever has failed. */
interface Excuse {
  readonly rule: RuleName;
  readonly faults: readonly FaultKind[];
  /** How long before the fault something may have happened that is lost with it. Milliseconds. */
  readonly beforeMs: number;
  /** How long after its end. Milliseconds. */
  readonly afterMs: number;
}

/** How long after the end of a fault webhooks may be missing. Milliseconds. */
const WEBHOOKS_MS = 30_000;

/** Everything that is not promised while something breaks. `docs/use/guarantees.md` says the same in words. */
export const excuses: readonly Excuse[] = [
  // What Redis had acknowledged in its last second may be lost.
  { rule: 'arrives', faults: ['redis-lost'], beforeMs: 1000, afterMs: 5000 },
  // Webhooks that were not yet written.
  { rule: 'webhooks', faults: ['kill', 'power'], beforeMs: 600, afterMs: 1000 },
];

/** After the end of a fault, nothing is late for this time. Milliseconds. */
const LATE_MS = 5000;

/** How long after the end of a fault lists and counts may be wrong. Milliseconds. */
const SETTLING_MS: Readonly<Record<FaultKind, number>> = {
  kill: 15_000,
  power: 15_000,
  pause: 10_000,
  'cut-off': 10_000,
  stop: LATE_MS,
  'redis-away': LATE_MS,
  'redis-lost': LATE_MS,
  'store-away': LATE_MS,
  clock: LATE_MS,
  gateway: LATE_MS,
};

/** While these last, and for as long afterwards as lists may be wrong, clients may come and go without being noticed. */
const HIDING: readonly FaultKind[] = [
  'kill',
  'power',
  'pause',
  'cut-off',
  'redis-away',
  'redis-lost',
];

interface Fault {
  readonly what: FaultKind;
  readonly from: number;
  readonly until: number;
}

/** The faults of a history so far, in the order in which they began. */
export class Faults {
  private readonly all: Fault[] = [];

  add({ what, t, until = t }: LineOf<'fault'>): void {
    this.all.push({ what, from: t, until: Math.max(t, until) });
  }

  /** The fault that excuses a rule for something that happened between two times. */
  excuse(rule: RuleName, from: number, to: number): string | undefined {
    for (const excuse of excuses) {
      if (excuse.rule !== rule) continue;
      const [fault] = this.during(from - excuse.afterMs, to + excuse.beforeMs, excuse.faults);
      if (fault !== undefined) return describe(fault);
    }
    return undefined;
  }

  /** Whether nobody may have noticed an absence: it was short but for the time of a fault. */
  mayHide(gone: number, back: number): boolean {
    return this.during(gone, back, HIDING).some(({ what, from, until }) => {
      const meanwhile = Math.max(0, Math.min(until, back) - Math.max(from, gone));
      return back - gone - meanwhile <= SETTLING_MS[what];
    });
  }

  /** Whether a fault of one of these kinds lasts at some moment between two times. */
  any(kinds: readonly FaultKind[], from: number, to: number): boolean {
    return this.during(from, to, kinds).length > 0;
  }

  /** Until when an event may be under way that may be there at `due` without faults. */
  dueAfter(from: number, due: number): number {
    let extended = due;
    for (const { from: began, until } of this.all) {
      if (began <= extended && until + LATE_MS >= from) {
        extended = Math.max(extended, until + LATE_MS);
      }
    }
    return extended;
  }

  /** Whether lists and counts must be right at a time. */
  hasSettled(at: number): boolean {
    return this.all.every(({ what, until }) => at >= until + SETTLING_MS[what]);
  }

  /** Whether webhooks must have come by a time. */
  haveWebhooksSettled(at: number): boolean {
    return this.all.every(({ until }) => at >= until + WEBHOOKS_MS);
  }

  private during(from: number, to: number, kinds: readonly FaultKind[]): readonly Fault[] {
    return this.all.filter(
      (fault) => kinds.includes(fault.what) && fault.from <= to && fault.until >= from,
    );
  }
}

function describe({ what, from }: Fault): string {
  return `${what} at ${(from / 1000).toFixed(1)} s`;
}
