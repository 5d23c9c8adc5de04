import type { LineOf } from '../../history/line.ts';
import type { Channel } from '../model.ts';
import { REPORTED_MS, type Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

type Webhook = LineOf<'webhook'>;

/** The two events that alternate, of users and of whole channels. */
const pairs = [
  { begin: 'member_added', end: 'member_removed', ofUser: true },
  { begin: 'channel_occupied', end: 'channel_vacated', ofUser: false },
] as const;

type Pair = (typeof pairs)[number];

/** How long nothing must have changed before the last webhook must be true. Milliseconds. */
const CALM_MS = 10_000;

/** Each stay longer than 3 s is reported, each once, and in the end what was reported last is true. */
export class Webhooks implements Rule {
  readonly ops = ['webhook', 'calm'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;
  /** Without those that were sent again. By pair and channel, then by user. */
  private readonly events = new Map<string, Map<string, Webhook[]>>();
  private readonly requests = new Set<string>();
  private current: string | undefined;
  private isRepeated = false;
  /** The last moment when all webhooks must have come. */
  private calmAt = -1;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(line: Webhook | LineOf<'calm'>): void {
    if (line.op === 'calm') {
      const { changedAt, faults } = this.recording;
      const isCalm = line.t - changedAt >= CALM_MS && faults.haveWebhooksSettled(line.t);
      if (isCalm) this.calmAt = line.t;
      return;
    }
    const request = `${line.request} ${line.t}`;
    if (request !== this.current) {
      this.current = request;
      this.isRepeated = this.requests.has(line.request);
      this.requests.add(line.request);
    }
    if (this.isRepeated) return;
    const pair = pairs.find(({ begin, end }) => line.name === begin || line.name === end);
    if (pair === undefined) return;
    const users = this.of(pair, line.ch);
    const user = pair.ofUser ? (line.user ?? '') : '';
    const events = users.get(user) ?? [];
    users.set(user, events);
    events.push(line);
  }

  end(): void {
    const { header, channels } = this.recording;
    const isTried = (pair: Pair) =>
      [...this.events.keys()].some((key) => key.startsWith(pair.begin));
    const tried = pairs.filter(isTried);
    if (tried.length === 0 && header.webhooks && this.calmAt >= 0) {
      this.findings.checked('webhooks');
      this.report('', this.calmAt, 'no webhook of these channels came');
    }
    for (const pair of tried) {
      for (const channel of channels.values()) {
        const users = this.of(pair, channel.name);
        const names = pair.ofUser
          ? new Set([...users.keys(), ...channel.stays.keys()].filter((user) => user !== ''))
          : [''];
        for (const user of names) this.check(pair, channel, user, users.get(user) ?? []);
      }
    }
  }

  private of({ begin }: Pair, channel: string): Map<string, Webhook[]> {
    const key = `${begin} ${channel}`;
    const users = this.events.get(key) ?? new Map<string, Webhook[]>();
    this.events.set(key, users);
    return users;
  }

  private check({ begin, end }: Pair, channel: Channel, user: string, events: Webhook[]): void {
    const about = user === '' ? channel.name : `${user} in ${channel.name}`;
    // Requests may arrive in any order.
    const ordered = events.toSorted((a, b) => a.time - b.time);
    let before: Webhook | undefined;
    for (const event of ordered) {
      this.findings.checked('webhooks');
      if (event.name === (before?.name ?? end)) {
        const times =
          before === undefined
            ? `at ${seconds(event.t)} first`
            : `twice, ${seconds(before.t)} and ${seconds(event.t)}`;
        this.report(channel.name, event.t, `${event.name} of ${about} came ${times}`, [
          before?.t ?? event.t,
          event.t,
        ]);
      }
      before = event;
    }
    if (this.calmAt < this.recording.changedAt) return;
    const stays = channel.stays.get(user) ?? [];
    this.findings.checked('webhooks');
    const isThere = stays.at(-1)?.until === Number.POSITIVE_INFINITY;
    const isReported = ordered.at(-1)?.name === begin;
    if (isThere !== isReported) {
      const changedAt = (isThere ? stays.at(-1)?.from : stays.at(-1)?.until) ?? 0;
      const last = ordered.at(-1)?.name ?? 'nothing';
      this.report(
        channel.name,
        this.calmAt,
        `${last} of ${about} is the last webhook, but since ${seconds(changedAt)} it is ${isThere ? 'there' : 'gone'}`,
        [changedAt, changedAt],
      );
      return;
    }
    const long = stays.filter(({ from, until }) => until - from > REPORTED_MS);
    const reported = ordered.filter(({ name }) => name === begin).length;
    if (reported >= long.length) return;
    this.report(
      channel.name,
      this.calmAt,
      `${begin} of ${about} came ${reported} times, for ${long.length} stays of more than 3 s`,
      [stays[0]?.from ?? 0, this.calmAt],
    );
  }

  /** `from` and `to`: when what is missing may have been lost. */
  private report(channel: string, t: number, text: string, [from, to] = [t, t]): void {
    this.findings.broken(
      { rule: 'webhooks', channel, client: null, events: [], t, text },
      this.recording.faults.excuse('webhooks', from, to),
    );
  }
}
