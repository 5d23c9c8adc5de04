import { configuredApps, storedApps } from './app-list.ts';
import { MemoryAppDirectory } from './apps/directory.ts';
import type { App } from './channels/app.ts';
import type { Log } from './channels/ports.ts';
import type { Config } from './config/schema.ts';
import type { AppStore } from './stores/app-store.ts';

/** How often the store is asked whether another process has changed the apps. Milliseconds. */
const LOOK_INTERVAL_MS = 500;

export interface ServedAppsOptions {
  readonly store: AppStore;
  readonly config: Config;
  readonly log: Log;
  /** The apps are others now. */
  readonly changed: (apps: readonly App[]) => void;
  /** Whether the store could be read; `undefined` where it could, else why not. Gives whether that is news. */
  readonly storeState: (fault: string | undefined) => boolean;
}

/**
 * The apps that this server serves: those of the configuration, and those of the store. It looks for
 * changes that other processes make, such as the command line.
 */
export class ServedApps implements AsyncDisposable {
  /** As they are now, for the background loop. */
  readonly directory = new MemoryAppDirectory();
  private readonly options: ServedAppsOptions;
  private config: Config;
  private known = -1;
  private timer: NodeJS.Timeout | undefined;
  /** Looks follow one another, so that the later one knows more. */
  private looking: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: ServedAppsOptions) {
    this.options = options;
    this.config = options.config;
  }

  /** Those that the configuration names. */
  get configured(): readonly App[] {
    return configuredApps(this.config);
  }

  /** Reads them for the first time. Throws what the store throws. */
  async begin(): Promise<readonly App[]> {
    const apps = await this.read();
    this.directory.replace(apps);
    return apps;
  }

  /** Looks for changes from now on: once those who are told of them are there. */
  watch(): void {
    this.lookLater();
  }

  /** Looks now; settles when the change is handed on. */
  look(): Promise<void> {
    this.looking = this.looking.then(() => this.lookOnce(false));
    return this.looking;
  }

  /** Takes over the apps of another configuration. */
  reconfigure(config: Config): Promise<void> {
    this.config = config;
    this.looking = this.looking.then(() => this.lookOnce(true));
    return this.looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.looking;
  }

  private lookLater(): void {
    if (this.ended) return;
    this.timer = setTimeout(async () => {
      await this.look();
      this.lookLater();
    }, LOOK_INTERVAL_MS);
  }

  private async lookOnce(always: boolean): Promise<void> {
    const { store, log, changed, storeState } = this.options;
    try {
      if (always || (await store.revision()) !== this.known) {
        const apps = await this.read();
        this.directory.replace(apps);
        changed(apps);
      }
      storeState(undefined);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (storeState(why)) log.error('The store cannot be read', { why });
    }
  }

  private async read(): Promise<readonly App[]> {
    const { store, log } = this.options;
    // The revision first: a change between the two is then seen again, and not missed.
    const revision = await store.revision();
    const stored = storedApps(await store.list(), this.configured);
    for (const { id, why } of stored.left) log.warn('A stored app is not served', { app: id, why });
    this.known = revision;
    return [...this.configured, ...stored.apps];
  }
}
