import { readServerMessage } from '../../../src/doctor/client/client-messages.ts';
import type { FaultKind } from '../../../src/verify/history/line.ts';
import { requestPush } from '../../../testing/clients/push-requests.ts';
import { clientFrame, WS_PING } from '../../../testing/clients/raw-client.ts';
import { APP, type Fanfare } from '../../../testing/servers/fanfare.ts';
import { NotedClient } from '../../../testing/verify/noted-client.ts';
import { TestHistory } from '../../../testing/verify/test-history.ts';
import { type LiveClient, userConnects } from '../../protocol/push/publishes/live-users.ts';
import { DeliverySite, type SiteDevice, type SiteOptions } from './delivery-site.ts';

/** Users of an app with a device each: some answer in the app, some are silent there, the others have no connection. */

export interface CrowdSize {
  readonly answering: number;
  readonly silent: number;
  readonly absent: number;
}

const FEW: CrowdSize = { answering: 3, silent: 2, absent: 3 };

/** The most users of one publish. */
const USERS_OF_PUBLISH = 1_000;

const EVENT = 'note';
const CONFIRMED = 'pusher_internal:subscription_succeeded';

/** The code of a connection that ended without one. */
const CUT = 1006;

/** Why a device is not notified. */
const REACHED = 'live-reached';

const channelOf = (user: string) => `#server-to-user-${user}`;

interface LiveStatus {
  readonly state: string;
  readonly live: {
    readonly state: string;
    readonly reached: number;
    readonly silent: number;
    readonly absent: number;
  };
}

export class LiveCrowd implements AsyncDisposable {
  readonly site: DeliverySite;
  /** Accepted publishes, by what tells them apart. */
  readonly accepted = new Map<string, { readonly id: string; readonly users: readonly string[] }>();
  /** Called with everything that happens. */
  happened: () => void = () => undefined;
  /** Lets a user who has got a publish in the app answer. */
  mayAnswer: (answer: () => void) => void = (answer) => answer();
  /** How long publishes wait for the answers. */
  waitSeconds = 1;
  private history = new TestHistory();
  /** The history of each publish. One that a dead server did not answer may be pushed when the next history has begun. */
  private readonly historyOf = new Map<string, TestHistory>();
  private readonly notified = new Set<string>();
  private readonly deviceOf = new Map<string, SiteDevice>();
  private clients: LiveClient[] = [];
  private markers = 0;

  private readonly answering: readonly string[];
  private readonly silent: readonly string[];
  private readonly users: readonly string[];

  private constructor(site: DeliverySite, { answering, silent, absent }: CrowdSize) {
    this.site = site;
    const named = (what: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${what}-${n}`);
    this.answering = named('answers', answering);
    this.silent = named('silent', silent);
    this.users = [...this.answering, ...this.silent, ...named('absent', absent)];
  }

  static async start(
    options: Partial<SiteOptions> = {},
    size: CrowdSize = FEW,
  ): Promise<LiveCrowd> {
    const site = await DeliverySite.start({
      crowds: [{ apns: size.answering + size.silent + size.absent }],
      areTrusted: true,
      instanceSettings: { app: APP.id },
      ...options,
    });
    const crowd = new LiveCrowd(site, size);
    const { requests, devices } = site.instance(0);
    for (const [n, device] of devices.apns.entries()) {
      const user = crowd.users[n] ?? '';
      crowd.deviceOf.set(user, device);
      const { status } = await requestPush(site.server, requests.setUser(device.id, user));
      if (status !== 200) throw new Error(`The user was refused: ${status}`);
    }
    site.apns.arrivals.listen(({ token, payload }) => {
      const { alert } = JSON.parse(payload).aps;
      crowd.notified.add(`${alert} ${token}`);
      crowd.historyOf.get(alert)?.add('notified', { p: alert, d: token, result: 'accepted' });
      crowd.happened();
    });
    return crowd;
  }

  /** Connects the users who have connections, to these servers in turn. A new history begins. */
  async connect(servers: readonly Fanfare[] = [this.site.server]): Promise<void> {
    for (const client of this.clients.splice(0)) await client[Symbol.asyncDispose]();
    this.history = new TestHistory();
    for (const [n, user] of [...this.answering, ...this.silent].entries()) {
      const server = servers[n % servers.length] ?? this.site.server;
      const client = await userConnects(server, user);
      this.clients.push(client);
      // Who does not answer has not seen it.
      const noted = n < this.answering.length ? this.note(client, user) : undefined;
      client.handOver((text) => {
        const { event, data } = JSON.parse(text);
        const message = readServerMessage(text);
        if (message !== undefined) noted?.hears(message, event === EVENT ? data : undefined);
        if (event === WS_PING && noted !== undefined) {
          this.mayAnswer(() => client.writeBytes(clientFrame(10, data)));
        }
        this.happened();
      });
    }
  }

  /** Notes a fault. */
  breaks(what: FaultKind): void {
    this.history.add('fault', { what });
  }

  /** Publishes at once, `count` times, to the users or as many as one publish may have. What a dead server has not answered is not known to be accepted. */
  async publish(count: number, server = this.site.server): Promise<void> {
    const { requests } = this.site.instance(0);
    const parts = Math.ceil(this.users.length / USERS_OF_PUBLISH);
    const publishOne = async (part: number) => {
      const users = this.users.filter((_, n) => n % parts === part);
      const marker = `note-${this.markers++}`;
      const { waitSeconds } = this;
      const live = { event: EVENT, data: marker, waitSeconds };
      const body = { users, live, apns: { aps: { alert: marker } } };
      const { history } = this;
      this.historyOf.set(marker, history);
      const devices = users.map((user) => [this.deviceOf.get(user)?.address ?? '', user]);
      history.add('trigger', { e: marker, ch: users.map(channelOf) });
      history.add('publish', {
        p: marker,
        devices: Object.fromEntries(devices),
        users,
        live: marker,
      });
      try {
        const { status, json } = await requestPush(server, requests.publish(body));
        history.add('published', { p: marker, status });
        if (status === 200) this.accepted.set(marker, { id: String(json['publishId']), users });
      } catch {
        // The server is dead.
      }
      this.happened();
    };
    await Promise.all(Array.from({ length: count * parts }, (_, n) => publishOne(n % parts)));
  }

  /** Waits for the end of all accepted publishes. */
  async untilEnd(server = this.site.server): Promise<readonly LiveStatus[]> {
    return await Promise.all(this.accepted.values().map(({ id }) => this.end(id, server)));
  }

  private async end(id: string, server: Fanfare): Promise<LiveStatus> {
    const isOver = ({ state }: { readonly state: string }) => state === 'finished';
    const { site } = this;
    return (await site.becomes(site.instance(0), id, isOver, server)) as unknown as LiveStatus;
  }

  /** Waits for the end of all accepted publishes, and returns what was not as promised. */
  async problems(server = this.site.server): Promise<readonly string[]> {
    const { site, history } = this;
    await this.untilEnd(server);
    for (const [p, { id, users }] of this.accepted) {
      for (const user of users) {
        const device = this.deviceOf.get(user);
        if (device === undefined || this.notified.has(`${p} ${device.address}`)) continue;
        const events = await site.explain(site.instance(0), id, { device, server });
        const isReached = events.some((event) => 'what' in event && event.what === REACHED);
        if (isReached) history.add('explained', { p, d: device.address, state: REACHED });
      }
    }
    this.accepted.clear();
    await history.compare();
    return history.problems('pushes', 'live');
  }

  private note(client: LiveClient, user: string): NotedClient {
    const noted = new NotedClient(this.history, this.history.nextNumber());
    const channel = channelOf(user);
    noted.opened(client.socketId);
    noted.subscribes(channel, user);
    // It was confirmed before.
    noted.hears({ event: CONFIRMED, channel, data: {} }, undefined);
    void client.closed.then(({ code }) => noted.closed(code ?? CUT));
    return noted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) await client[Symbol.asyncDispose]();
    await this.site[Symbol.asyncDispose]();
  }
}
