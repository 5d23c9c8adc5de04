import { newAppId, newAppKey } from '../apps/credentials.ts';
import type { App, AppKey } from '../channels/app.ts';
import type { Log } from '../channels/ports.ts';
import type { AppStore, StoredApp } from '../stores/app-store.ts';
import type { KeptApp } from './app-shapes.ts';
import { Refusal } from './refusal.ts';
import { Turns } from './turns.ts';
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
  readonly log: Log;
}

export interface AppSettings {
  readonly name: string | undefined;
  readonly enabled: boolean | undefined;
  /** As in the configuration, without what stands above. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Manages the apps, one change after the other; each has taken effect when it settles. Throws `Refusal`. */
export class AppAdmin {
  private readonly options: AppAdminOptions;
  private readonly turns = new Turns();

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
    const { kept, notServed } = await this.list();
    const found = kept.find(({ app }) => app.id === id);
    if (found !== undefined) return found;
    const left = notServed.find((app) => app.id === id);
    if (left !== undefined) throw new Refusal('conflict', `App ${id} is not served: ${left.why}`);
    throw noSuchApp(id);
  }

  /** Without an id or keys, they are made. */
  create(
    given: AppSettings & {
      readonly id: string | undefined;
      readonly keys: readonly AppKey[] | undefined;
    },
  ) {
    return this.change('created', given.id ?? newAppId(), async (id) => {
      const { store, configured } = this.options;
      const { name = '', enabled = true, keys = [newAppKey()] } = given;
      const settings = withWholeUrls(given.settings);
      checkKeys(keys);
      const others = [...configured(), ...(await store.list())];
      if (others.some((app) => app.id === id)) {
        throw new Refusal('conflict', `id: there is an app ${id} already`, 'id');
      }
      const taken = others.flatMap((app) => app.keys.map(({ key }) => key));
      if (keys.some(({ key }) => taken.includes(key))) {
        throw new Refusal('conflict', 'keys: an app has this key already', 'keys');
      }
      await store.create({ id, name, enabled, keys, settings }, this.options.now());
    });
  }

  /** Changes what is named. `limits` are merged. */
  update(id: string, { name, enabled, settings }: AppSettings) {
    return this.change('changed', id, async () => {
      await this.stored(id);
      await this.options.store.update(id, (app) => ({
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
    });
  }

  setEnabled(id: string, enabled: boolean) {
    return this.change(enabled ? 'enabled' : 'disabled', id, async () => {
      await this.stored(id);
      await this.options.store.setEnabled(id, enabled);
    });
  }

  /** Adds a pair and gives it; those that the app has stay valid. */
  async addKey(id: string): Promise<AppKey> {
    const pair = newAppKey();
    await this.change('given a key', id, async () => {
      const { keys } = await this.stored(id);
      if (keys.length >= KEYS_MAX) {
        throw new Refusal('conflict', `App ${id} has ${KEYS_MAX} keys; remove one first`);
      }
      await this.options.store.addKey(id, pair);
    });
    return pair;
  }

  /** Takes a pair away, but never the last one. */
  removeKey(id: string, key: string) {
    return this.change('deprived of a key', id, async () => {
      const { keys } = await this.stored(id);
      if (!keys.some((pair) => pair.key === key)) {
        throw new Refusal('not-found', `App ${id} has no key ${key}`);
      }
      if (keys.length === 1) {
        throw new Refusal('conflict', `${key} is the only key of app ${id}; add one first`);
      }
      await this.options.store.removeKey(id, key);
    });
  }

  async delete(id: string): Promise<void> {
    await this.inTurn('deleted', id, async () => {
      await this.stored(id);
      await this.options.store.delete(id);
    });
  }

  /** Makes a change in its turn, and gives the app as it is then. */
  private async change(
    what: string,
    id: string,
    make: (id: string) => Promise<void>,
  ): Promise<KeptApp> {
    await this.inTurn(what, id, () => make(id));
    return await this.get(id);
  }

  private inTurn(what: string, id: string, make: () => Promise<void>): Promise<void> {
    return this.turns.take(async () => {
      await make();
      this.options.log.info(`App ${what} by the admin API`, { app: id });
      await this.options.changed();
    });
  }

  private async stored(id: string): Promise<StoredApp> {
    const { configured, store } = this.options;
    if (configured().some((app) => app.id === id)) {
      throw new Refusal(
        'conflict',
        `App ${id} stands in the configuration: change it there, at channels.apps`,
      );
    }
    const app = await store.get(id);
    if (app === undefined) throw noSuchApp(id);
    return app;
  }
}

function checkKeys(keys: readonly AppKey[]): void {
  if (keys.length > KEYS_MAX) {
    throw new Refusal('invalid', `keys: must be at most ${KEYS_MAX}`, 'keys');
  }
  if (new Set(keys.map(({ key }) => key)).size < keys.length) {
    throw new Refusal('invalid', 'keys: the same key stands there twice', 'keys');
  }
}

function noSuchApp(id: string): Refusal {
  return new Refusal('not-found', `There is no app ${id}`);
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
