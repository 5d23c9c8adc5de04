import type { App, AppKey } from '../channels/app.ts';
import { Mutex } from '../runtime/mutex.ts';
import type { AppStore, StoredApp } from '../stores/tenants/app-store.ts';
import { newAppId, newAppKey } from './credentials.ts';
import type { KeptApp } from './kept.ts';
import { OperationRefused } from './operation-refused.ts';
import { withWholeUrls } from './webhook-url.ts';

/** Pairs that an app may have: every change reads all of them. */
const KEYS_MAX = 20;

export interface AppAdminOptions {
  readonly store: AppStore;
  /** The apps of the configuration as it is now. */
  readonly configured: () => readonly App[];
  /** Completes stored apps with the defaults; `left` are those that cannot be served. */
  readonly complete: (stored: readonly StoredApp[]) => {
    readonly apps: readonly App[];
    readonly left: readonly { readonly id: string; readonly why: string }[];
  };
  /** Makes the running server take over what has changed in the store; settles when it has. */
  readonly changed: () => Promise<void>;
  readonly now: () => number;
}

export interface AppSettings {
  readonly name: string | undefined;
  readonly enabled: boolean | undefined;
  /** As in the configuration, without what stands above. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Manages the apps, one change after the other; each has taken effect when it settles. Throws `OperationRefused`. */
export class AppAdmin {
  private readonly options: AppAdminOptions;
  private readonly changes = new Mutex();

  constructor(options: AppAdminOptions) {
    this.options = options;
  }

  /** Those of the configuration first; then those of the store, in the order of their making. */
  async list() {
    const { configured, complete, store } = this.options;
    const { apps, left } = complete(await store.list());
    const kept: KeptApp[] = [
      ...configured().map((app) => ({ app, source: 'configuration' as const })),
      ...apps.map((app) => ({ app, source: 'store' as const })),
    ];
    return { kept, notServed: left };
  }

  async get(id: string): Promise<KeptApp> {
    const { configured, complete, store } = this.options;
    const inFile = configured().find((app) => app.id === id);
    if (inFile !== undefined) return { app: inFile, source: 'configuration' };
    const stored = await store.get(id);
    if (stored === undefined) throw noSuchApp(id);
    const { apps, left } = complete([stored]);
    if (apps[0] !== undefined) return { app: apps[0], source: 'store' };
    throw new OperationRefused('conflict', `App ${id} is not served: ${left[0]?.why}`);
  }

  /** Without an id or keys, they are made. */
  create(
    given: AppSettings & {
      readonly id: string | undefined;
      readonly keys: readonly AppKey[] | undefined;
    },
  ) {
    return this.change(given.id ?? newAppId(), async (id) => {
      const { store, configured } = this.options;
      const { name = '', enabled = true, keys = [newAppKey()] } = given;
      const settings = withWholeUrls(given.settings);
      checkKeys(keys);
      if (configured().some((app) => app.id === id)) throw idTaken(id);
      const taken = configured().flatMap((app) => app.keys.map(({ key }) => key));
      if (keys.some(({ key }) => taken.includes(key))) throw keyTaken();
      const result = await store.create({ id, name, enabled, keys, settings }, this.options.now());
      if (result === 'id-taken') throw idTaken(id);
      if (result === 'key-taken') throw keyTaken();
    });
  }

  /** Changes what is named. `limits` are merged. */
  update(id: string, { name, enabled, settings }: AppSettings) {
    return this.change(id, async () => {
      this.refuseConfigured(id);
      const found = await this.options.store.update(id, (app) => ({
        name: name ?? app.name,
        enabled: enabled ?? app.enabled,
        settings: {
          ...app.settings,
          ...withWholeUrls(settings, app.settings),
          ...(settings['limits'] === undefined
            ? {}
            : { limits: { ...asObject(app.settings['limits']), ...asObject(settings['limits']) } }),
        },
      }));
      if (!found) throw noSuchApp(id);
    });
  }

  setEnabled(id: string, enabled: boolean) {
    return this.change(id, async () => {
      this.refuseConfigured(id);
      if (!(await this.options.store.setEnabled(id, enabled))) throw noSuchApp(id);
    });
  }

  /** Adds a pair and gives it; those that the app has stay valid. */
  async addKey(id: string): Promise<AppKey> {
    const pair = newAppKey();
    await this.change(id, async () => {
      this.refuseConfigured(id);
      const { store } = this.options;
      const app = await store.get(id);
      if (app !== undefined && app.keys.length >= KEYS_MAX) {
        throw new OperationRefused('conflict', `App ${id} has ${KEYS_MAX} keys; remove one first`);
      }
      if (!(await store.addKey(id, pair))) throw noSuchApp(id);
    });
    return pair;
  }

  /** Takes a pair away, but never the last one. */
  removeKey(id: string, key: string) {
    return this.change(id, async () => {
      this.refuseConfigured(id);
      const { store } = this.options;
      const result = await store.removeKey(id, key);
      if (result === 'unknown') {
        if ((await store.get(id)) === undefined) throw noSuchApp(id);
        throw new OperationRefused('not-found', `App ${id} has no key ${key}`);
      }
      if (result === 'last') {
        throw new OperationRefused(
          'conflict',
          `${key} is the only key of app ${id}; add one first`,
        );
      }
    });
  }

  async delete(id: string): Promise<void> {
    await this.inTurn(async () => {
      this.refuseConfigured(id);
      if (!(await this.options.store.delete(id))) throw noSuchApp(id);
    });
  }

  /** Makes a change in its turn, and gives the app as it is then. */
  private async change(id: string, make: (id: string) => Promise<void>): Promise<KeptApp> {
    await this.inTurn(() => make(id));
    return await this.get(id);
  }

  private inTurn(make: () => Promise<void>): Promise<void> {
    return this.changes.run(async () => {
      await make();
      await this.options.changed();
    });
  }

  private refuseConfigured(id: string): void {
    if (!this.options.configured().some((app) => app.id === id)) return;
    throw new OperationRefused(
      'conflict',
      `App ${id} stands in the configuration: change it there, at channels.apps`,
    );
  }
}

function checkKeys(keys: readonly AppKey[]): void {
  if (keys.length > KEYS_MAX) {
    throw new OperationRefused('invalid', `keys: must be at most ${KEYS_MAX}`, 'keys');
  }
  if (new Set(keys.map(({ key }) => key)).size < keys.length) {
    throw new OperationRefused('invalid', 'keys: the same key stands there twice', 'keys');
  }
}

function idTaken(id: string): OperationRefused {
  return new OperationRefused('conflict', `id: there is an app ${id} already`, 'id');
}

function keyTaken(): OperationRefused {
  return new OperationRefused('conflict', 'keys: an app has this key already', 'keys');
}

function noSuchApp(id: string): OperationRefused {
  return new OperationRefused('not-found', `There is no app ${id}`);
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
