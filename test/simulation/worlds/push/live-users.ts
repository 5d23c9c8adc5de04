import type { LivePublish } from '../../../../src/push/live/live-stage.ts';
import type { LiveResult, LiveUserResult } from '../../../../src/push/model/live.ts';
import type { Random } from '../../../../testing/random.ts';
import type { RecordedHistory } from '../recorded-history.ts';
import type { WorldTime } from '../world-time.ts';

/** The longest time until an event reaches a connection, and again until its answer is back. */
const LINK_MS = 200;

/** How often an app cannot be asked at all. */
const SKIPPED = 0.05;

/** How often a user counts as reached who is not, or the other way round, where that is planted. */
const SABOTAGED = 0.5;

/** How long after the start of the only server the first user is back, and each of the others after that. */
const BACK_MS = 300;

/** A user with the app open. */
interface Client {
  readonly number: number;
  readonly user: string;
  connections: number;
  isConnected: boolean;
  /** Waits for the only server. */
  isWaiting: boolean;
  /** Events come in their order. */
  latestMs: number;
}

export interface LiveUsersOptions {
  readonly time: WorldTime;
  readonly random: Random;
  readonly history: RecordedHistory;
  readonly users: readonly string[];
  readonly sabotage: string | undefined;
}

/** The app, with a connection for some of its users, as publishes with a live part see it. */
export class LiveUsers {
  private readonly options: LiveUsersOptions;
  private readonly clients: readonly Client[];
  private events = 0;
  private hasServer = true;

  constructor(options: LiveUsersOptions) {
    this.options = options;
    this.clients = options.users.map((user, number) => ({
      number,
      user,
      connections: 0,
      isConnected: false,
      isWaiting: false,
      latestMs: 0,
    }));
  }

  /** The name of the next event. */
  nextEvent(): string {
    this.events += 1;
    return `event-${this.events}`;
  }

  /** A user opens the app, or closes it. */
  change(): void {
    const client = this.options.random.pick(this.clients);
    if (client.isConnected) this.cut(client);
    else if (this.hasServer && !client.isWaiting) this.connect(client);
    else client.isWaiting = !client.isWaiting;
  }

  /** The only server has died, and all connections have ended with it. */
  serverDied(): void {
    this.hasServer = false;
    for (const client of this.clients) {
      if (!client.isConnected) continue;
      this.cut(client);
      client.isWaiting = true;
    }
  }

  serverStarted(): void {
    this.hasServer = true;
    for (const client of this.clients) {
      this.options.time.after(BACK_MS * (client.number + 1), () => {
        if (!this.hasServer || !client.isWaiting) return;
        client.isWaiting = false;
        this.connect(client);
      });
    }
  }

  /** Sends the event of a publish, and settles with what the users have answered. */
  async ask({ live, userIds }: LivePublish): Promise<LiveResult> {
    const { random, history, time } = this.options;
    if (random.chance(SKIPPED)) return { skipped: 'engine-away' };
    const asked = this.clients.filter(({ user }) => userIds.includes(user));
    const e = live.data;
    history.say('trigger', { e, ch: asked.map(channelOf) });
    history.say('answer', { e, status: 200 });
    const deadline = Promise.withResolvers<undefined>();
    time.after(live.waitSeconds * 1000, () => deadline.resolve(undefined));
    const users = await Promise.all(
      asked.map(async (client) => await this.askOne(client, e, deadline.promise)),
    );
    return { users };
  }

  private async askOne(
    client: Client,
    e: string,
    deadline: Promise<undefined>,
  ): Promise<LiveUserResult> {
    const { sabotage, random, time } = this.options;
    const { user: userId, isConnected } = client;
    const result = (state: LiveUserResult['state'], answeredAfterMs?: number) => ({
      userId,
      state,
      connections: state === 'absent' ? 0 : 1,
      answeredAfterMs,
    });
    if (sabotage === 'neither' && random.chance(SABOTAGED)) return result('reached', 1);
    if (!isConnected) return result('absent');
    const sentAtMs = time.now();
    const answer = await Promise.race([this.send(client, e), deadline]);
    if (answer === undefined || sabotage === 'both') return result('silent');
    return result('reached', answer - sentAtMs);
  }

  /** Settles with the time of the answer; never, if none comes. */
  private async send(client: Client, e: string): Promise<number> {
    const { random, time, history } = this.options;
    const { connections: n, number: c } = client;
    const roll = random.next();
    // Its link was dead already.
    if (roll < 0.2) this.cut(client);
    client.latestMs = Math.max(client.latestMs, time.now() + random.between(1, LINK_MS));
    const pause = (untilMs: number) =>
      new Promise<void>((resolve) => time.after(untilMs - time.now(), resolve));
    const isThere = () => client.isConnected && client.connections === n;
    await pause(client.latestMs);
    if (!isThere()) return await new Promise(() => undefined);
    history.say('event', { c, n, ch: channelOf(client), e });
    // The link is cut before the answer is back.
    if (roll < 0.35) this.cut(client);
    await pause(time.now() + random.between(1, LINK_MS));
    return isThere() ? time.now() : await new Promise(() => undefined);
  }

  private connect(client: Client): void {
    const { history } = this.options;
    client.connections += 1;
    client.isConnected = true;
    const of = { c: client.number, n: client.connections };
    history.say('open', { ...of, socket: `${of.c}.${of.n}` });
    history.say('subscribe', { ...of, ch: channelOf(client), user: client.user });
    history.say('subscribed', { ...of, ch: channelOf(client) });
  }

  private cut(client: Client): void {
    client.isConnected = false;
    this.options.history.say('close', { c: client.number, n: client.connections, code: 1006 });
  }
}

function channelOf({ user }: Client): string {
  return `#server-to-user-${user}`;
}
