import { isObject } from '../config/plain-json.ts';
import { instanceSettings } from '../config/push-settings.ts';
import type { InstanceSettings } from '../config/schema.ts';
import { secretKeysMeant } from '../config/secret-key-name.ts';
import { Mutex } from '../runtime/mutex.ts';
import type { StoredInstance, StoredInstances } from '../stores/tenants/instance-store.ts';
import { checked } from './checked.ts';
import { newInstance, newSecretKey } from './instance-credentials.ts';
import type { KeptInstance } from './kept.ts';
import { OperationRefused } from './operation-refused.ts';
import { withWholeUrls } from './webhook-url.ts';

/** Secret keys that an instance may have: each request and each token may be compared with all of them. */
const SECRET_KEYS_MAX = 20;

type Settings = Readonly<Record<string, unknown>>;

export interface InstanceAdminOptions {
  readonly store: StoredInstances;
  /** The instances of the configuration as it is now. */
  readonly configured: () => readonly InstanceSettings[];
  /** Completes stored instances with the defaults; `left` are those that cannot be served. */
  readonly complete: (stored: readonly StoredInstance[]) => {
    readonly instances: readonly InstanceSettings[];
    readonly left: readonly { readonly id: string; readonly why: string }[];
  };
  /** Makes the running server take over what has changed in the store; settles when it has. */
  readonly changed: () => Promise<void>;
  readonly now: () => number;
}

export interface InstanceGiven {
  readonly name: string | undefined;
  /** As in the configuration, without what stands above; null for what is to be taken away. */
  readonly settings: Settings;
}

/** Manages the instances, one change after the other; each has taken effect when it settles. Throws `OperationRefused`. */
export class InstanceAdmin {
  private readonly options: InstanceAdminOptions;
  private readonly changes = new Mutex();

  constructor(options: InstanceAdminOptions) {
    this.options = options;
  }

  /** Those of the configuration first; then those of the store, in the order of their making. */
  async list() {
    const { configured, complete, store } = this.options;
    const { instances, left } = complete(await store.list());
    const kept: KeptInstance[] = [
      ...configured().map((instance) => ({ instance, source: 'configuration' as const })),
      ...instances.map((instance) => ({ instance, source: 'store' as const })),
    ];
    return { kept, notServed: left };
  }

  async get(id: string): Promise<KeptInstance> {
    const { configured, complete, store } = this.options;
    const inFile = configured().find((instance) => instance.id === id);
    if (inFile !== undefined) return { instance: inFile, source: 'configuration' };
    const stored = await store.get(id);
    if (stored === undefined) throw noSuchInstance(id);
    const { instances, left } = complete([stored]);
    if (instances[0] !== undefined) return { instance: instances[0], source: 'store' };
    throw new OperationRefused('conflict', `Instance ${id} is not served: ${left[0]?.why}`);
  }

  /** Without an id, secret keys or VAPID keys, they are made. */
  create(
    given: InstanceGiven & {
      readonly id: string | undefined;
      readonly secretKeys: readonly string[] | undefined;
    },
  ): Promise<KeptInstance> {
    const made = newInstance(given.name ?? '');
    const { id = made.id, secretKeys = made.secretKeys } = given;
    return this.change(id, async () => {
      const { store, configured, now } = this.options;
      checkKeys(secretKeys);
      const instance = whole({
        id,
        name: made.name,
        secretKeys,
        settings: laidOver(made.settings, withWholeUrls(given.settings)),
      });
      const isConfigured = configured().some((other) => other.id === id);
      if (isConfigured || !(await store.create(instance, now()))) {
        throw new OperationRefused('conflict', `id: there is an instance ${id} already`, 'id');
      }
    });
  }

  /** Changes what is named, and leaves the rest. */
  update(id: string, { name, settings }: InstanceGiven): Promise<KeptInstance> {
    return this.change(id, async () => {
      const { secretKeys } = await this.stored(id);
      const found = await this.options.store.update(id, (now) =>
        whole({
          id,
          secretKeys,
          name: name ?? now.name,
          settings: laidOver(now.settings, withWholeUrls(settings, now.settings)),
        }),
      );
      if (!found) throw noSuchInstance(id);
    });
  }

  /** Adds a secret key and gives it; those that the instance has stay valid. */
  async addKey(id: string): Promise<string> {
    const secret = newSecretKey();
    await this.change(id, async () => {
      const { secretKeys } = await this.stored(id);
      if (secretKeys.length >= SECRET_KEYS_MAX) {
        const message = `Instance ${id} has ${SECRET_KEYS_MAX} secret keys; remove one first`;
        throw new OperationRefused('conflict', message);
      }
      if (!(await this.options.store.addKey(id, secret))) throw noSuchInstance(id);
    });
    return secret;
  }

  /** Takes a secret key away, but never the last one. `given` is the whole of it, or its first 8 characters. */
  removeKey(id: string, given: string): Promise<KeptInstance> {
    return this.change(id, async () => {
      const [secret, another] = secretKeysMeant((await this.stored(id)).secretKeys, given);
      if (another !== undefined) {
        throw new OperationRefused('conflict', `Several secret keys of instance ${id} begin so`);
      }
      const result =
        secret === undefined ? 'unknown' : await this.options.store.removeKey(id, secret);
      if (result === 'unknown') {
        throw new OperationRefused('not-found', `Instance ${id} has no such secret key`);
      }
      if (result === 'last') {
        throw new OperationRefused(
          'conflict',
          `It is the only secret key of instance ${id}; add one first`,
        );
      }
    });
  }

  /** Gives how many devices are gone with it. */
  delete(id: string): Promise<number> {
    return this.inTurn(async () => {
      await this.stored(id);
      return (await this.options.store.delete(id)) ?? 0;
    });
  }

  /** Makes a change in its turn, and gives the instance as it is then. */
  private async change(id: string, make: () => Promise<void>): Promise<KeptInstance> {
    await this.inTurn(make);
    return await this.get(id);
  }

  private inTurn<T>(make: () => Promise<T>): Promise<T> {
    return this.changes.run(async () => {
      const made = await make();
      await this.options.changed();
      return made;
    });
  }

  private async stored(id: string): Promise<StoredInstance> {
    const { configured, store } = this.options;
    if (configured().some((instance) => instance.id === id)) {
      throw new OperationRefused(
        'conflict',
        `Instance ${id} stands in the configuration: change it there, at push.instances`,
      );
    }
    const instance = await store.get(id);
    if (instance === undefined) throw noSuchInstance(id);
    return instance;
  }
}

/** Checks an instance as a whole: its parts may be right and not fit together. */
function whole(instance: StoredInstance): StoredInstance {
  const { id, name, secretKeys, settings } = instance;
  checked(instanceSettings, { ...settings, id, name, secretKeys }, 'unknown setting');
  return instance;
}

/** Lays a change over settings: objects are merged, anything else is replaced, null takes a setting away. */
function laidOver(settings: Settings, change: Settings): Settings {
  const changed = Object.entries(change).filter(([, value]) => value !== undefined);
  const names = new Set(changed.map(([name]) => name));
  return Object.fromEntries([
    ...Object.entries(settings).filter(([name]) => !names.has(name)),
    ...changed.flatMap(([name, value]) => {
      if (value === null) return [];
      const before = settings[name];
      return [[name, isObject(value) ? laidOver(isObject(before) ? before : {}, value) : value]];
    }),
  ]);
}

function checkKeys(secretKeys: readonly string[]): void {
  if (secretKeys.length > SECRET_KEYS_MAX) {
    throw new OperationRefused(
      'invalid',
      `secretKeys: must be at most ${SECRET_KEYS_MAX}`,
      'secretKeys',
    );
  }
  if (new Set(secretKeys).size < secretKeys.length) {
    throw new OperationRefused(
      'invalid',
      'secretKeys: the same key stands there twice',
      'secretKeys',
    );
  }
}

function noSuchInstance(id: string): OperationRefused {
  return new OperationRefused('not-found', `There is no instance ${id}`);
}
