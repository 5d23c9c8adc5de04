import { askPush } from '../../testing/clients/push-requests.ts';
import { clientFrame, WS_PING } from '../../testing/clients/raw-client.ts';
import { APP, type Fanfare } from '../../testing/servers/fanfare.ts';
import { type LiveClient, userConnects } from '../protocol/push/publishes/live-users.ts';
import { DeliverySite, type SiteOptions } from './push-delivery-site.ts';

/** Users of an app with a device each: some answer in the app, some are silent there, the others have no connection. */

const ANSWERING = ['ann', 'ben', 'cid'];
const SILENT = ['dan', 'eve'];
const ABSENT = ['fay', 'gus', 'hal'];
const USERS = [...ANSWERING, ...SILENT, ...ABSENT];

const EVENT = 'note';

interface LiveStatus {
  readonly state: string;
  readonly live: { readonly state: string; readonly reached: number };
}

export class LiveCrowd implements AsyncDisposable {
  readonly site: DeliverySite;
  /** Ids of accepted publishes, by what tells them apart. */
  readonly accepted = new Map<string, string>();
  /** Called with everything that happens. */
  happened: () => void = () => undefined;
  private readonly heard = new Set<string>();
  private readonly pushed = new Set<string>();
  private readonly userOf = new Map<string, string>();
  private clients: LiveClient[] = [];
  private markers = 0;

  private constructor(site: DeliverySite) {
    this.site = site;
  }

  static async start(options: Partial<SiteOptions> = {}): Promise<LiveCrowd> {
    const site = await DeliverySite.start({
      crowds: [{ apns: USERS.length }],
      areTrusted: true,
      instanceSettings: { app: APP.id },
      ...options,
    });
    const crowd = new LiveCrowd(site);
    const { requests, devices } = site.instance(0);
    for (const [n, device] of devices.apns.entries()) {
      const user = USERS[n] ?? '';
      crowd.userOf.set(device.address, user);
      const { status } = await askPush(site.server, requests.setUser(device.id, user));
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
    for (const [n, user] of [...ANSWERING, ...SILENT].entries()) {
      const server = servers[n % servers.length] ?? this.site.server;
      const client = await userConnects(server, user);
      this.clients.push(client);
      client.handsOver((text) => {
        const { event, data } = JSON.parse(text);
        if (event === EVENT) this.heard.add(`${data} ${user}`);
        if (event === WS_PING && ANSWERING.includes(user)) client.writeBytes(clientFrame(10, data));
        this.happened();
      });
    }
  }

  /** Publishes at once, as often as said. What a dead server has not answered is not known to be accepted. */
  async publish(count: number, server = this.site.server): Promise<void> {
    const { requests } = this.site.instance(0);
    const publishOne = async () => {
      const marker = `note-${this.markers++}`;
      const live = { event: EVENT, data: marker, waitSeconds: 1 };
      const body = { users: USERS, live, apns: { aps: { alert: marker } } };
      try {
        const { status, json } = await askPush(server, requests.publish(body));
        if (status === 200) this.accepted.set(marker, String(json['publishId']));
      } catch {
        // The server is dead.
      }
      this.happened();
    };
    await Promise.all(Array.from({ length: count }, publishOne));
  }

  /**
   * Waits for the end of all accepted publishes, and says which users have got them neither in the app nor by push, and
   * which publishes were pushed to others than those who were not reached, although the server knew.
   */
  async faults(server = this.site.server): Promise<readonly string[]> {
    const instance = this.site.instance(0);
    const faults: string[] = [];
    for (const [marker, id] of this.accepted) {
      const status = (await this.site.becomes(
        instance,
        id,
        ({ state }) => state === 'finished',
        server,
      )) as unknown as LiveStatus;
      const pushed = USERS.filter((user) => this.pushed.has(`${marker} ${user}`));
      const neither = USERS.filter(
        (user) => !pushed.includes(user) && !this.heard.has(`${marker} ${user}`),
      );
      if (neither.length > 0) faults.push(`${marker} has not reached ${neither.join()}`);
      const { state, reached } = status.live;
      const due = state === 'done' ? USERS.length - reached : USERS.length;
      if (pushed.length !== due) {
        faults.push(`${marker} is ${state} with ${reached} reached, and was pushed to ${pushed}`);
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
