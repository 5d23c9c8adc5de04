import type { LineOf } from '../../history/line.ts';
import type { Connection } from '../model.ts';
import type { Published, Publishes } from '../publishes.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** During these, a user may have the event and be notified all the same. */
const BOTH = [
  'kill',
  'stop',
  'pause',
  'cut-off',
  'redis-away',
  'redis-lost',
  'power',
  'gateway',
  'clock',
] as const;

/** The first time that a client of a user has an event. */
interface Had {
  readonly t: number;
  readonly connection: Connection;
}

/** Of a publish with `live`, each user has the event in the app, or their devices are notified. */
export class Live implements Rule {
  readonly ops = ['publish', 'event'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;
  private readonly publishes: Publishes;
  /** By the name of an event that a publish has sent, then by user. */
  private readonly had = new Map<string, Map<string, Had>>();

  constructor(recording: Recording, findings: Findings, publishes: Publishes) {
    this.recording = recording;
    this.findings = findings;
    this.publishes = publishes;
  }

  see(line: LineOf<'publish'> | LineOf<'event'>): void {
    if (line.op === 'publish') {
      if (line.live !== undefined && !this.had.has(line.live)) this.had.set(line.live, new Map());
      return;
    }
    const users = this.had.get(line.e);
    if (users === undefined) return;
    const client = this.recording.clients.get(line.c);
    if (client?.user === undefined || client.connection === undefined) return;
    if (!users.has(client.user)) {
      users.set(client.user, { t: line.t, connection: client.connection });
    }
  }

  end(): void {
    for (const publish of this.publishes.all.values()) {
      const { live, devices } = publish.sent;
      if (live === undefined || publish.acceptedAt + this.recording.header.T > this.recording.t) {
        continue;
      }
      const byUser = Map.groupBy(Object.entries(devices), ([, user]) => user);
      for (const [user, owned] of byUser) {
        const names = owned.map(([device]) => device);
        if (user !== null) this.check(publish, user, names);
      }
    }
  }

  private check(
    { sent, notified, explained }: Published,
    user: string,
    devices: readonly string[],
  ): void {
    this.findings.checked('live');
    const { p, live = '' } = sent;
    const had = this.had.get(live)?.get(user);
    const notifications = devices.flatMap((device) => notified.get(device) ?? []);
    const [first] = notifications;
    if (had === undefined) {
      // A device without a notification has a reason, unless the reason is that its user had the event.
      const hasReason = devices.some(
        (device) => explained.has(device) && explained.get(device) !== 'live-reached',
      );
      if (first !== undefined || hasReason) return;
      this.report(
        sent.t,
        live,
        `user ${user} neither received event ${live} of ${p}, sent at ${seconds(sent.t)}, nor was one of their devices notified`,
      );
      return;
    }
    if (first === undefined || had.connection.closedAt < first.t) return;
    if (had.t > sent.t + this.recording.header.T) return;
    if (this.recording.faults.any(BOTH, sent.t, first.t)) return;
    this.report(
      first.t,
      live,
      `user ${user} received event ${live} of ${p} at ${seconds(had.t)}, and device ${first.d} was notified at ${seconds(first.t)} all the same`,
    );
  }

  private report(t: number, event: string, text: string): void {
    const events = event === '' ? [] : [event];
    this.findings.broken({ rule: 'live', channel: '', client: null, events, t, text });
  }
}
