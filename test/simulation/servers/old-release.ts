import { join } from 'node:path';
import type { BackgroundToLoop, LoopToBackground } from '../../../src/node/link/messages.ts';
import type { Log, Timers } from '../../../src/runtime/ports.ts';
import { releases, writeSource } from '../../faults/releases.ts';
import { chanceTaken } from '../kernel/globals.ts';

/** The loops of a server of the release: one, on its main thread. */
interface OldLoops {
  readonly first: object;
  listen(): Promise<{ readonly port: number }>;
  stop(): Promise<void>;
}

type ToBackground = (message: LoopToBackground) => void;

interface OpenOptions {
  /** As in a configuration file. */
  readonly settings: object;
  /** As in a configuration file. */
  readonly app: object;
  readonly log: Log;
  readonly serverName: string;
  readonly toBackground: ToBackground;
}

/** What a world uses of the modules of the release. */
interface Modules {
  readonly configSchema: { parse(settings: object): object };
  readonly appSettings: { parse(settings: object): object };
  readonly RealtimeLoops: new (options: object) => OldLoops;
  readonly systemTimers: Timers;
  handleBackgroundMessage(
    first: object,
    message: BackgroundToLoop,
    toBackground: ToBackground,
  ): void;
}

/** The source of the latest release, in the same process as the present one. */
export class OldRelease {
  private readonly modules: Modules;
  private readonly draws: readonly (() => unknown)[];

  private constructor(modules: Modules, draws: readonly (() => unknown)[]) {
    this.modules = modules;
    this.draws = draws;
  }

  /** Loads it from git. Modules that worlds replace are replaced in it as well. */
  static async load(): Promise<OldRelease> {
    const folder = await checkOut();
    const load = async (path: string) => await import(join(folder, 'src', path));
    const modules: Modules = {
      ...(await load('config/schema.ts')),
      ...(await load('config/settings/channels-settings.ts')),
      ...(await load('node/realtime/realtime-loops.ts')),
      ...(await load('runtime/system-timers.ts')),
      ...(await load('node/realtime/background-messages.ts')),
    };
    const drawing = ['channels/history/event-id.ts', 'channels/socket-id.ts'];
    const draws = await Promise.all(drawing.map(async (path) => (await load(path)).newHalf));
    return new OldRelease(modules, draws);
  }

  open({ settings, app, ...options }: OpenOptions): OldLoops {
    const { configSchema, appSettings, RealtimeLoops, systemTimers } = this.modules;
    return new RealtimeLoops({
      ...options,
      config: configSchema.parse(settings),
      apps: [appSettings.parse(app)],
      usage: [],
      histories: undefined,
      tls: undefined,
      timers: systemTimers,
      logFormat: 'json',
      logLinesDropped: () => 0,
      backgroundPorts: [],
      openLogPort: () => new MessageChannel().port1,
    });
  }

  /** Hands a message of the background loop to the first loop. */
  receive({ first }: OldLoops, message: BackgroundToLoop, toBackground: ToBackground): void {
    this.modules.handleBackgroundMessage(first, message, toBackground);
  }

  /** See `forgetChance`. */
  forgetChance(): void {
    for (const draw of this.draws) {
      const before = chanceTaken();
      while (chanceTaken() === before) draw();
    }
  }
}

/** Writes the latest release into a folder, which is removed when this process ends. */
async function checkOut(): Promise<string> {
  const release = (await releases()).at(-1);
  if (release === undefined) throw new Error('the changelog has no release');
  const { folder, [Symbol.dispose]: remove } = writeSource(release);
  process.on('exit', remove);
  return folder;
}
