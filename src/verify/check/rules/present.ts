import type { LineOf } from '../../history/line.ts';
import type { Recording } from '../recording.ts';
import { Roster } from '../roster.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** The users of a difference that are named. */
const NAMED_MAX = 5;

/** While nothing changes, every list of members is exactly the users who are subscribed, and so is the answer of the HTTP API. */
export class Present implements Rule {
  readonly ops = ['calm', 'users'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(line: LineOf<'calm'> | LineOf<'users'>): void {
    if (!isCalm(this.recording, line.t)) return;
    switch (line.op) {
      case 'calm':
        for (const channel of this.recording.channels.values()) {
          for (const { members, connection } of channel.live) {
            if (members === undefined) continue;
            this.findings.checked('present');
            if (members.equals(channel.present)) continue;
            const { id } = connection.client;
            const whose = `the list of ${channel.name} that client ${id} has`;
            this.report(channel.name, id, line.t, whose + difference(members, channel.present));
          }
        }
        return;
      case 'users': {
        if (line.status !== 200) return;
        this.findings.checked('present');
        const given = new Roster(line.users);
        const { present } = this.recording.channelOf(line.ch);
        if (given.equals(present)) return;
        const whose = `the answer to GET users of ${line.ch}`;
        this.report(line.ch, null, line.t, whose + difference(given, present));
        return;
      }
      default:
        line satisfies never;
    }
  }

  end(): void {
    // Everything was looked at when it came.
  }

  private report(channel: string, client: number | null, t: number, text: string): void {
    this.findings.broken({
      rule: 'present',
      channel,
      client,
      events: [],
      t,
      text: `${text}, at ${seconds(t)}, when nothing had changed for 5 s`,
    });
  }
}

/** How long nothing must have changed. Milliseconds. */
const CALM_MS = 5000;

/** Whether nothing has changed for so long, and no fault lasts, that everything must be right. */
export function isCalm({ changedAt, faults }: Recording, at: number): boolean {
  return at - changedAt >= CALM_MS && faults.hasSettled(at);
}

function difference(given: Roster, right: Roster): string {
  const [lacks, has] = [
    right.users.filter((user) => !given.has(user)),
    given.users.filter((user) => !right.has(user)),
  ].map((users) => users.slice(0, NAMED_MAX).join(', '));
  return [lacks && ` lacks ${lacks}`, has && ` has ${has}, who is not subscribed`]
    .filter((part) => part)
    .join(' and');
}
