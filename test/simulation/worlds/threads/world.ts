import { frameChanges } from '../../sabotage/frames.ts';
import { messageChanges } from '../../sabotage/messages.ts';
import { swallowings } from '../../sabotage/requests.ts';
import { ServerProcess } from '../../servers/server-process.ts';
import { appOf } from '../channels/app.ts';
import { playChannels, type Scene, type Servers } from '../channels/play.ts';
import type { World } from '../world.ts';

/** How long a server is away, or stands still, at most. Milliseconds. */
const AWAY_MS = 10_000;
const PAUSED_MS = 60_000;
/** A loop that only collects garbage. Milliseconds. */
const BUSY_MS = 1_500;
/** How far a clock may be wrong. Milliseconds. */
const CLOCK_MS = 60_000;
/** What a start and a stop may take. Milliseconds. */
const STARTS_MS = 500;
const STOPS_MS = 6_000;

/** One server of one to three loops, with its histories in memory. */
class OneServer implements Servers {
  readonly haveRightClocks: boolean;
  private readonly scene: Scene;
  private readonly loops: number;
  private server: ServerProcess | undefined;
  private lives = 0;
  private clockAheadMs = 0;
  private pausedUntilMs = 0;

  constructor(scene: Scene) {
    const { random } = scene.kernel;
    this.scene = scene;
    this.loops = random.between(1, 3);
    this.haveRightClocks = random.chance(0.7);
  }

  start(histories?: Uint8Array): void {
    const { scene } = this;
    const { network, conditions, host } = scene;
    const server = new ServerProcess({
      name: `server ${++this.lives}`,
      network,
      loops: this.loops,
      settings: {
        drainSeconds: 2,
        channels: {
          port: 0,
          activityTimeoutSeconds: 15,
          pongTimeoutSeconds: 10,
          sendBufferBytes: 20_000,
        },
      },
      apps: [appOf(conditions.keptEvents)],
      histories,
      webhooks: scene.webhooks,
      onError: (text) => scene.broken('error', text),
      busyShare: conditions.busyShare,
      eventMs: conditions.eventMs,
      clockAheadMs: this.clockAheadMs,
    });
    server.start(() => {
      network.hosts.set(host, [server.port ?? 0]);
      this.server = server;
    });
  }

  fail(): void {
    const { kernel } = this.scene;
    const { random } = kernel;
    const { server } = this;
    // It is away already, or stands still.
    if (server === undefined || kernel.nowMs < this.pausedUntilMs) return;
    const kinds = ['kill', 'stop', 'pause', 'busy', ...(this.haveRightClocks ? [] : ['clock'])];
    const what = random.pick(kinds);
    kernel.trace?.(what);
    if (what === 'kill') return this.kill(server);
    if (what === 'stop') return this.stop(server);
    if (what === 'busy') return server.pauseLoop(kernel.nowMs + random.next() * BUSY_MS);
    if (what === 'pause') {
      const untilMs = kernel.nowMs + random.next() * random.pick([1, 0.1]) * PAUSED_MS;
      this.pausedUntilMs = untilMs;
      this.scene.fault('pause', untilMs);
      return server.pause(untilMs);
    }
    this.clockAheadMs = (random.next() * 2 - 1) * CLOCK_MS;
    this.scene.fault('clock', kernel.nowMs);
    server.setClock(this.clockAheadMs);
  }

  private kill(server: ServerProcess): void {
    const { kernel } = this.scene;
    const awayMs = kernel.random.next() * AWAY_MS;
    this.server = undefined;
    server.kill();
    this.scene.fault('kill', kernel.nowMs + awayMs + STARTS_MS);
    kernel.after(awayMs, () => this.start());
  }

  private stop(server: ServerProcess): void {
    const { kernel } = this.scene;
    const awayMs = kernel.random.next() * AWAY_MS;
    this.server = undefined;
    this.scene.fault('stop', kernel.nowMs + STOPS_MS + awayMs + STARTS_MS);
    server.stop(() => void kernel.after(awayMs, () => this.start(server.saved)));
  }
}

export const threads: World = {
  sabotages: {
    'lose-event': 'arrives',
    'double-event': 'once',
    'swap-events': 'order',
    'ghost-member': 'present',
    'silent-gap': 'resumes',
    'late-answer': 'arrives',
    'lose-message': 'arrives',
    'lose-webhook': 'webhooks',
  },
  run: async (seed) =>
    playChannels(seed, {
      hasHttpTransports: true,
      sabotage(name, { kernel, network }) {
        const { random } = kernel;
        network.tampering.frames = frameChanges[name]?.(random);
        network.tampering.messages = messageChanges[name]?.(random);
        network.tampering.swallows = swallowings[name]?.(random);
      },
      servers: (scene) => new OneServer(scene),
    }),
};
