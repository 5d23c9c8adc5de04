import { invisibleFault } from '../config/settings/credentials.ts';
import { Mutex } from '../runtime/mutex.ts';
import { OperationRefused } from './operation-refused.ts';
import { completeTenants, type StoredTenant, type TenantKind } from './tenant-kind.ts';

/** Keys that a tenant may have. Each request may be checked against all of them. */
const KEYS_MAX = 20;

/** A tenant, and where it is defined. A tenant of the configuration file can only be changed in that file. */
export interface KeptTenant<Settings> {
  readonly tenant: Settings;
  readonly source: 'configuration' | 'store';
}

export interface TenantAdminOptions<Store, Settings> {
  readonly store: Store;
  /** The tenants of the configuration as it is now. */
  readonly configured: () => readonly Settings[];
  /** Makes a running server apply a change of the store. Settles when it has. */
  readonly changed: () => Promise<void>;
  /** Whether other servers do not see this store, so that nothing may be created in it. */
  readonly isStoreOwn: boolean;
}

interface TenantStore<Stored> {
  list(): Promise<readonly Stored[]>;
  get(id: string): Promise<Stored | undefined>;
}

/**
 * What managing apps and managing instances share. Changes run one after the other, and each has taken effect when it
 * settles. Throws `OperationRefused`.
 */
export abstract class TenantAdmin<
  Store extends TenantStore<Stored>,
  Stored extends StoredTenant,
  Settings extends { readonly id: string },
  Id extends string = string,
> {
  protected readonly store: Store;
  protected readonly configured: () => readonly Settings[];
  private readonly kind: TenantKind<Stored, Settings>;
  private readonly changed: () => Promise<void>;
  private readonly isStoreOwn: boolean;
  private readonly changes = new Mutex();

  protected constructor(
    kind: TenantKind<Stored, Settings>,
    { store, configured, changed, isStoreOwn }: TenantAdminOptions<Store, Settings>,
  ) {
    this.kind = kind;
    this.store = store;
    this.configured = configured;
    this.changed = changed;
    this.isStoreOwn = isStoreOwn;
  }

  /** Tenants of the configuration first, then those of the store, the oldest first. */
  async list() {
    const configured = this.configured();
    const { served, notServed } = completeTenants(this.kind, {
      stored: await this.store.list(),
      configured,
    });
    const kept: KeptTenant<Settings>[] = [
      ...configured.map((tenant) => ({ tenant, source: 'configuration' as const })),
      ...served.map((tenant) => ({ tenant, source: 'store' as const })),
    ];
    return { kept, notServed };
  }

  async get(id: Id): Promise<KeptTenant<Settings>> {
    const configured = this.configured();
    const tenant = configured.find((one) => one.id === id);
    if (tenant !== undefined) return { tenant, source: 'configuration' };
    const stored = await this.store.get(id);
    if (stored === undefined) throw this.notFound(id);
    const { served, notServed } = completeTenants(this.kind, { stored: [stored], configured });
    if (served[0] !== undefined) return { tenant: served[0], source: 'store' };
    throw new OperationRefused('conflict', `${this.name(id)} is not served: ${notServed[0]?.why}`);
  }

  /** All tenants as they are in the store, without defaults. The oldest first. */
  storedTenants(): Promise<readonly Stored[]> {
    return this.store.list();
  }

  /** The tenant as it is in the store, without defaults. */
  async stored(id: Id): Promise<Stored> {
    const stored = await this.store.get(id);
    if (stored === undefined) throw this.notFound(id);
    return stored;
  }

  /** Changes a tenant of the store. */
  protected change<T>(id: Id, make: () => Promise<T>): Promise<T> {
    return this.enqueue(async () => {
      this.refuseConfigured(id);
      return await make();
    });
  }

  /** Returns how a stored tenant would look after a change. Changes nothing. */
  protected async tried(id: Id, make: () => Promise<Stored>): Promise<KeptTenant<Settings>> {
    this.refuseConfigured(id);
    const stored = [await make()];
    const { served, notServed } = completeTenants(this.kind, {
      stored,
      configured: this.configured(),
    });
    if (served[0] !== undefined) return { tenant: served[0], source: 'store' };
    throw new OperationRefused(
      'invalid',
      `${this.name(id)} would not be served: ${notServed[0]?.why}`,
    );
  }

  protected enqueue<T>(make: () => Promise<T>): Promise<T> {
    return this.changes.run(async () => {
      const made = await make();
      await this.changed();
      return made;
    });
  }

  protected requireSharedStore(): void {
    if (!this.isStoreOwn) return;
    const { noun, setting } = this.kind;
    const why = `The servers share no database, so each ${noun} must be in the configuration, at ${setting}`;
    throw new OperationRefused('conflict', why);
  }

  protected notFound(id: string): OperationRefused {
    return new OperationRefused('not-found', `There is no ${this.kind.noun} ${id}`);
  }

  protected alreadyExists(id: string): OperationRefused {
    return new OperationRefused('conflict', `id: ${this.kind.noun} ${id} already exists`, 'id');
  }

  private refuseConfigured(id: string): void {
    if (!this.configured().some((tenant) => tenant.id === id)) return;
    const where = `change it there, at ${this.kind.setting}`;
    throw new OperationRefused('conflict', `${this.name(id)} is in the configuration: ${where}`);
  }

  private name(id: string): string {
    return `${this.kind.noun === 'app' ? 'App' : 'Instance'} ${id}`;
  }
}

/** Refuses a list of keys that is too long or names one twice. `setting` is the one that lists them. */
export function checkKeys(setting: string, keys: readonly string[]): void {
  if (keys.length > KEYS_MAX) {
    throw new OperationRefused(
      'invalid',
      `${setting}: must have at most ${KEYS_MAX} entries`,
      setting,
    );
  }
  if (new Set(keys).size < keys.length) {
    throw new OperationRefused('invalid', `${setting}: lists the same key twice`, setting);
  }
}

/** Refuses new credentials with characters that nobody sees. */
export function checkVisible(
  credentials: readonly (readonly [field: string, text: string])[],
): void {
  for (const [field, text] of credentials) {
    const fault = invisibleFault(text);
    if (fault !== undefined) throw new OperationRefused('invalid', `${field}: ${fault}`, field);
  }
}

/** Refuses a new key for a tenant that has reached the limit of keys. */
export function checkRoomForKey(keys: readonly unknown[]): void {
  if (keys.length < KEYS_MAX) return;
  throw new OperationRefused(
    'conflict',
    `There are ${KEYS_MAX} keys already, the limit; remove one first`,
  );
}
