import type { Header, History, Line, Op } from '../history/line.ts';
import { Deliveries } from './deliveries.ts';
import { Publishes } from './publishes.ts';
import { Recording } from './recording.ts';
import { Recoveries } from './recoveries.ts';
import type { Evidence, Rule } from './rule.ts';
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
import { Findings, type Verdict } from './verdict.ts';

/** Decides which promises a history kept. */
export function check({ header, lines }: History): Verdict {
  const checker = new Checker(header);
  for (const line of lines) checker.add(line);
  return checker.verdict();
}

const makers: readonly ((evidence: Evidence) => Rule)[] = [
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
];

/** The same, line by line. The time grows with the number of lines. */
export class Checker {
  private readonly recording: Recording;
  private readonly findings = new Findings();
  private readonly recoveries: Recoveries;
  private readonly rules: readonly Rule[];
  /** What looks at each kind of line. */
  private readonly readers = new Map<Op, ((line: Line) => void)[]>();

  constructor(header: Header) {
    const recording = new Recording(header);
    const { findings } = this;
    const evidence = {
      recording,
      findings,
      deliveries: new Deliveries(recording),
      publishes: new Publishes(),
    };
    this.recording = recording;
    this.recoveries = new Recoveries(recording);
    this.rules = makers.map((make) => make(evidence));
    for (const { see = {} } of this.rules) {
      for (const [op, reader] of Object.entries(see)) {
        const readers = this.readers.get(op as Op) ?? [];
        this.readers.set(op as Op, [...readers, reader as (line: Line) => void]);
      }
    }
  }

  /** Takes the next line. */
  add(line: Line): void {
    for (const read of this.readers.get(line.op) ?? []) read(line);
    this.recording.apply(line);
    this.recoveries.see(line);
  }

  /** Judges all lines so far. No more may follow. */
  verdict(): Verdict {
    for (const rule of this.rules) rule.end?.();
    const { t, clients, channels, triggers, deliveries } = this.recording;
    return {
      seconds: t / 1000,
      clients: clients.size,
      channels: channels.size,
      triggers,
      deliveries,
      rules: this.findings.rules,
      witnesses: this.findings.witnesses,
      recovered: this.recoveries.all,
    };
  }
}
