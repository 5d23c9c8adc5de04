import type { LineOf } from '../../history/line.ts';
import type { Item, View } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** Nobody receives what was not sent to them. */
export class Known implements Rule {
  readonly ops = ['event'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(line: LineOf<'event'>): void {
    this.findings.checked('known');
    const fault = this.faultOf(line);
    if (fault === undefined) return;
    this.report(line, fault);
  }

  end(): void {
    // An answer may come after the event that it refuses.
    for (const { sending, channel, seenAt } of this.recording.items) {
      if (seenAt === Number.POSITIVE_INFINITY || sending.refusals < sending.attempts) continue;
      this.findings.broken({
        rule: 'known',
        channel: channel.name,
        client: null,
        events: [sending.name],
        t: seenAt,
        text: `event ${sending.name} was refused, but received in ${channel.name} at ${seconds(seenAt)}`,
      });
    }
  }

  private faultOf(line: LineOf<'event'>): string | undefined {
    if (!this.recording.isSent(line.e)) return 'which nobody has sent';
    const item = this.recording.itemOf(line.e, line.ch);
    if (item === undefined) return 'which was sent to another channel';
    const view = this.recording.viewOf(line);
    if (view === undefined) return 'to which it was not subscribed';
    const { sending } = item;
    if (sending.sender?.socket === view.connection.socket) return 'which it has sent itself';
    if (this.isExcluded(item, view)) return 'which excludes its socket';
    if (sending.acceptedLine > view.askedLine || this.isEarlier(view)) return undefined;
    return `which was answered at ${seconds(sending.acceptedAt)}, before the subscription was asked for`;
  }

  /** Whether an event excludes the socket that the client had when it was answered, or has now. */
  private isExcluded({ sending }: Item, { connection }: View): boolean {
    const { except, acceptedAt } = sending;
    if (except === undefined) return false;
    if (except === connection.socket) return true;
    const owner = this.recording.ofSocket(except);
    return (
      owner?.client === connection.client &&
      owner.openedAt <= acceptedAt &&
      acceptedAt <= owner.closedAt
    );
  }

  /** Whether what comes now may be older than the subscription. */
  private isEarlier({ channel, received, missed }: View): boolean {
    return channel.replays || received < missed || (channel.isCached && received === 0);
  }

  private report({ c, n, ch, e, t }: LineOf<'event'>, why: string): void {
    this.findings.broken({
      rule: 'known',
      channel: ch,
      client: c,
      events: [e],
      t,
      text: `client ${c} received event ${e} in ${ch} at ${seconds(t)}, connection ${n}, ${why}`,
    });
  }
}
