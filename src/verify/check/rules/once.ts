import type { Chain } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** A connection receives an event at most once; a client that resumes, at most once over all of its connections. */
export class Once implements Rule {
  readonly ops = [] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(): void {
    // Everything is looked at in the end.
  }

  end(): void {
    this.recording.clearMarks();
    for (const chain of this.recording.chains) this.checkChain(chain);
  }

  private checkChain(chain: Chain): void {
    this.findings.checked('once', chain.items.length);
    const { client, channel, items, times, index } = chain;
    for (const [at, item] of items.entries()) {
      if (item.chain !== index) {
        item.chain = index;
        item.at = at;
        continue;
      }
      const [first, second] = [times[item.at] ?? 0, times[at] ?? 0];
      const { name } = item.sending;
      this.findings.broken({
        rule: 'once',
        channel: channel.name,
        client: client.id,
        events: [name],
        t: second,
        text: `client ${client.id} received event ${name} in ${channel.name} twice: ${seconds(first)} and ${seconds(second)}`,
      });
    }
  }
}
