import type { LineOf } from '../../history/line.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** A list of members changes one user at a time: none is added who is there, none removed who is not. */
export class Members implements Rule {
  readonly ops = ['subscribed', 'joined', 'left'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(line: LineOf<'subscribed'> | LineOf<'joined'> | LineOf<'left'>): void {
    const view = this.recording.viewOf(line);
    if (view === undefined) return;
    switch (line.op) {
      case 'subscribed': {
        if (line.members === undefined) return;
        this.findings.checked('members');
        const members = new Set(line.members);
        if (members.size < line.members.length) return this.report(line, 'lists a user twice');
        if (view.user !== undefined && !members.has(view.user)) {
          this.report(line, `does not list the client's own user ${view.user}`);
        }
        return;
      }
      case 'joined':
        this.findings.checked('members');
        if (view.members?.has(line.user) === true) {
          this.report(line, `adds ${line.user}, who is there`);
        }
        return;
      case 'left':
        this.findings.checked('members');
        if (view.members?.has(line.user) === false) {
          this.report(line, `removes ${line.user}, who is not there`);
        }
        return;
      default:
        line satisfies never;
    }
  }

  end(): void {
    // Everything was looked at when it came.
  }

  private report({ c, ch, t }: { c: number; ch: string; t: number }, what: string): void {
    this.findings.broken({
      rule: 'members',
      channel: ch,
      client: c,
      events: [],
      t,
      text: `the list of ${ch} that client ${c} has ${what}, at ${seconds(t)}`,
    });
  }
}
