import { openDatabase } from '../stores/database/database.ts';
import { AppStore, type StoredApp } from '../stores/tenants/app-store.ts';
import { newAppId, newAppKey } from './credentials.ts';

/** The apps in the store, for whoever manages them beside a running server, which sees each change. */
export interface StoredAppsAdmin extends AsyncDisposable {
  list(): Promise<readonly StoredApp[]>;
  get(id: string): Promise<StoredApp | undefined>;
  create(name: string, settings: StoredApp['settings']): Promise<StoredApp>;
  /** Adds a pair; those that the app has stay valid until they are removed. `false` if there is no such app. */
  addKey(id: string): Promise<boolean>;
  /** Never removes the last key of an app. */
  removeKey(id: string, key: string): Promise<'removed' | 'unknown' | 'last'>;
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
      const result = await store.create(app, Date.now());
      if (result !== 'created') throw new Error(`App ${app.id} is there already; try again`);
      return app;
    },
    addKey: (id) => store.addKey(id, newAppKey()),
    removeKey: (id, key) => store.removeKey(id, key),
    setEnabled: (id, enabled) => store.setEnabled(id, enabled),
    delete: (id) => store.delete(id),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
