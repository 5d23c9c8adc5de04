import type { Config, InstanceSettings } from '../config/schema.ts';
import type { PushInstance } from '../push/model/instance.ts';
import type { Log } from '../runtime/ports.ts';
import type { StoredInstances } from '../stores/tenants/instance-store.ts';
import { ListChanges } from './changed-ids.ts';
import { MemoryInstanceDirectory } from './instance-directory.ts';
import { configuredInstances, pushInstance, storedInstances } from './instance-sources.ts';
import { RevisionWatch } from './revision-watch.ts';

/** An instance with all that is set for it. */
export interface LiveInstance {
  readonly instance: PushInstance;
  readonly settings: InstanceSettings;
}

export interface LiveInstancesOptions {
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
export class LiveInstances implements AsyncDisposable {
  /** As they are now. */
  readonly directory = new MemoryInstanceDirectory();
  private readonly options: LiveInstancesOptions;
  private readonly inStore: RevisionWatch<readonly LiveInstance[]>;
  private config: Config;
  private changes: ListChanges<InstanceSettings> | undefined;
  private changed: ((served: readonly LiveInstance[]) => void) | undefined;

  constructor(options: LiveInstancesOptions) {
    const { store, config, log, storeState } = options;
    this.options = options;
    this.config = config;
    this.inStore = new RevisionWatch({
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
  async begin(): Promise<readonly LiveInstance[]> {
    const served = await this.inStore.begin();
    this.changes = new ListChanges(served.map(({ settings }) => settings));
    this.directory.replace(served.map(({ instance }) => instance));
    return served;
  }

  /** Tells of each change from now on. */
  follow(changed: (served: readonly LiveInstance[]) => void): void {
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

  private async read(): Promise<readonly LiveInstance[]> {
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
