import type { App } from '../../src/channels/app.ts';
import { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import type { LostEvents } from '../../src/channels/lost-events.ts';
import type { Audience, WebhookSink } from '../../src/channels/ports.ts';
import type { Usage } from '../../src/channels/usage/usage.ts';
import { RedisEngine } from '../../src/engines/redis/engine.ts';
import { type RedisListener, RedisServer } from '../../src/engines/redis/link/redis-server.ts';
import { RedisScript } from '../../src/engines/redis/link/script.ts';
import type { ClusterQuotas } from '../../src/engines/redis/quotas/cluster-quotas.ts';
import type { RedisLink } from '../../src/engines/redis/redis-link.ts';
import { ALL_SCRIPTS } from '../../src/engines/redis/scripts/all-scripts.ts';
import { type OtherLoops, SharedLinks } from '../../src/engines/redis/shared/shared-links.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import type { Log } from '../../src/runtime/ports.ts';
import { monotonicTimers } from '../../src/runtime/system-timers.ts';
import type { OpenCluster } from './authority.contract.ts';
import { partsOfLoop, silent } from './loop-parts.ts';
import { LoopStage, type RecordingAudience } from './loop-stage.ts';

/** What happens to a script that a loop sends; asked before each. */
export type Fate = (script: RedisScript) => 'answered' | 'reply-lost' | 'not-run';

/** What one loop has of its own. */
export interface LoopOptions {
  /** How far its own clock is ahead of that of the cluster. */
  readonly clockAheadMs?: number;
  readonly fate?: Fate;
  /** Through which each server is reached, instead of those of the cluster. */
  readonly urls?: readonly string[];
  readonly audience?: Audience;
  readonly eventsLost?: (lost: readonly LostEvents[]) => void;
  /** The links that it shares with other loops of its process. */
  readonly sharedLinks?: SharedLinks;
  /** Takes its webhook events, in place of a store that confirms each. */
  readonly emit?: WebhookSink['emit'];
}

/** One loop of a process of its own. */
export interface RedisLoop {
  readonly engine: RedisEngine;
  readonly terminated: string[];
  readonly audience: Audience;
  readonly servers: readonly RedisServer[];
  /** Reports that messages were missed, as if its subscriptions had been cut. */
  readonly gap: () => void;
  readonly meter: TableMeter;
  readonly clock: FakeClock;
  readonly usage: Usage;
  readonly quotas: ClusterQuotas;
  /** Its open connections. */
  readonly open: Map<App, number>;
  /** Runs nothing and reads nothing for now. */
  isSuspended: boolean;
  isDead: boolean;
}

/** Between the clocks of two nodes. */
const CLOCKS_APART_MS = 90_000;

/** Two loops never see each other's keys, unless they have the same prefix. */
let clusters = 0;

const SCRIPT_CLOCK = /local t = redis\.call\('TIME'\) return t\[1\][^\n]*?end/;

/** Where all clusters of this process keep the time of the test, one after the other. */
const NOW = `test-${process.pid}:now`;

/**
 * The scripts with a clock that the test sets, in place of the one of Redis. They are the same for all clusters: Redis compiles and
 * keeps each script, and thousands of them would take more of its time than what they do.
 */
const scriptsWithClock: ReadonlyMap<RedisScript, RedisScript> = new Map(
  ALL_SCRIPTS.map((script) => {
    const clock = `return tonumber(redis.call('GET', '${NOW}')) end`;
    const source = script.source.replace(SCRIPT_CLOCK, clock);
    if (source === script.source) throw new Error('The clock of the scripts was not found');
    return [script, new RedisScript(source)];
  }),
);

/** The longest time that passes second by second, and the end of a longer one that does. */
const STEPPED_MS_MAX = 30_000;
const AFTERWARDS_MS = 6_000;

/** How long the loops may be busy with one step of the clock. */
const SETTLED_MS_MAX = 120_000;

interface LinkTimes {
  readonly deadlineMs: number;
  readonly silenceMs: number;
}

/** A machine that is busy must not look like a Redis that is away. */
const PATIENT: LinkTimes = { deadlineMs: 60_000, silenceMs: 60_000 };

/** Loops of several processes that share one Redis and the clock of the test. */
export class RedisLoops implements OpenCluster {
  readonly clock = new FakeClock();
  /** The warnings of quotas, of all loops. */
  readonly warnings: string[] = [];
  private readonly log: Log = {
    ...silent,
    warn: (_, fields) => void this.warnings.push(String(fields?.['left'])),
  };
  readonly loops: LoopStage[] = [];
  readonly all: RedisLoop[] = [];
  private readonly urls: readonly string[];
  private readonly linkTimes: LinkTimes;
  private readonly apps: readonly App[];
  readonly prefix: string;
  private readonly webhookEvents: AppWebhookEvent[] = [];
  private readonly barriers = new Map<string, () => void>();
  private readonly barrierOf = new Map<RedisServer, string>();
  /** What suspended loops have not read, by their server. */
  private readonly unread = new Map<RedisServer, (() => void)[]>();
  private inFlight = 0;
  private onQuiet: () => void = () => undefined;
  private activity = 0;

  constructor(urls: readonly string[], apps: readonly App[], linkTimes = PATIENT) {
    this.urls = urls;
    this.linkTimes = linkTimes;
    this.apps = apps;
    clusters++;
    this.prefix = `test-${process.pid}-${clusters}:`;
  }

  /** `perProcess`: how many loops share their links to Redis. */
  static async open(
    urls: readonly string[],
    apps: readonly App[],
    count: number,
    perProcess = 1,
  ): Promise<RedisLoops> {
    const cluster = new RedisLoops(urls, apps);
    for (let first = 0; first < count; first += perProcess) {
      const links = perProcess === 1 ? [undefined] : cluster.linksOfProcess(perProcess);
      // Nothing may depend on the clocks of nodes.
      const clockAheadMs = first * CLOCKS_APART_MS;
      const opened = await Promise.all(
        links.map((one) => cluster.add({ clockAheadMs, ...(one && { sharedLinks: one }) })),
      );
      for (const [n, { engine, audience, terminated }] of opened.entries()) {
        const number = first + n;
        cluster.loops.push(
          new LoopStage({
            number,
            authority: engine,
            audience: audience as unknown as RecordingAudience,
            terminated,
          }),
        );
      }
    }
    return cluster;
  }

  /** What loops send each other is copied, and arrives later in order. */
  private linksOfProcess(count: number): readonly SharedLinks[] {
    const all: SharedLinks[] = [];
    for (let index = 0; index < count; index++) {
      const send: OtherLoops['send'] = (to, message) => {
        const copy = structuredClone(message);
        this.activity++;
        this.inFlight++;
        queueMicrotask(() => {
          all[to]?.receive(index, copy);
          this.over();
        });
      };
      all.push(new SharedLinks({ index, count, send }, new TableMeter()));
    }
    return all;
  }

  /** Adds a loop of a new process, or of one whose links it shares. */
  async add({
    fate = () => 'answered',
    clockAheadMs = 0,
    audience,
    urls = this.urls,
    emit,
    eventsLost,
    sharedLinks,
  }: LoopOptions = {}): Promise<RedisLoop> {
    const clock = new FakeClock();
    clock.setBack(clock.now() - this.clock.now() - clockAheadMs);
    let loop: RedisLoop | undefined;
    // What it has not stored when it dies is lost, and what it has not confirmed is reported again.
    const store: WebhookSink['emit'] = (event, over) =>
      this.store(event, { isDead: () => loop?.isDead === true, over });
    const parts = partsOfLoop(clock, this.webhookEvents, emit ?? store, {
      log: this.log,
      serverName: `server-${this.all.length}`,
    });
    const received = audience ?? parts.broadcaster.audience;
    const servers: RedisServer[] = [];
    const listeners: RedisListener[] = [];
    const places = urls.map((_, index) => ({
      // Loops may reach a server in different ways.
      name: `server-${index}`,
      place: { database: 0 },
      open: async (listener: RedisListener) => {
        const server = await this.openServer(urls[index] ?? '', listener, parts.meter);
        servers.push(server);
        listeners.push(listener);
        return this.linkOver(server, fate);
      },
    }));
    const engine = await RedisEngine.open({
      ...(sharedLinks?.over(places) ?? { servers: places }),
      apps: { byId: (id) => this.apps.find((app) => app.id === id), byKey: () => undefined },
      timers: clock,
      log: silent,
      meter: parts.meter,
      webhooks: parts.webhooks,
      broadcaster: { ...parts.broadcaster, audience: received },
      terminate: parts.terminate,
      allApps: () => this.apps,
      historyBytes: parts.historyBytes,
      eventsLost: eventsLost ?? parts.eventsLost,
      keyPrefix: this.prefix,
      quotas: parts.quotas,
    });
    loop = {
      engine,
      terminated: parts.terminated,
      audience: received,
      usage: parts.broadcaster.usage,
      servers,
      gap() {
        for (const { onAway, onGap, onBack } of listeners) {
          onAway({ sinceMs: 0, why: 'cut by the test', isRefused: false, server: '' });
          onGap('cut by the test');
          onBack();
        }
      },
      meter: parts.meter,
      clock,
      open: parts.open,
      quotas: parts.quotas,
      isSuspended: false,
      isDead: false,
    };
    this.all.push(loop);
    return loop;
  }

  reported(): readonly AppWebhookEvent[] {
    return this.webhookEvents.splice(0);
  }

  async advance(ms: number): Promise<void> {
    // A longer time than that of any wait passes as if all processes had been suspended: each timer runs once after it, and what these
    // begin has some seconds.
    const steppedMs = ms > STEPPED_MS_MAX ? AFTERWARDS_MS : ms;
    for (const { clock } of this.running) clock.setBack(steppedMs - ms);
    this.clock.setBack(steppedMs - ms);
    const end = this.clock.now() + steppedMs;
    while (this.clock.now() < end) {
      const stepMs = Math.min(1000, end - this.clock.now());
      this.clock.advance(stepMs);
      await this.setScriptClock();
      for (const { clock } of this.running) clock.advance(stepMs);
      await this.settled();
    }
  }

  /** Settles when nothing is in flight, and all that was published has arrived. */
  async settled(): Promise<void> {
    const endMs = performance.now() + SETTLED_MS_MAX;
    for (let before = -1; before !== this.activity; ) {
      if (performance.now() > endMs) throw new Error('The loops go on without an end');
      do {
        await new Promise((resolve) => setImmediate(resolve));
        // Turns of the event loop would take all of a processor while Redis works.
        if (this.inFlight > 0) await new Promise<void>((resolve) => (this.onQuiet = resolve));
      } while (this.inFlight > 0);
      before = this.activity;
      await Promise.all(
        this.all.flatMap((loop) => (loop.isDead ? [] : loop.servers.map((one) => this.pass(one)))),
      );
    }
  }

  /** Stops a loop for a while, as SIGSTOP does. Nothing of it may be in flight. */
  suspend(loop: RedisLoop): void {
    loop.isSuspended = true;
    for (const server of loop.servers) this.unread.set(server, []);
  }

  resume(loop: RedisLoop): void {
    loop.isSuspended = false;
    loop.clock.setBack(loop.clock.now() - this.clock.now());
    for (const server of loop.servers) {
      const unread = this.unread.get(server) ?? [];
      this.unread.delete(server);
      for (const read of unread) read();
    }
  }

  /** Ends a loop without notice, as SIGKILL does. */
  async kill(loop: RedisLoop): Promise<void> {
    loop.isDead = true;
    for (const server of loop.servers) await server.close();
  }

  async close(): Promise<void> {
    for (const loop of this.all) await this.kill(loop);
  }

  private store(
    event: AppWebhookEvent,
    by: { readonly isDead: () => boolean; readonly over: (() => void) | undefined },
  ): void {
    this.activity++;
    this.inFlight++;
    setImmediate(() => {
      if (!by.isDead()) this.webhookEvents.push(event);
      setImmediate(() => {
        this.over();
        if (!by.isDead()) by.over?.();
      });
    });
  }

  private over(): void {
    this.inFlight--;
    if (this.inFlight === 0) this.onQuiet();
  }

  private get running(): readonly RedisLoop[] {
    return this.all.filter(({ isSuspended, isDead }) => !isSuspended && !isDead);
  }

  private async openServer(
    url: string,
    listener: RedisListener,
    meter: TableMeter,
  ): Promise<RedisServer> {
    const barrier = `${this.prefix}barrier:${crypto.randomUUID()}`;
    const server: RedisServer = await RedisServer.open({
      url,
      prefix: this.prefix,
      log: silent,
      meter,
      timers: monotonicTimers,
      scripts: [...scriptsWithClock.values()],
      ...this.linkTimes,
      listener: {
        ...listener,
        onMessage: (channel, payload) => {
          const barrier = this.barriers.get(channel);
          if (barrier !== undefined) return barrier();
          const unread = this.unread.get(server);
          if (unread !== undefined) {
            unread.push(() => listener.onMessage(channel, payload));
            return;
          }
          this.activity++;
          listener.onMessage(channel, payload);
        },
      },
    });
    this.barrierOf.set(server, barrier);
    await server.subscriptions.follow(barrier);
    await server.commands.run(['SET', NOW, this.clock.now()]);
    return server;
  }

  /** Settles when everything that was published has come over a link, or the link is away. */
  private async pass(server: RedisServer): Promise<void> {
    const barrier = this.barrierOf.get(server) ?? '';
    const arrived = Promise.withResolvers<true>();
    this.barriers.set(barrier, () => arrived.resolve(true));
    for (;;) {
      if (server.away !== undefined) return;
      await server.commands.run(['PUBLISH', barrier, '']).catch(() => undefined);
      // A link that has just been cut has not received it.
      if (await Promise.race([arrived.promise, Bun.sleep(200)])) return;
    }
  }

  /** Sets the clock of the scripts. A Redis that is away does not need it. */
  private async setScriptClock(): Promise<void> {
    for (const [index] of this.urls.entries()) {
      const links = this.all.flatMap(({ isDead, servers }) =>
        isDead ? [] : (servers[index] ?? []),
      );
      const up = links.find(({ away }) => away === undefined);
      await up?.commands.run(['SET', NOW, this.clock.now()]).catch(() => undefined);
    }
  }

  private linkOver(server: RedisServer, fate: Fate): RedisLink {
    const counted = async <T>(call: () => Promise<T>): Promise<T> => {
      this.activity++;
      this.inFlight++;
      try {
        return await call();
      } finally {
        this.over();
      }
    };
    return {
      get away() {
        return server.away;
      },
      master: server.master,
      get serverId() {
        return server.serverId;
      },
      get dataId() {
        return server.dataId;
      },
      subscriptions: server.subscriptions,
      close: () => server.close(),
      commands: {
        get waiting() {
          return server.commands.waiting;
        },
        run: (args) => counted(() => server.commands.run(args)),
        script: (script, args) =>
          counted(async () => {
            const becomes = fate(script);
            if (becomes === 'not-run') throw new Error('The script did not reach Redis');
            const reply = await server.commands.script(
              scriptsWithClock.get(script) ?? script,
              args,
            );
            if (becomes === 'reply-lost') throw new Error('The reply is lost');
            return reply;
          }),
      },
    };
  }
}
