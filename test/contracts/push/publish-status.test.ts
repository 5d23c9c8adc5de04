import { expect, it } from 'bun:test';
import type { Database } from '../../../src/stores/database/database.ts';
import { StoredPublishes } from '../../../src/stores/push/publishes/publish-store.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { DeliveryScene } from './delivery/delivery-scene.ts';
import { openPushStores } from './stores.ts';

/** The same database, except that a change is made before the first statement that it reads returns. */
function changedWhileRead(database: Database, change: () => Promise<unknown>): Database {
  let isChanged = false;
  const read = new Proxy(database.read, {
    async apply(ask, self, given) {
      const rows: unknown = await Reflect.apply(ask, self, given);
      if (!isChanged) {
        isChanged = true;
        await change();
      }
      return rows;
    },
  });
  return new Proxy(database, {
    get: (target, name) => (name === 'read' ? read : Reflect.get(target, name)),
  });
}

it.each(databases)('the status of a publish in $name is of one moment', async ({ make }) => {
  await using stores = await openPushStores(make);
  const scene = new DeliveryScene(stores, await stores.newInstance());
  const { id, instance } = await scene.planned({ devices: 2 });
  const before = await scene.status(id);
  const changed = changedWhileRead(stores.database, () => scene.deliver('failed'));
  const seen = await new StoredPublishes(changed).status({ instance, id, nowMs: scene.nowMs });
  const after = await scene.status(id);
  expect([before.state, after.state]).toEqual(['delivering', 'finished']);
  expect<unknown[]>([before, after]).toContainEqual(seen);
});
