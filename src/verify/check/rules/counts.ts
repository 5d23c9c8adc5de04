import type { LineOf } from '../../history/line.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';
import { isCalm } from './present.ts';

/** While nothing changes, the last count that a subscriber was told is the number of subscriptions. */
export class Counts implements Rule {
  readonly ops = ['calm'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see({ t }: LineOf<'calm'>): void {
    if (!isCalm(this.recording, t)) return;
    for (const { name, live } of this.recording.channels.values()) {
      for (const { count, connection } of live) {
        if (count === undefined) continue;
        this.findings.checked('counts');
        if (count === live.size) continue;
        const { id: client } = connection.client;
        this.findings.broken({
          rule: 'counts',
          channel: name,
          client,
          events: [],
          t,
          text: `client ${client} was last told of ${count} subscriptions of ${name}, but there were ${live.size} at ${seconds(t)}, when nothing had changed for 5 s`,
        });
      }
    }
  }

  end(): void {
    // Everything was looked at when it came.
  }
}
