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

/** How long it takes at most until a webhook is written, so that it survives. Milliseconds. */
export const WRITTEN_MS = 600;

/** Everything that is not promised while something breaks. `docs/use/guarantees.md` says the same in words. */
export const excuses: readonly Excuse[] = [
  // What Redis had acknowledged in its last second may be lost.
  { rule: 'arrives', faults: ['redis-lost'], beforeMs: 1000, afterMs: 5000 },
  // Webhooks that were not yet written, of the only server.
  { rule: 'webhooks', faults: ['kill', 'power'], beforeMs: WRITTEN_MS, afterMs: 1000 },
];

/** After the end of a fault, nothing is late for this time. Milliseconds. */
const LATE_MS = 5000;

/** How long after the end of a fault lists and counts may be wrong, if longer. Milliseconds. */
const LONGER_MS = new Map<FaultKind, number>([
  ['kill', 15_000],
  ['power', 15_000],
  ['pause', 10_000],
  ['cut-off', 10_000],
]);
const settlingMs = (what: FaultKind) => LONGER_MS.get(what) ?? LATE_MS;

/** Faults that end a server without a word. */
const ENDING: readonly FaultKind[] = ['kill', 'power'];

/** Faults that keep a server from stating in Redis whom it holds. */
const UNSTATED: readonly FaultKind[] = ['pause', 'cut-off', 'redis-away', 'redis-lost'];

/** While these last, and for as long afterwards as lists may be wrong, clients may come and go without being noticed. */
const HIDING = [...ENDING, ...UNSTATED];

/** How long after a loss of Redis' data the servers state whom they hold. Milliseconds. */
const STATED_MS = 10_000;

export interface Fault {
  readonly what: FaultKind;
  readonly from: number;
  readonly until: number;
}

/** The faults of a history so far, in the order in which they began. */
export class Faults {
  /** When lists and counts must be right, and when webhooks must have come. */
  settledAt = 0;
  webhooksSettledAt = 0;
  private readonly all: Fault[] = [];

  add({ what, t, until = t }: LineOf<'fault'>): void {
    const end = Math.max(t, until);
    this.all.push({ what, from: t, until: end });
    this.settledAt = Math.max(this.settledAt, end + settlingMs(what));
    this.webhooksSettledAt = Math.max(this.webhooksSettledAt, end + WEBHOOKS_MS);
  }

  /** The fault that excuses a rule for something that happened between two times. `applies` has the last word. */
  excuse(
    rule: RuleName,
    from: number,
    to: number,
    applies: (fault: Fault) => boolean = () => true,
  ): string | undefined {
    const found = excuses.flatMap((excuse) =>
      excuse.rule === rule
        ? this.during(from - excuse.afterMs, to + excuse.beforeMs, excuse.faults)
        : [],
    );
    return describe(found.find(applies));
  }

  /** A loss of Redis' data between two times, soon after which some server could not state whom it holds. */
  unstatedLoss(from: number, to: number): string | undefined {
    const losses = this.during(from, to, ['redis-lost']);
    const isUnstated = (loss: Fault) =>
      this.during(loss.from, loss.until + STATED_MS, UNSTATED).some((other) => other !== loss);
    return describe(losses.find(isUnstated));
  }

  /** A kill between two times whose unwritten webhooks another server was to send, but Redis lost them before it had. */
  lostInheritance(from: number, to: number): string | undefined {
    const kills = this.during(from, to + WRITTEN_MS, ENDING);
    const isLost = (kill: Fault) =>
      kill.from >= from && this.any(['redis-lost'], kill.from, kill.from + WEBHOOKS_MS);
    return describe(kills.find(isLost));
  }

  /** Whether nobody may have noticed an absence: it was short but for the time of a fault. */
  mayHide(gone: number, back: number): boolean {
    return this.during(gone, back, HIDING).some(({ what, from, until }) => {
      const meanwhile = Math.max(0, Math.min(until, back) - Math.max(from, gone));
      return back - gone - meanwhile <= settlingMs(what);
    });
  }

  /** Until when a server may count a connection that ended at a time: it notices the end later if that came with a fault. */
  countedUntil(t: number): number {
    const settled = this.during(t, t, HIDING).map(({ what, until }) => until + settlingMs(what));
    return Math.max(t, ...settled);
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

  private during(from: number, to: number, kinds: readonly FaultKind[]): readonly Fault[] {
    return this.all.filter(
      (fault) => kinds.includes(fault.what) && fault.from <= to && fault.until >= from,
    );
  }
}

function describe(fault: Fault | undefined): string | undefined {
  return fault && `${fault.what} at ${(fault.from / 1000).toFixed(1)} s`;
}
