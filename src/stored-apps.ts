import { newAppId, newAppKey } from './apps/credentials.ts';
import type { AppKey } from './channels/app.ts';
import { AppStore, type StoredApp } from './stores/app-store.ts';
import { openDatabase } from './stores/database.ts';

/** The apps in the store, for whoever manages them beside a running server, which sees each change. */
export interface StoredAppsAdmin extends AsyncDisposable {
  list(): Promise<readonly StoredApp[]>;
  get(id: string): Promise<StoredApp | undefined>;
  create(name: string, settings: StoredApp['settings']): Promise<StoredApp>;
  /** Adds a pair; those that the app has stay valid until they are taken away. */
  addKey(id: string): Promise<AppKey>;
  /** `false` where the app has no such key. */
  removeKey(id: string, key: string): Promise<boolean>;
  /** `false` where there is no such app. */
  setEnabled(id: string, enabled: boolean): Promise<boolean>;
  delete(id: string): Promise<boolean>;
}

/** Opens the store at `url`. Throws `StoreUnavailable`. */
export async function openStoredApps(url: string): Promise<StoredAppsAdmin> {
  const database = await openDatabase(url);
  const store = new AppStore(database);
  return {
    list: () => store.list(),
    get: (id) => store.get(id),
    async create(name, settings) {
      const app = { id: newAppId(), name, enabled: true, keys: [newAppKey()], settings };
      await store.create(app, Date.now());
      return app;
    },
    async addKey(id) {
      const pair = newAppKey();
      await store.addKey(id, pair);
      return pair;
    },
    removeKey: (id, key) => store.removeKey(id, key),
    setEnabled: (id, enabled) => store.setEnabled(id, enabled),
    delete: (id) => store.delete(id),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
