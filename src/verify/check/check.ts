import type { Header, History, Line, Op } from '../history/line.ts';
import { Deliveries } from './deliveries.ts';
import { Publishes } from './publishes.ts';
import { Recording } from './recording.ts';
import { Recoveries } from './recoveries.ts';
import type { Rule } from './rule.ts';
import { After } from './rules/after.ts';
import { Arrives } from './rules/arrives.ts';
import { Counts } from './rules/counts.ts';
import { Known } from './rules/known.ts';
import { Live } from './rules/live.ts';
import { Members } from './rules/members.ts';
import { Once } from './rules/once.ts';
import { Order } from './rules/order.ts';
import { Present } from './rules/present.ts';
import { Pushes } from './rules/pushes.ts';
import { Resumes } from './rules/resumes.ts';
import { Webhooks } from './rules/webhooks.ts';
import { Findings, type Verdict } from './verdict.ts';

/** Decides which promises a history kept. */
export function check({ header, lines }: History): Verdict {
  const checker = new Checker(header);
  for (const line of lines) checker.add(line);
  return checker.verdict();
}

/** The same, line by line. The time grows with the number of lines. */
export class Checker {
  private readonly recording: Recording;
  private readonly findings = new Findings();
  private readonly recoveries: Recoveries;
  private readonly rules: readonly Rule[];
  private readonly byOp: ReadonlyMap<Op, readonly Rule[]>;

  constructor(header: Header) {
    const recording = new Recording(header);
    const { findings } = this;
    const deliveries = new Deliveries(recording);
    const publishes = new Publishes();
    this.recording = recording;
    this.recoveries = new Recoveries(recording);
    this.rules = [
      new Order(recording, findings, deliveries),
      new After(recording, findings, deliveries),
      new Once(recording, findings),
      new Known(recording, findings),
      new Arrives(recording, findings),
      new Resumes(recording, findings),
      new Members(recording, findings),
      new Present(recording, findings),
      new Counts(recording, findings),
      new Webhooks(recording, findings),
      new Pushes(recording, findings, publishes),
      new Live(recording, findings, publishes),
    ];
    const ops = new Set(this.rules.flatMap((rule) => rule.ops));
    this.byOp = new Map(
      Array.from(ops, (op) => [op, this.rules.filter((rule) => rule.ops.includes(op))]),
    );
  }

  /** Takes the next line. */
  add(line: Line): void {
    for (const rule of this.byOp.get(line.op) ?? []) rule.see(line);
    this.recording.apply(line);
    this.recoveries.see(line);
  }

  /** Judges all lines so far. No more may follow. */
  verdict(): Verdict {
    for (const rule of this.rules) rule.end();
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
