import type { App } from '../channels/app.ts';
import type { Config, InstanceSettings } from '../config/schema.ts';
import type { Log } from '../runtime/ports.ts';
import type { AppStore, StoredApp } from '../stores/tenants/app-store.ts';
import type { StoredInstance, StoredInstances } from '../stores/tenants/instance-store.ts';
import { MemoryAppDirectory } from './app-directory.ts';
import { type ChangedIds, changedIds, type Snapshot, snapshotOf } from './changed-ids.ts';
import { MemoryInstanceDirectory } from './instance-directory.ts';
import { type LiveInstance, pushInstance } from './push-instance.ts';
import { RevisionPoller } from './revision-poller.ts';
import {
  appKind,
  completeTenants,
  instanceKind,
  type StoredTenant,
  type TenantKind,
} from './tenant-kind.ts';

export type LiveApps = LiveTenants<StoredApp, App, App, MemoryAppDirectory>;
export type LiveInstances = LiveTenants<
  StoredInstance,
  InstanceSettings,
  LiveInstance,
  MemoryInstanceDirectory
>;

export interface LiveTenantsOptions<Store> {
  readonly store: Store;
  readonly config: Config;
  readonly log: Log;
  /** Reports whether the store could be read: `undefined`, or the error. Returns whether that has changed. */
  readonly storeState: (error: unknown) => boolean;
}

/** Opens the apps that this server serves. Throws what the store throws. */
export function openLiveApps(options: LiveTenantsOptions<AppStore>): Promise<LiveApps> {
  return new LiveTenants({
    ...options,
    kind: appKind,
    directory: new MemoryAppDirectory(),
    liveOf: async (app: App) => app,
  }).readFirst();
}

/** Opens the instances that this server serves. Throws what the store throws. */
export function openLiveInstances(
  options: LiveTenantsOptions<StoredInstances>,
): Promise<LiveInstances> {
  const { store } = options;
  return new LiveTenants({
    ...options,
    kind: instanceKind,
    directory: new MemoryInstanceDirectory(),
    liveOf: async (settings: InstanceSettings) => ({
      settings,
      instance: pushInstance(settings, await store.numberOf(settings.id)),
    }),
  }).readFirst();
}

interface Directory<Live> {
  replace(live: readonly Live[]): unknown;
}

interface Options<
  Stored extends StoredTenant,
  Settings extends { readonly id: string },
  Live,
  InDirectory extends Directory<Live>,
> extends LiveTenantsOptions<{
    list(): Promise<readonly Stored[]>;
    revision(): Promise<number>;
  }> {
  readonly kind: TenantKind<Stored, Settings>;
  readonly directory: InDirectory;
  /** Makes what the server works with. */
  readonly liveOf: (settings: Settings) => Promise<Live>;
}

interface Found<Settings, Live> {
  readonly settings: readonly Settings[];
  readonly live: readonly Live[];
}

/**
 * The apps or instances that this server serves: those of the configuration, then those of the store. Polls the store
 * for changes by other processes, such as the command line.
 */
export class LiveTenants<
  Stored extends StoredTenant,
  Settings extends { readonly id: string },
  Live,
  InDirectory extends Directory<Live>,
> implements AsyncDisposable
{
  /** The tenants as they are now. */
  readonly directory: InDirectory;
  private readonly options: Options<Stored, Settings, Live, InDirectory>;
  private readonly poller: RevisionPoller<Found<Settings, Live>>;
  private config: Config;
  private live: readonly Live[] = [];
  private snapshot: Snapshot = new Map();
  private changed: ((live: readonly Live[], changes: ChangedIds) => void) | undefined;

  constructor(options: Options<Stored, Settings, Live, InDirectory>) {
    const { kind, store, config, directory, storeState, log } = options;
    this.options = options;
    this.config = config;
    this.directory = directory;
    this.poller = new RevisionPoller({
      what: `${kind.noun}s`,
      revision: () => store.revision(),
      read: () => this.read(),
      changed: (found) => this.takeOver(found),
      storeState,
      log,
    });
  }

  /** Reads the tenants for the first time. */
  async readFirst(): Promise<this> {
    this.takeOver(await this.poller.readFirst());
    return this;
  }

  /** The tenants as they were read last. */
  get all(): readonly Live[] {
    return this.live;
  }

  /** The tenants of the configuration. */
  get configured(): readonly Settings[] {
    return this.options.kind.configured(this.config);
  }

  /** Starts to poll. Reports each change from now on; if `changed` throws, it is called again at the next poll. */
  follow(changed: (live: readonly Live[], changes: ChangedIds) => void): void {
    this.changed = changed;
    this.poller.start();
  }

  /** Polls now. Settles when a change has been reported. */
  poll(): Promise<void> {
    return this.poller.poll();
  }

  /** Applies the tenants of another configuration. */
  reconfigure(config: Config): Promise<void> {
    this.config = config;
    return this.poller.readAgain();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.poller[Symbol.asyncDispose]();
  }

  private async read(): Promise<Found<Settings, Live>> {
    const { kind, store, liveOf, log } = this.options;
    const { configured } = this;
    const { served, notServed } = completeTenants(kind, { stored: await store.list(), configured });
    for (const { id, why } of notServed) {
      log.warn(`Stored ${kind.noun} is not served`, { [kind.noun]: id, why });
    }
    const settings = [...configured, ...served];
    // In parallel, so that all instances that need a new number get it in one commit.
    return { settings, live: await Promise.all(settings.map(liveOf)) };
  }

  private takeOver({ settings, live }: Found<Settings, Live>): void {
    const snapshot = snapshotOf(settings);
    this.live = live;
    this.directory.replace(live);
    this.changed?.(live, changedIds(this.snapshot, snapshot));
    this.snapshot = snapshot;
  }
}
