import { join } from 'node:path';
import { RedisClient } from 'bun';
import { PARTITIONS } from '../../src/engines/partition.ts';
import type { CrowdClient } from '../../src/verify/crowd/crowd-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { startAgain } from '../../testing/servers/restart.ts';
import { appAt, type TestApp } from '../../testing/servers/test-app.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';
import { type Cluster, ROOM, startCluster } from '../cluster/cluster.ts';
import type { ReleaseSource } from '../faults/releases.ts';

export const COUNTED = 'prices';
const KEPT = 'kept-news';
const TALK = 'private-talk';
const CHANNELS = [ROOM, COUNTED, KEPT, TALK];

/** At each server; and one more that comes and goes. */
export const STAYING = 2;
const EVENTS_PAUSE_MS = 100;
/** Client events have a rate. */
const EVENTS_PER_WHISPER = 4;

export type Version = 'released' | 'present';

interface SiteParts {
  readonly cluster: Cluster;
  readonly endpoint: WebhookEndpoint;
  readonly release: ReleaseSource;
}

/** Servers of two versions over one Redis and one store, of which each is stopped and started again, and their clients. */
export class Site implements AsyncDisposable {
  readonly history: TestHistory;
  readonly servers: Fanfare[] = [];
  readonly endpoint: WebhookEndpoint;
  private readonly cluster: Cluster;
  private readonly release: ReleaseSource;
  private readonly parts: AsyncDisposableStack;
  private readonly staying: CrowdClient[][] = [];
  private readonly guests: CrowdClient[] = [];
  private events = 0;

  private constructor({ cluster, endpoint, release }: SiteParts, parts: AsyncDisposableStack) {
    this.cluster = cluster;
    this.parts = parts;
    this.endpoint = endpoint;
    this.release = release;
    this.history = parts.use(new TestHistory({ kept: [KEPT] }));
  }

  /** Opens it without servers. */
  static async open(release: ReleaseSource): Promise<Site> {
    await using parts = new AsyncDisposableStack();
    const endpoint = parts.use(startWebhookEndpoint());
    const cluster = parts.use(
      await startCluster(0, {
        app: {
          clientEvents: true,
          subscriptionCounts: true,
          watchlists: true,
          history: [{ channels: 'kept-*', seconds: 300, events: 1000 }],
          webhooks: [{ url: endpoint.url, events: ['member_added', 'member_removed'] }],
          // Otherwise several changes of one user are sent as the last one.
          limits: { memberChangesPerSecond: 0 },
        },
      }),
    );
    return new Site({ cluster, endpoint, release }, parts.move());
  }

  /** Adds a server, and connects clients to it. */
  async add(version: Version): Promise<void> {
    this.servers.push(await this.cluster.add(this.programOf(version)));
    const { port } = this.server(this.servers.length - 1);
    const at = this.staying.length;
    const enter = (user: string) =>
      this.history.connect(port, { channels: CHANNELS, resumes: [KEPT], user, whispers: TALK });
    this.staying.push(Array.from({ length: STAYING }, (_, n) => enter(nameOf(at, n))));
    this.guests.push(enter(`guest-${at}`));
    await this.history.allAreThere();
  }

  async kill(at: number): Promise<void> {
    this.history.add('fault', { what: 'kill', on: `server ${at + 1}` });
    await this.server(at).stop('SIGKILL');
  }

  /** Starts a server in the place of one that has ended. */
  async start(at: number, version: Version): Promise<void> {
    const program = this.programOf(version);
    const started = await startAgain(this.server(at), {
      spawn: (args, directory, environment) => spawnFanfare(args, directory, environment, program),
    });
    this.servers[at] = this.parts.use(started);
  }

  server(at: number): Fanfare {
    const server = this.servers[at];
    if (server === undefined) throw new Error(`There is no server ${at}`);
    return server;
  }

  app(at: number): TestApp {
    return appAt(this.server(at));
  }

  /** Triggers events, sends client events and lets a guest come and go at these servers, until the function it returns is called. */
  load(...at: readonly number[]): () => Promise<void> {
    let isOver = false;
    const work = at.map(async (server) => {
      const backend = this.history.backend(this.server(server).port);
      const guest = this.guests[server];
      for (let n = 0; !isOver; n++) {
        if (n % 2 === 0) guest?.leave(ROOM);
        const e = `event-${++this.events}`;
        await backend.trigger({ e, channels: [ROOM, COUNTED, KEPT] });
        if (n % EVENTS_PER_WHISPER === 0) this.staying[server]?.[0]?.whisper(`whisper-${e}`);
        guest?.enter(ROOM);
        await Bun.sleep(EVENTS_PAUSE_MS);
      }
    });
    return async () => {
      isOver = true;
      await Promise.all(work);
    };
  }

  /** Triggers that many events at a server. */
  async trigger(at: number, events: number): Promise<void> {
    const backend = this.history.backend(this.server(at).port);
    for (let n = 0; n < events; n++) {
      await backend.trigger({ e: `event-${++this.events}`, channels: [ROOM, COUNTED, KEPT] });
    }
  }

  /** Cuts a server off from Redis while something happens. */
  async cutOff(at: number, work: () => Promise<void>): Promise<void> {
    const proxy = this.cluster.proxies[at];
    if (proxy === undefined) throw new Error(`Server ${at} has no proxy`);
    proxy.doesRefuse = true;
    proxy.cut();
    await work();
    proxy.doesRefuse = false;
  }

  /** The connections of those who stay. */
  get sockets(): readonly (string | undefined)[] {
    return this.staying.flat().map(({ socket }) => socket);
  }

  /** Settles when all partitions have been told that a server of another release reads what was missed. */
  async areKnownToEachOther(): Promise<void> {
    using redis = Object.assign(new RedisClient(this.cluster.redis.url), {
      [Symbol.dispose]() {
        redis.close();
      },
    });
    await eventually(
      async () => (await redis.send('KEYS', ['*GO'])) as readonly string[],
      ({ length }) => length === PARTITIONS,
    );
  }

  /** Waits until all is right that comes from these servers. */
  async settle(): Promise<void> {
    const backend = this.history.backend(...this.servers.map(({ port }) => port));
    await this.history.settle(backend, ...CHANNELS);
    for (const _ of this.servers) await backend.askUsers(ROOM);
  }

  /** What webhooks have reported of those who stay at a server. */
  reported(at: number): readonly string[] {
    const events = this.endpoint.bodies.flatMap((body) => JSON.parse(body).events);
    return (this.staying[at] ?? []).map((_, n) => {
      const own = events.filter((event) => event.user_id === nameOf(at, n));
      const added = own.filter(({ name }) => name === 'member_added').length;
      return `${added} times there, ${own.length - added} times gone`;
    });
  }

  /** What a server of a version runs in place of the program under test. */
  private programOf(version: Version): { readonly program?: string } {
    return version === 'present' ? {} : { program: join(this.release.folder, 'src/main.ts') };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.parts.disposeAsync();
  }
}

const nameOf = (at: number, n: number) => `staying-${at}-${n}`;
