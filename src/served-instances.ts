import { MemoryInstanceDirectory } from './apps/instance-directory.ts';
import { ListChanges } from './changed-ids.ts';
import type { Log } from './channels/ports.ts';
import type { Config, InstanceSettings } from './config/schema.ts';
import { configuredInstances, pushInstance, storedInstances } from './instance-list.ts';
import type { PushInstance } from './push/instance.ts';
import { StoreWatch } from './store-watch.ts';
import type { StoredInstances } from './stores/push/instance-store.ts';

/** An instance with all that is set for it. */
export interface ServedInstance {
  readonly instance: PushInstance;
  readonly settings: InstanceSettings;
}

export interface ServedInstancesOptions {
  readonly store: StoredInstances;
  readonly config: Config;
  readonly log: Log;
  /** Whether the store could be read; `undefined` where it could, else the error. Gives whether that is news. */
  readonly storeState: (error: unknown) => boolean;
}

/**
 * The instances that this server serves: those of the configuration, and those of the store. It looks for
 * changes that other processes make, such as the command line.
 */
export class ServedInstances implements AsyncDisposable {
  /** As they are now. */
  readonly directory = new MemoryInstanceDirectory();
  private readonly options: ServedInstancesOptions;
  private readonly inStore: StoreWatch<readonly ServedInstance[]>;
  private config: Config;
  private changes: ListChanges<InstanceSettings> | undefined;
  private changed: ((served: readonly ServedInstance[]) => void) | undefined;

  constructor(options: ServedInstancesOptions) {
    const { store, config, log, storeState } = options;
    this.options = options;
    this.config = config;
    this.inStore = new StoreWatch({
      what: 'instances',
      revision: () => store.revision(),
      read: () => this.read(),
      changed: (served) => {
        this.directory.replace(served.map(({ instance }) => instance));
        this.changed?.(served);
        const changes = this.changes?.to(served.map(({ settings }) => settings));
        log.info('Instances changed', { instances: served.length, ...changes });
      },
      storeState,
      log,
    });
  }

  /** Those that the configuration names. */
  get configured(): readonly InstanceSettings[] {
    return configuredInstances(this.config);
  }

  /** Reads them for the first time. Throws what the store throws. */
  async begin(): Promise<readonly ServedInstance[]> {
    const served = await this.inStore.begin();
    this.changes = new ListChanges(served.map(({ settings }) => settings));
    this.directory.replace(served.map(({ instance }) => instance));
    return served;
  }

  /** Tells of each change from now on. */
  follow(changed: (served: readonly ServedInstance[]) => void): void {
    this.changed = changed;
  }

  /** Looks for changes from now on. */
  watch(): void {
    this.inStore.watch();
  }

  /** Looks now; settles when a change is served. */
  look(): Promise<void> {
    return this.inStore.look();
  }

  /** Takes over the instances of another configuration. */
  reconfigure(config: Config): Promise<void> {
    this.config = config;
    return this.inStore.readAgain();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.inStore[Symbol.asyncDispose]();
  }

  private async read(): Promise<readonly ServedInstance[]> {
    const { store, log } = this.options;
    const { instances, left } = storedInstances(await store.list(), this.configured);
    for (const { id, why } of left) {
      log.warn('A stored instance is not served', { instance: id, why });
    }
    // At the same time, so that those who need a new number share one commit.
    return await Promise.all(
      [...this.configured, ...instances].map(async (settings) => ({
        settings,
        instance: pushInstance(settings, await store.numberOf(settings.id)),
      })),
    );
  }
}
