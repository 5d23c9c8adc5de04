import type { Header, History, Line, Op } from '../history/line.ts';
import { NONE } from './lists.ts';
import type { Double } from './model.ts';
import { Recording } from './recording.ts';
import { Recoveries } from './recoveries.ts';
import type { MakeRule, Rule } from './rule.ts';
import { after } from './rules/after.ts';
import { arrives } from './rules/arrives.ts';
import { counts } from './rules/counts.ts';
import { known } from './rules/known.ts';
import { live } from './rules/live.ts';
import { members } from './rules/members.ts';
import { once } from './rules/once.ts';
import { order } from './rules/order.ts';
import { present } from './rules/present.ts';
import { pushes } from './rules/pushes.ts';
import { resumes } from './rules/resumes.ts';
import { webhooks } from './rules/webhooks.ts';
import { Findings, type RuleName, ruleNames, type Verdict } from './verdict.ts';

/** Decides which promises a history kept. */
export function check({ header, lines }: History): Verdict {
  const checker = new Checker(header);
  for (const line of lines) checker.add(line);
  return checker.verdict();
}

const makers: Readonly<Record<RuleName, MakeRule>> = {
  order,
  after,
  once,
  known,
  arrives,
  resumes,
  members,
  present,
  counts,
  webhooks,
  pushes,
  live,
};

/** The same, line by line. The time grows with the number of lines. */
export class Checker {
  private readonly recording: Recording;
  private readonly findings = new Findings();
  private readonly recoveries: Recoveries;
  private readonly rules: readonly Rule[];
  /** What looks at each kind of line. */
  private readonly readers = new Map<Op, ((...seen: readonly unknown[]) => void)[]>();

  constructor(header: Header) {
    const recording = new Recording(header);
    this.recording = recording;
    this.recoveries = new Recoveries(recording);
    this.rules = ruleNames.map((name) => makers[name](recording, this.findings.reportOf(name)));
    for (const { see = {} } of this.rules) {
      for (const [op, reader] of Object.entries(see)) {
        const readers = this.readers.get(op as Op) ?? [];
        this.readers.set(op as Op, readers);
        readers.push(reader as (...seen: readonly unknown[]) => void);
      }
    }
  }

  /** When a connection, a subscription or a fault last changed. Milliseconds. */
  get changedAt(): number {
    return this.recording.changedAt;
  }

  /** Takes the next line. */
  add(line: Line): void {
    const { recording } = this;
    const view = recording.viewOf(line);
    const event = line.op === 'event' ? recording.eventOf(line.e, line.ch) : NONE;
    for (const read of this.readers.get(line.op) ?? []) read(line, view, event);
    recording.apply(line, view, event);
    this.recoveries.see(line);
  }

  /** Judges all lines so far. No more may follow. */
  verdict(): Verdict {
    const { t, clients, channels, chains, triggers, deliveries } = this.recording;
    for (const chain of chains) {
      const doubles: Double[] = [];
      this.recording.mark(chain, doubles);
      for (const rule of this.rules) rule.chain?.(chain, doubles);
    }
    for (const rule of this.rules) rule.end?.();
    return {
      seconds: t / 1000,
      clients: clients.size,
      channels: channels.length,
      triggers,
      deliveries,
      rules: this.findings.rules,
      witnesses: this.findings.witnesses,
      recovered: this.recoveries.all,
    };
  }
}
