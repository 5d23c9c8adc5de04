import type { LineOf } from '../../history/line.ts';
import type { Published, Publishes } from '../publishes.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** After these, a device may get the same notification again. */
const DOUBLING = ['kill', 'power', 'gateway', 'pause', 'cut-off'] as const;

/** Each device of a publish is notified, or there is a reason; and not twice. */
export class Pushes implements Rule {
  readonly ops = ['publish', 'published', 'notified', 'explained'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;
  private readonly publishes: Publishes;

  constructor(recording: Recording, findings: Findings, publishes: Publishes) {
    this.recording = recording;
    this.findings = findings;
    this.publishes = publishes;
  }

  see(
    line: LineOf<'publish'> | LineOf<'published'> | LineOf<'notified'> | LineOf<'explained'>,
  ): void {
    this.publishes.apply(line);
  }

  end(): void {
    for (const { p, d, t } of this.publishes.strange) {
      this.report(
        t,
        `device ${d} was notified of ${p} at ${seconds(t)}, which does not address it`,
      );
    }
    for (const publish of this.publishes.all.values()) {
      for (const device of Object.keys(publish.sent.devices)) this.check(publish, device);
    }
  }

  private check(
    { sent, acceptedAt, isRefused, notified, explained }: Published,
    device: string,
  ): void {
    const { p } = sent;
    const all = notified.get(device) ?? [];
    const [first] = all;
    if (isRefused && first !== undefined) {
      this.report(first.t, `device ${device} was notified of ${p}, which was refused`);
      return;
    }
    const { T } = this.recording.header;
    if (acceptedAt + T <= this.recording.t) {
      this.findings.checked('pushes');
      if (first === undefined && !explained.has(device)) {
        this.report(
          acceptedAt,
          `device ${device} was never notified of ${p}, answered with 200 at ${seconds(acceptedAt)}, and there is no reason`,
        );
      }
    }
    const [once, twice] = all.filter(({ result }) => result === 'accepted');
    if (once === undefined || twice === undefined) return;
    if (this.recording.faults.any(DOUBLING, sent.t, twice.t)) return;
    this.report(
      twice.t,
      `device ${device} was notified of ${p} twice: ${seconds(once.t)} and ${seconds(twice.t)}`,
    );
  }

  private report(t: number, text: string): void {
    this.findings.broken({ rule: 'pushes', channel: '', client: null, events: [], t, text });
  }
}
