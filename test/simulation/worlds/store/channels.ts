import type {
  AppWebhookEvent,
  WebhookEvent,
} from '../../../../src/channels/lifecycle/webhook-event.ts';
import type { Random } from '../../../../testing/random.ts';
import type { RecordedHistory } from '../recorded-history.ts';
import type { WorldTime } from '../world-time.ts';

/** An absence that is shorter is not reported. */
const REPORTED_MS = 3_000;

/** Clients of the app's users have smaller numbers. */
const FIRST_CLIENT = 100;

const rooms = ['presence-a', 'presence-b'] as const;
const members = ['eve', 'fay', 'gil'] as const;

/** How long a client waits before it connects again. */
const RECONNECT_MS = 700;

interface Member {
  readonly c: number;
  readonly ch: string;
  readonly user: string;
  n: number;
  isConnected: boolean;
  /** Whether it wants to be connected. */
  wants: boolean;
}

type Report = (events: readonly AppWebhookEvent[], stored: (id: string) => void) => void;

export interface SimulatedChannelsOptions {
  readonly time: WorldTime;
  readonly random: Random;
  readonly history: RecordedHistory;
  /** Passes events to the webhooks of the server, which says which it has stored. `undefined`: there is no server. */
  readonly server: () => Report | undefined;
}

/**
 * Users who come to channels and go, and what a server makes of it. When it dies, the next one reports what was not stored, and the departures
 * that were to be reported, as with Redis. It knows of nobody else.
 */
export class SimulatedChannels {
  private readonly options: SimulatedChannelsOptions;
  private readonly members: readonly Member[] = rooms.flatMap((ch, room) =>
    members.map((user, place) => ({
      c: FIRST_CLIENT + room * members.length + place,
      ch,
      user,
      n: 0,
      isConnected: false,
      wants: false,
    })),
  );
  /** Those whom the server has reported. */
  private readonly reported = new Set<Member>();
  /** Events that the server may not have stored, by id. */
  private readonly unsettled = new Map<string, AppWebhookEvent>();
  private events = 0;

  constructor(options: SimulatedChannelsOptions) {
    this.options = options;
  }

  /** Somebody comes, or goes. */
  change(): void {
    const member = this.options.random.pick(this.members);
    member.wants = !member.wants;
    if (member.wants) this.connect(member);
    else if (member.isConnected) this.leave(member);
  }

  /** All connections end with the server. */
  serverDied(): void {
    for (const member of this.members) {
      if (!member.isConnected) continue;
      this.reported.delete(member);
      this.close(member);
      this.connectLater(member);
    }
    // Who is connected no more will be reported again when back.
    for (const [id, { event }] of this.unsettled) {
      const { name, channel } = event;
      const isAdded = name === 'member_added' && !this.isReported(channel, event.user_id);
      if (isAdded || (name === 'channel_occupied' && this.isEmpty(channel))) {
        this.unsettled.delete(id);
      }
    }
  }

  serverStarted(): void {
    this.pass([...this.unsettled.values()]);
  }

  private connect(member: Member): void {
    const { history, server } = this.options;
    if (!member.wants || member.isConnected) return;
    if (server() === undefined) return this.connectLater(member);
    const { c, ch, user } = member;
    member.n += 1;
    member.isConnected = true;
    const of = { c, n: member.n };
    history.say('open', { ...of, socket: `${c}.${of.n}` });
    history.say('subscribe', { ...of, ch, user });
    history.say('subscribed', { ...of, ch });
    const isFirst = this.isEmpty(ch);
    if (this.reported.has(member)) return;
    this.reported.add(member);
    if (isFirst) this.report({ name: 'channel_occupied', channel: ch });
    this.report({ name: 'member_added', channel: ch, user_id: user });
  }

  private connectLater(member: Member): void {
    const { time, random } = this.options;
    time.after(RECONNECT_MS + random.between(1, RECONNECT_MS), () => this.connect(member));
  }

  private leave(member: Member): void {
    this.close(member);
    const { n } = member;
    this.options.time.after(REPORTED_MS, () => this.end(member, n));
  }

  /** Reports that a member is gone since connection `n`. */
  private end(member: Member, n: number): void {
    const { ch, user } = member;
    if (member.n !== n || !this.reported.has(member)) return;
    this.reported.delete(member);
    this.report({ name: 'member_removed', channel: ch, user_id: user });
    if (this.isEmpty(ch)) this.report({ name: 'channel_vacated', channel: ch });
  }

  private close(member: Member): void {
    member.isConnected = false;
    this.options.history.say('close', { c: member.c, n: member.n, code: 1006 });
  }

  private isReported(channel: string, user: string): boolean {
    return [...this.reported].some((member) => member.ch === channel && member.user === user);
  }

  private isEmpty(channel: string): boolean {
    return ![...this.reported].some(({ ch }) => ch === channel);
  }

  private report(event: WebhookEvent): void {
    this.events += 1;
    const id = `event-${this.events}`;
    const whole = { id, appId: 'app', event, atMs: this.options.time.now() };
    this.unsettled.set(id, whole);
    this.pass([whole]);
  }

  private pass(events: readonly AppWebhookEvent[]): void {
    this.options.server()?.(events, (id) => this.unsettled.delete(id));
  }
}
