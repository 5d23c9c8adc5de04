import { openDatabase } from '../stores/database/database.ts';
import {
  type InstanceChange,
  type StoredInstance,
  StoredInstances,
} from '../stores/tenants/instance-store.ts';
import { newInstance, newSecretKey } from './instance-credentials.ts';

/** The instances in the store, for whoever manages them beside a running server, which sees each change. */
export interface StoredInstancesAdmin extends AsyncDisposable {
  list(): Promise<readonly StoredInstance[]>;
  get(id: string): Promise<StoredInstance | undefined>;
  /** `vapidSubject` is how push services reach whoever runs the server; `undefined` leaves a stand-in there. */
  create(name: string, vapidSubject: string | undefined): Promise<StoredInstance>;
  /** Changes an instance by what it is; `false` where there is no such instance. */
  update(id: string, changed: (instance: InstanceChange) => InstanceChange): Promise<boolean>;
  /** Adds a secret key; those that the instance has stay valid until they are removed. `false` if there is no such instance. */
  addKey(id: string): Promise<boolean>;
  removeKey(id: string, secret: string): Promise<'removed' | 'unknown' | 'last'>;
  /** How many devices go with it; `undefined` where there is no such instance. */
  delete(id: string): Promise<number | undefined>;
}

/** Opens the store at `url`. Throws `StoreUnavailable`. */
export async function openStoredInstances(url: string): Promise<StoredInstancesAdmin> {
  const database = await openDatabase(url);
  const store = new StoredInstances(database);
  return {
    list: () => store.list(),
    get: (id) => store.get(id),
    async create(name, vapidSubject) {
      const instance = newInstance(name, vapidSubject);
      const created = await store.create(instance, Date.now());
      if (!created) throw new Error(`Instance ${instance.id} is there already; try again`);
      return instance;
    },
    update: (id, changed) => store.update(id, changed),
    addKey: (id) => store.addKey(id, newSecretKey()),
    removeKey: (id, secret) => store.removeKey(id, secret),
    delete: (id) => store.delete(id),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
