import type { AppWebhookEvent } from '../../../../src/channels/lifecycle/webhook-event.ts';
import type { Random } from '../../../../testing/random.ts';
import type { Delays } from '../../network/pipe.ts';
import { RedisHost, useRedis } from '../../redis/redis-host.ts';
import type { OldRelease } from '../../servers/old-release.ts';
import { ServerProcess } from '../../servers/server-process.ts';
import { appOf, settingsOfApp } from '../channels/app.ts';
import type { Scene, Servers } from '../channels/play.ts';

/** How long a server is away, or stands still, at most. Milliseconds. */
const AWAY_MS = 10_000;
const PAUSED_MS = 60_000;
/** A loop that only collects garbage. Milliseconds. */
const BUSY_MS = 1_500;
/** How far a clock may be wrong. Milliseconds. */
const CLOCK_MS = 60_000;
/** What a start and a stop may take, and how long after a failed start the next one begins. Milliseconds. */
const STARTS_MS = 1_000;
const STOPS_MS = 6_000;
const RESTARTED_MS = 1_000;
/** How long Redis is silent, away or out of reach, at most. Milliseconds. */
const SILENT_MS = 20_000;
const GONE_MS = 3_000;
const HIDDEN_MS = 30_000;
/** How late an answer of Redis may come. Milliseconds. */
const STALL_MS = 300;

/** One of the servers, over all its lives. */
interface Place {
  readonly number: number;
  server: ServerProcess | undefined;
  clockAheadMs: number;
  lives: number;
}

/** What may happen. Some are more probable. */
const kinds = [
  ...['kill', 'kill', 'stop', 'pause', 'pause', 'busy'],
  ...['redis-silent', 'redis-lost', 'redis-cut', 'redis-cut', 'redis-reply', 'redis-scripts'],
  'redis-hidden',
] as const;
const clockKinds = ['clock', 'clock'] as const;
/** What the latest release has kept its promises in. The rest was mended after it. */
const oldKinds: readonly Kind[] = ['stop', 'stop', 'stop', 'kill', 'busy'];

type Kind = (typeof kinds)[number] | (typeof clockKinds)[number];

interface ClusterOptions {
  readonly losesWebhook: () => boolean;
  /** A release that each start of a server may run in place of the present code. It has one loop. */
  readonly old: OldRelease | undefined;
}

/** Servers that share one or two Redis servers. */
export class ClusterServers implements Servers {
  readonly haveRightClocks: boolean;
  private readonly scene: Scene;
  private readonly losesWebhook: () => boolean;
  private readonly old: OldRelease | undefined;
  private readonly loops: number;
  private readonly places: readonly Place[];
  private readonly redis: ReadonlyMap<number, RedisHost>;
  /** The ids of webhook events. A store keeps each once, whichever server hands it over. */
  private readonly webhookIds = new Set<string>();

  constructor(scene: Scene, { losesWebhook, old }: ClusterOptions) {
    const { kernel, network, conditions } = scene;
    const { random } = kernel;
    this.scene = scene;
    this.losesWebhook = losesWebhook;
    this.old = old;
    const hasThreads = random.chance(0.25) && old === undefined;
    this.loops = hasThreads ? 2 : 1;
    this.haveRightClocks = random.chance(0.6);
    this.places = Array.from({ length: hasThreads ? 2 : random.between(2, 3) }, (_, number) => ({
      number: number + 1,
      server: undefined,
      clockAheadMs: this.haveRightClocks ? 0 : Math.round((random.next() * 2 - 1) * CLOCK_MS),
      lives: 0,
    }));
    const delays: Delays = {
      leastMs: random.pick([0.05, 0.2, 1]),
      spreadMs: random.pick([0.5, 2, 20]),
      stallChance: conditions.stallChance / 10,
      stallMs: STALL_MS,
    };
    const count = random.chance(1 / 8) ? 2 : 1;
    this.redis = new Map(
      Array.from({ length: count }, (_, at) => [
        6379 + at,
        new RedisHost(network, `redis ${at + 1}`, delays),
      ]),
    );
    useRedis(this.redis);
    kernel.trace?.(`${this.places.length} servers of ${this.loops} loops, ${count} Redis`);
  }

  start(): void {
    for (const place of this.places) this.open(place);
  }

  fail(): void {
    const { kernel } = this.scene;
    const { random } = kernel;
    const place = random.pick(this.places);
    const redis = random.pick([...this.redis.values()]);
    const what = random.pick(this.kinds);
    const { server } = place;
    // It is away already.
    if (server === undefined) return;
    kernel.trace?.(`${what} at server ${place.number}`);
    this.happen(what, place, server, redis);
  }

  private get kinds(): readonly Kind[] {
    if (this.old !== undefined) return oldKinds;
    return this.haveRightClocks ? kinds : [...kinds, ...clockKinds];
  }

  private happen(what: Kind, place: Place, server: ServerProcess, redis: RedisHost): void {
    const { scene } = this;
    const { kernel } = scene;
    const { random, nowMs } = kernel;
    switch (what) {
      case 'kill':
        return this.kill(place, server);
      case 'stop':
        return this.stop(place, server);
      case 'busy':
        return server.pauseLoop(nowMs + random.next() * BUSY_MS);
      case 'pause': {
        const untilMs = nowMs + drawMs(random, PAUSED_MS);
        scene.fault('pause', untilMs);
        return server.pause(untilMs);
      }
      case 'clock':
        place.clockAheadMs = Math.round((random.next() * 2 - 1) * CLOCK_MS);
        scene.fault('clock', nowMs);
        return server.setClock(place.clockAheadMs);
      case 'redis-silent': {
        const untilMs = nowMs + drawMs(random, SILENT_MS);
        scene.fault('redis-away', untilMs);
        return redis.pause(untilMs);
      }
      case 'redis-lost': {
        const untilMs = nowMs + drawMs(random, GONE_MS);
        scene.fault('redis-lost', untilMs);
        return redis.lose(untilMs);
      }
      case 'redis-cut':
        scene.fault('redis-away', nowMs);
        return redis.cut(server.contexts);
      case 'redis-reply':
        scene.fault('redis-away', nowMs);
        return redis.loseReply(server.contexts);
      case 'redis-scripts':
        return redis.forgetScripts();
      case 'redis-hidden': {
        const untilMs = nowMs + drawMs(random, HIDDEN_MS);
        scene.fault('cut-off', untilMs);
        return redis.hide(server.contexts, untilMs);
      }
      default:
        what satisfies never;
    }
  }

  private open(place: Place): void {
    const { scene, redis } = this;
    const { kernel, network, conditions } = scene;
    const { old } = this;
    const isOld = old !== undefined && kernel.random.chance(0.5);
    const server = new ServerProcess({
      name: `${isOld ? 'old ' : ''}server ${place.number}.${++place.lives}`,
      old: isOld ? { release: old, app: settingsOfApp(conditions.keptEvents) } : undefined,
      network,
      loops: this.loops,
      settings: {
        drainSeconds: 2,
        engine: {
          type: 'redis',
          urls: [...redis.keys()].map((port) => `redis://redis:${port}`),
        },
        channels: {
          port: 0,
          activityTimeoutSeconds: 15,
          pongTimeoutSeconds: 10,
          sendBufferBytes: 20_000,
        },
      },
      apps: [appOf(conditions.keptEvents)],
      histories: undefined,
      storeWebhooks: (events) => this.storeWebhooks(events),
      webhooks: (events) => this.takeWebhooks(events),
      onError: (text) => {
        if (!isOld) scene.broken('error', text);
      },
      busyShare: conditions.busyShare,
      eventMs: 0,
      clockAheadMs: place.clockAheadMs,
    });
    server.start(
      () => {
        place.server = server;
        this.route();
      },
      () => {
        server.kill();
        kernel.after(RESTARTED_MS, () => this.open(place), kernel.world);
      },
    );
  }

  /** The load balancer sends everything to servers that run. */
  private route(): void {
    const ports = this.places.flatMap(({ server }) => server?.port ?? []);
    this.scene.network.hosts.set(this.scene.host, ports);
  }

  private kill(place: Place, server: ServerProcess): void {
    const { kernel } = this.scene;
    const awayMs = kernel.random.next() * AWAY_MS;
    place.server = undefined;
    this.route();
    server.kill();
    this.scene.fault('kill', kernel.nowMs + awayMs + STARTS_MS);
    kernel.after(awayMs, () => this.open(place));
  }

  private stop(place: Place, server: ServerProcess): void {
    const { kernel } = this.scene;
    const awayMs = kernel.random.next() * AWAY_MS;
    place.server = undefined;
    this.route();
    this.scene.fault('stop', kernel.nowMs + STOPS_MS + awayMs + STARTS_MS);
    server.stop(() => void kernel.after(awayMs, () => this.open(place)));
  }

  /** Returns those that no server has stored before. */
  private storeWebhooks(events: readonly AppWebhookEvent[]): readonly AppWebhookEvent[] {
    const fresh = events.filter(({ id }) => id === undefined || !this.webhookIds.has(id));
    for (const { id } of fresh) if (id !== undefined) this.webhookIds.add(id);
    return fresh;
  }

  private takeWebhooks(events: readonly AppWebhookEvent[]): void {
    const sent = events.filter(() => !this.losesWebhook());
    if (sent.length > 0) this.scene.webhooks(sent);
  }
}

/** Draws how long something lasts. Most is short. */
function drawMs(random: Random, mostMs: number): number {
  return random.next() * random.pick([1, 0.1]) * mostMs;
}
