import type { App } from '../channels/app.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../runtime/ports.ts';
import type { AppStore } from '../stores/tenants/app-store.ts';
import { configuredApps, storedApps } from './app-sources.ts';
import { type ChangedIds, ListChanges } from './changed-ids.ts';
import { MemoryAppDirectory } from './directory.ts';
import { RevisionWatch } from './revision-watch.ts';

export interface LiveAppsOptions {
  readonly store: AppStore;
  readonly config: Config;
  readonly log: Log;
  /** The apps are others now. `changes` is for the log. */
  readonly changed: (apps: readonly App[], changes: ChangedIds) => void;
  /** Whether the store could be read; `undefined` where it could, else the error. Gives whether that is news. */
  readonly storeState: (error: unknown) => boolean;
}

/**
 * The apps that this server serves: those of the configuration, and those of the store. It looks for
 * changes that other processes make, such as the command line.
 */
export class LiveApps implements AsyncDisposable {
  /** As they are now, for the background loop. */
  readonly directory = new MemoryAppDirectory();
  private readonly options: LiveAppsOptions;
  private readonly inStore: RevisionWatch<readonly App[]>;
  private config: Config;
  private changes: ListChanges<App> | undefined;

  constructor(options: LiveAppsOptions) {
    const { store, config, log, changed, storeState } = options;
    this.options = options;
    this.config = config;
    this.inStore = new RevisionWatch({
      what: 'apps',
      revision: () => store.revision(),
      read: () => this.read(),
      changed: (apps) => {
        this.directory.replace(apps);
        changed(apps, this.changes?.to(apps) ?? {});
      },
      storeState,
      log,
    });
  }

  /** Those that the configuration names. */
  get configured(): readonly App[] {
    return configuredApps(this.config);
  }

  /** Reads them for the first time. Throws what the store throws. */
  async begin(): Promise<readonly App[]> {
    const apps = await this.inStore.begin();
    this.changes = new ListChanges(apps);
    this.directory.replace(apps);
    return apps;
  }

  /** Looks for changes from now on: once those who are told of them are there. */
  watch(): void {
    this.inStore.watch();
  }

  /** Looks now; settles when the change is handed on. */
  look(): Promise<void> {
    return this.inStore.look();
  }

  /** Takes over the apps of another configuration. */
  reconfigure(config: Config): Promise<void> {
    this.config = config;
    return this.inStore.readAgain();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.inStore[Symbol.asyncDispose]();
  }

  private async read(): Promise<readonly App[]> {
    const { store, log } = this.options;
    const stored = storedApps(await store.list(), this.configured);
    for (const { id, why } of stored.left) log.warn('A stored app is not served', { app: id, why });
    return [...this.configured, ...stored.apps];
  }
}
