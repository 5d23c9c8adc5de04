import { check } from '../../../src/verify/check/check.ts';
import type { Fields, Header, Line, LineOf, Op } from '../../../src/verify/history/line.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Broken, Seed, SeedResult } from './world.ts';

/** How long an event may take. */
const LATE_MS = 5_000;

/** What happens in a world, and what the checker says about it. */
export class RecordedHistory {
  /** When the world began. */
  readonly startMs: number;
  private readonly header: Header;
  private readonly lines: Line[] = [];
  private readonly now: () => number;
  private readonly trace: Kernel['trace'];

  constructor(now: () => number, { trace }: Pick<Kernel, 'trace'>, { webhooks = false } = {}) {
    const rules = { kept: [], replay: [] };
    this.now = now;
    this.trace = trace;
    this.startMs = now();
    this.header = { history: 1, by: 'simulation', app: 'app', T: LATE_MS, rules, webhooks };
  }

  /** Records that something happens now. What is still learned about it may be added to the line that it returns. */
  say<O extends Op>(op: O, fields: Fields[O]): LineOf<O> {
    const line = { op, t: this.now() - this.startMs, ...fields } as LineOf<O>;
    this.lines.push(line as Line);
    this.trace?.(JSON.stringify(line));
    return line;
  }

  /** Ends the history, and judges it. `others` is what was found broken that the checker has no rule for. */
  end({ history }: Seed, others: readonly Broken[] = []): SeedResult {
    const { header, lines } = this;
    for (const line of [header, ...lines]) history(JSON.stringify(line));
    const { witnesses } = check({ header, lines });
    const broken = witnesses.filter(({ excuse }) => excuse === undefined);
    const count = (...ops: readonly Op[]) => lines.filter(({ op }) => ops.includes(op)).length;
    return {
      virtualMs: this.now() - this.startMs,
      deliveries: count('event', 'notified', 'webhook'),
      faults: count('fault'),
      broken: [...broken.map(({ rule, text }) => ({ rule, text })), ...others],
    };
  }
}
