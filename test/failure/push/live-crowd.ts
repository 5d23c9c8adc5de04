import { requestPush } from '../../../testing/clients/push-requests.ts';
import { clientFrame, WS_PING } from '../../../testing/clients/raw-client.ts';
import { APP, type Fanfare } from '../../../testing/servers/fanfare.ts';
import { type LiveClient, userConnects } from '../../protocol/push/publishes/live-users.ts';
import { DeliverySite, type SiteOptions } from './delivery-site.ts';

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
  private readonly received = new Set<string>();
  private readonly pushed = new Set<string>();
  private readonly userOf = new Map<string, string>();
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
      crowd.userOf.set(device.address, user);
      const { status } = await requestPush(site.server, requests.setUser(device.id, user));
      if (status !== 200) throw new Error(`The user was refused: ${status}`);
    }
    site.apns.arrivals.listen(({ token, payload }) => {
      const { alert } = JSON.parse(payload).aps;
      crowd.pushed.add(`${alert} ${crowd.userOf.get(token)}`);
      crowd.happened();
    });
    return crowd;
  }

  /** Connects the users who have connections, to these servers in turn. */
  async connect(servers: readonly Fanfare[] = [this.site.server]): Promise<void> {
    for (const client of this.clients.splice(0)) await client[Symbol.asyncDispose]();
    for (const [n, user] of [...this.answering, ...this.silent].entries()) {
      const server = servers[n % servers.length] ?? this.site.server;
      const client = await userConnects(server, user);
      this.clients.push(client);
      client.handOver((text) => {
        const { event, data } = JSON.parse(text);
        if (event === EVENT) this.received.add(`${data} ${user}`);
        const answers = n < this.answering.length;
        if (event === WS_PING && answers) client.writeBytes(clientFrame(10, data));
        this.happened();
      });
    }
  }

  /** Publishes at once, `count` times, to the users or as many as one publish may have. What a dead server has not answered is not known to be accepted. */
  async publish(count: number, server = this.site.server): Promise<void> {
    const { requests } = this.site.instance(0);
    const parts = Math.ceil(this.users.length / USERS_OF_PUBLISH);
    const publishOne = async (part: number) => {
      const users = this.users.filter((_, n) => n % parts === part);
      const marker = `note-${this.markers++}`;
      const live = { event: EVENT, data: marker, waitSeconds: 1 };
      const body = { users, live, apns: { aps: { alert: marker } } };
      try {
        const { status, json } = await requestPush(server, requests.publish(body));
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

  /**
   * Waits for the end of all accepted publishes, and returns which users have got them neither in the app nor by push, and
   * which publishes were pushed to others than those who were not reached, although the server knew.
   */
  async faults(server = this.site.server): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const [marker, { id, users }] of this.accepted) {
      const status = await this.end(id, server);
      const pushed = users.filter((user) => this.pushed.has(`${marker} ${user}`));
      const neither = users.filter(
        (user) => !pushed.includes(user) && !this.received.has(`${marker} ${user}`),
      );
      if (neither.length > 0) faults.push(`${marker} has not reached ${neither.join()}`);
      const { state, reached } = status.live;
      const due = state === 'done' ? users.length - reached : users.length;
      if (pushed.length !== due) {
        faults.push(
          `${marker} is ${state} with ${reached} reached, and was pushed to ${pushed.length}`,
        );
      }
    }
    this.accepted.clear();
    return faults;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) await client[Symbol.asyncDispose]();
    await this.site[Symbol.asyncDispose]();
  }
}
