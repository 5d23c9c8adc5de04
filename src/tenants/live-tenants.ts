import type { App } from '../channels/app.ts';
import type { Config, InstanceSettings } from '../config/schema.ts';
import type { Log } from '../runtime/ports.ts';
import { monotonicTimers } from '../runtime/system-timers.ts';
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
  type UnknownSettings,
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
export function openLiveApps(
  options: LiveTenantsOptions<AppStore> & { readonly revision: () => Promise<number> },
): Promise<LiveApps> {
  return new LiveTenants({
    ...options,
    kind: appKind,
    directory: new MemoryAppDirectory(),
    liveOf: async (app: App) => app,
    created: () => options.store.incarnations(),
    incarnationOf: ({ id }, created) => [id, created.get(id)],
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
    revision: () => store.revision(),
    liveOf: async (settings: InstanceSettings) => ({
      settings,
      instance: pushInstance(settings, await store.numberOf(settings.id)),
    }),
    created: async () => new Map(),
    incarnationOf: ({ instance }) => [instance.id, instance.number],
  }).readFirst();
}

interface Directory<Live> {
  replace(live: readonly Live[], deleted: readonly string[]): unknown;
}

interface Options<
  Stored extends StoredTenant,
  Settings extends { readonly id: string },
  Live,
  InDirectory extends Directory<Live>,
> extends LiveTenantsOptions<{
    list(): Promise<readonly Stored[]>;
  }> {
  /** Grows with each change in the store. */
  readonly revision: () => Promise<number>;
  readonly kind: TenantKind<Stored, Settings>;
  readonly directory: InDirectory;
  /** Makes what the server works with. */
  readonly liveOf: (settings: Settings) => Promise<Live>;
  /** When each tenant was created. */
  readonly created: () => Promise<ReadonlyMap<string, number>>;
  /** What tells a tenant from an earlier one with its id; `undefined`: nothing. */
  readonly incarnationOf: (
    live: Live,
    created: ReadonlyMap<string, number>,
  ) => readonly [id: string, incarnation: number | undefined];
}

interface Found<Settings, Live> {
  readonly settings: readonly Settings[];
  readonly live: readonly Live[];
  readonly incarnations: ReadonlyMap<string, number | undefined>;
}

/** What a change did to the tenants. */
export interface TenantChange {
  /** For the log. */
  readonly ids: ChangedIds;
  /** Tenants that are gone, also if there is another one with the id now. */
  readonly deleted: readonly string[];
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
  private incarnations: ReadonlyMap<string, number | undefined> = new Map();
  private unknown: readonly UnknownSettings[] = [];
  private changed: ((live: readonly Live[], change: TenantChange) => void) | undefined;

  constructor(options: Options<Stored, Settings, Live, InDirectory>) {
    const { kind, revision, config, directory, storeState, log } = options;
    this.options = options;
    this.config = config;
    this.directory = directory;
    this.poller = new RevisionPoller({
      what: `${kind.noun}s`,
      revision,
      read: () => this.read(),
      changed: (found) => this.takeOver(found),
      storeState,
      timers: monotonicTimers,
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

  /** Stored tenants with settings that this version does not know. */
  get unknownSettings(): readonly UnknownSettings[] {
    return this.unknown;
  }

  /** The tenants of the configuration. */
  get configured(): readonly Settings[] {
    return this.options.kind.configured(this.config);
  }

  /** Starts to poll. Reports each change from now on; if `changed` throws, it is called again at the next poll. */
  follow(changed: (live: readonly Live[], change: TenantChange) => void): void {
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
    const { kind, store, liveOf, created, incarnationOf, log } = this.options;
    const { configured } = this;
    // Before the tenants: a tenant that is created meanwhile then counts as new at the next poll.
    const createdAt = await created();
    const { served, notServed, unknown } = completeTenants(kind, {
      stored: await store.list(),
      configured,
    });
    for (const { id, why } of notServed) {
      log.warn(`Stored ${kind.noun} is not served`, { [kind.noun]: id, why });
    }
    this.noteUnknown(unknown);
    const settings = [...configured, ...served];
    // In parallel, so that all instances that need a new number get it in one commit.
    const live = await Promise.all(settings.map(liveOf));
    const incarnations = new Map(live.map((one) => incarnationOf(one, createdAt)));
    return { settings, live, incarnations };
  }

  /** Logs what is new of it. */
  private noteUnknown(unknown: readonly UnknownSettings[]): void {
    const { kind, log } = this.options;
    for (const { id, settings } of unknown) {
      const known = this.unknown.find((one) => one.id === id)?.settings ?? [];
      if (settings.every((setting) => known.includes(setting))) continue;
      log.warn(`Stored ${kind.noun} has settings of a later version, which are not applied`, {
        [kind.noun]: id,
        settings: settings.join(', '),
      });
    }
    this.unknown = unknown;
  }

  private takeOver({ settings, live, incarnations }: Found<Settings, Live>): void {
    const snapshot = snapshotOf(settings);
    const deleted = [...this.snapshot.keys()].filter(
      (id) => !snapshot.has(id) || isAnother(this.incarnations.get(id), incarnations.get(id)),
    );
    this.live = live;
    this.directory.replace(live, deleted);
    this.changed?.(live, { ids: changedIds(this.snapshot, snapshot), deleted });
    this.snapshot = snapshot;
    this.incarnations = incarnations;
  }
}

/** Whether a tenant took the id of an earlier one. Tenants of the configuration have only their id. */
function isAnother(before: number | undefined, now: number | undefined): boolean {
  return before !== undefined && now !== undefined && before !== now;
}
