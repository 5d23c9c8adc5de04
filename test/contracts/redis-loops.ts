import type { App } from '../../src/channels/app.ts';
import { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import { RedisEngine } from '../../src/engines/redis/engine.ts';
import { RedisServer } from '../../src/engines/redis/link/redis-server.ts';
import { Script } from '../../src/engines/redis/link/script.ts';
import type { RedisLink } from '../../src/engines/redis/redis-link.ts';
import { ALL_SCRIPTS } from '../../src/engines/redis/scripts/all-scripts.ts';
import { monotonicTimers } from '../../src/runtime/system-timers.ts';
import type { OpenCluster } from './authority.contract.ts';
import { LoopStage, partsOf, silent } from './loop-stage.ts';

/** What a test may do to the scripts of one loop. */
export interface Trouble {
  /** Redis runs the script, but its reply is lost. Asked before each script. */
  isReplyLost(): boolean;
}

/** Two loops never see each other's keys, unless they have the same prefix. */
let clusters = 0;

const SCRIPT_CLOCK = /local t = redis\.call\('TIME'\) return t\[1\][^\n]*?end/;

/** The scripts with a clock that the test sets, in place of the one of Redis. */
function withClock(prefix: string): ReadonlyMap<Script, Script> {
  const clock = `return tonumber(redis.call('GET', '${prefix}now')) end`;
  const replaced = ALL_SCRIPTS.map((script) => {
    const source = script.source.replace(SCRIPT_CLOCK, clock);
    if (source === script.source) throw new Error('The clock of the scripts was not found');
    return [script, new Script(source)] as const;
  });
  return new Map(replaced);
}


/** Loops of several processes that share one Redis and the clock of the test. */
export class RedisLoops implements OpenCluster {
  readonly clock = new FakeClock();
  readonly loops: LoopStage[] = [];
  readonly engines: RedisEngine[] = [];
  private readonly url: string;
  private readonly apps: readonly App[];
  private readonly prefix: string;
  private readonly scripts: ReadonlyMap<Script, Script>;
  private readonly webhookEvents: AppWebhookEvent[] = [];
  private readonly servers: RedisServer[] = [];
  private readonly barriers = new Map<string, () => void>();
  private inFlight = 0;
  private activity = 0;

  private constructor(url: string, apps: readonly App[]) {
    this.url = url;
    this.apps = apps;
    clusters++;
    this.prefix = `test-${process.pid}-${clusters}:`;
    this.scripts = withClock(this.prefix);
  }

  static async open(url: string, apps: readonly App[], count: number): Promise<RedisLoops> {
    const cluster = new RedisLoops(url, apps);
    for (let n = 0; n < count; n++) await cluster.add();
    return cluster;
  }

  /** Adds a loop of a new process. */
  async add(trouble: Trouble = { isReplyLost: () => false }): Promise<number> {
    const number = this.loops.length;
    const parts = partsOf(this.clock, this.webhookEvents);
    const engine = await RedisEngine.open({
      apps: { byId: (id) => this.apps.find((app) => app.id === id), byKey: () => undefined },
      timers: this.clock,
      log: silent,
      webhooks: parts.webhooks,
      broadcaster: parts.broadcaster,
      terminate: parts.terminate,
      keyPrefix: this.prefix,
      openLinks: [
        async (listener) => {
          const server = await RedisServer.open({
            url: this.url,
            prefix: this.prefix,
            log: silent,
            timers: monotonicTimers,
            scripts: [...this.scripts.values()],
            listener: {
              ...listener,
              onMessage: (channel, payload) => {
                const barrier = this.barriers.get(channel);
                if (barrier !== undefined) return barrier();
                this.activity++;
                listener.onMessage(channel, payload);
              },
            },
          });
          this.servers.push(server);
          await server.subscriptions.follow(this.barrierOf(number));
          await this.setScriptClock();
          return this.linkOver(server, trouble);
        },
      ],
    });
    this.engines.push(engine);
    this.loops.push(
      new LoopStage({
        number,
        authority: engine,
        audience: parts.audience,
        terminated: parts.terminated,
      }),
    );
    return number;
  }

  reported(): readonly AppWebhookEvent[] {
    return this.webhookEvents.splice(0);
  }

  async advance(ms: number): Promise<void> {
    // A longer time passes as if all processes had been suspended: each timer runs once after it.
    const STEPPED_MS = 30_000;
    if (ms > STEPPED_MS) this.clock.setBack(STEPPED_MS - ms);
    const end = this.clock.now() + Math.min(ms, STEPPED_MS);
    while (this.clock.now() < end) {
      await this.setScriptClock(Math.min(end, this.clock.now() + 1000));
      this.clock.advance(Math.min(1000, end - this.clock.now()));
      await this.settled();
    }
  }

  async settled(): Promise<void> {
    for (let before = -1; before !== this.activity; ) {
      before = this.activity;
      do await new Promise((resolve) => setImmediate(resolve));
      while (this.inFlight > 0);
      await Promise.all(this.servers.map((server, number) => this.pass(server, number)));
    }
  }

  async close(): Promise<void> {
    for (const server of this.servers) await server.close();
  }

  /** Settles when everything that was published has come to a loop. */
  private async pass(server: RedisServer, number: number): Promise<void> {
    const arrived = Promise.withResolvers<void>();
    this.barriers.set(this.barrierOf(number), arrived.resolve);
    await server.commands.run(['PUBLISH', this.barrierOf(number), '']);
    await arrived.promise;
  }

  private barrierOf(number: number): string {
    return `${this.prefix}barrier:${number}`;
  }

  private async setScriptClock(nowMs = this.clock.now()): Promise<void> {
    await this.servers[0]?.commands.run(['SET', `${this.prefix}now`, nowMs]);
  }

  private linkOver(server: RedisServer, trouble: Trouble): RedisLink {
    const counted = async <T>(call: () => Promise<T>): Promise<T> => {
      this.activity++;
      this.inFlight++;
      try {
        return await call();
      } finally {
        this.inFlight--;
      }
    };
    return {
      get away() {
        return server.away;
      },
      subscriptions: server.subscriptions,
      commands: {
        run: (args) => counted(() => server.commands.run(args)),
        script: (script, args) =>
          counted(async () => {
            const isLost = trouble.isReplyLost();
            const reply = await server.commands.script(this.scripts.get(script) ?? script, args);
            if (isLost) throw new Error('The reply is lost');
            return reply;
          }),
      },
    };
  }
}
