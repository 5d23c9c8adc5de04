/** The promises, in the order in which they are printed. */
export const ruleNames = [
  'order',
  'after',
  'once',
  'known',
  'arrives',
  'resumes',
  'members',
  'present',
  'counts',
  'webhooks',
  'pushes',
  'live',
] as const;

export type RuleName = (typeof ruleNames)[number];

/** One place where a promise was broken. */
export interface Witness {
  readonly rule: RuleName;
  readonly channel: string;
  readonly client: number | null;
  readonly events: readonly string[];
  /** When, on the clock of the history. Milliseconds. */
  readonly t: number;
  readonly text: string;
  /** The fault that excuses it. */
  readonly excuse?: string;
}

/** What a rule says of something that is wrong. `rule`: if it is another one that is broken. */
type Seen = Pick<Witness, 't' | 'text'> & Partial<Witness>;

/** Takes what a rule has found. */
export interface Report {
  /** Counts something that was checked. */
  checked(times?: number): void;
  /** Notes something that is not as promised. `excuse` is the fault that allows it. */
  broken(seen: Seen, excuse?: string): void;
  /** Whether there are witnesses enough. */
  readonly isFull: boolean;
  /** Counts what is broken and needs no witness. */
  more(times: number): void;
}

/** How often a rule was checked, and what came of it. */
interface Counts {
  checked: number;
  broken: number;
  excused: number;
}

export interface RuleResult extends Readonly<Counts> {
  readonly state: 'held' | 'broken' | 'excused' | 'not-tried';
}

/**
 * A fault, and how long it took until every client was connected, subscribed and right again. Seconds; `null`: not before the
 * history ended.
 */
export interface Recovery {
  readonly t: number;
  /** Until the first one was, of the clients that were not right at some time. */
  readonly first: number | null;
  /** Until half of these were. */
  readonly median: number | null;
  readonly seconds: number | null;
}

export interface Verdict {
  /** The time of the last line. Seconds. */
  readonly seconds: number;
  readonly clients: number;
  readonly channels: number;
  readonly triggers: number;
  readonly deliveries: number;
  readonly rules: Readonly<Record<RuleName, RuleResult>>;
  /** The first ones, and those that are excused after them. */
  readonly witnesses: readonly Witness[];
  readonly recovered: readonly Recovery[];
}

/** Witnesses that are kept of each rule. */
const WITNESSES_MAX = 100;

/** What the rules have found so far. */
export class Findings {
  private readonly counts = Object.fromEntries(
    ruleNames.map((name) => [name, { checked: 0, broken: 0, excused: 0 }]),
  ) as Record<RuleName, Counts>;
  private readonly kept: Witness[] = [];

  reportOf(rule: RuleName): Report {
    const { counts, kept } = this;
    const own = counts[rule];
    return {
      get isFull() {
        return own.broken >= WITNESSES_MAX;
      },
      more: (times) => {
        own.broken += times;
      },
      checked: (times = 1) => {
        own.checked += times;
      },
      broken: (seen, excuse) => {
        const fault = excuse === undefined ? {} : { excuse };
        const witness = { rule, channel: '', client: null, events: [], ...seen, ...fault };
        const times = ++counts[witness.rule][excuse === undefined ? 'broken' : 'excused'];
        if (times <= WITNESSES_MAX) kept.push(witness);
      },
    };
  }

  get rules(): Verdict['rules'] {
    const results = ruleNames.map((name) => {
      const count = this.counts[name];
      return [name, { state: stateOf(count), ...count }] as const;
    });
    return Object.fromEntries(results) as Verdict['rules'];
  }

  /** What is broken first, in the order of time. */
  get witnesses(): readonly Witness[] {
    return this.kept
      .toSorted((a, b) => Number('excuse' in a) - Number('excuse' in b) || a.t - b.t)
      .slice(0, WITNESSES_MAX);
  }
}

function stateOf({ checked, broken, excused }: Counts): RuleResult['state'] {
  if (broken > 0) return 'broken';
  if (excused > 0) return 'excused';
  return checked > 0 ? 'held' : 'not-tried';
}
