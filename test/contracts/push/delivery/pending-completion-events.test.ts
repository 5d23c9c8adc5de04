import { openDatabase } from '../../../../src/stores/database/database.ts';
import { StoredAudience } from '../../../../src/stores/push/devices/audience-source.ts';
import { StoredDevices } from '../../../../src/stores/push/devices/device-store.ts';
import { StoredDeliveries } from '../../../../src/stores/push/jobs/delivery-store.ts';
import { StoredStories } from '../../../../src/stores/push/publishes/device-story.ts';
import { StoredPendingCompletionEvents } from '../../../../src/stores/push/publishes/pending-completion-events.ts';
import { StoredPublishes } from '../../../../src/stores/push/publishes/publish-store.ts';
import { databases } from '../../../../testing/databases/databases.ts';
import { makeInstance } from '../../../../testing/databases/push-instance.ts';
import { MemoryDeliveries } from '../../../../testing/memory-stores/deliveries.ts';
import { MemoryAudience, MemoryDevices } from '../../../../testing/memory-stores/devices.ts';
import { MemoryPendingCompletionEvents } from '../../../../testing/memory-stores/pending-completion-events.ts';
import { MemoryPublishes } from '../../../../testing/memory-stores/publishes.ts';
import { MemoryStories } from '../../../../testing/memory-stores/stories.ts';
import { pendingCompletionEventsContract } from './pending-completion-events.contract.ts';

pendingCompletionEventsContract('MemoryPendingCompletionEvents', async () => {
  const devices = new MemoryDevices();
  const publishes = new MemoryPublishes(devices);
  const pending = new MemoryPendingCompletionEvents(publishes);
  return {
    store: new MemoryDeliveries(publishes, devices),
    other: new MemoryDeliveries(publishes, devices),
    stories: new MemoryStories(publishes, devices),
    pending,
    otherPending: pending,
    publishes,
    devices,
    audience: new MemoryAudience(devices),
    newInstance: async () => devices.newInstance(),
    async [Symbol.asyncDispose]() {
      // Nothing is open.
    },
  };
});

for (const { name, make } of databases) {
  pendingCompletionEventsContract(`StoredPendingCompletionEvents in ${name}`, async () => {
    await using parts = new AsyncDisposableStack();
    const place = parts.use(await make());
    const database = parts.use(await openDatabase(place.url));
    // SQLite has one writer, so a second connection in the process would only wait.
    const second =
      database.dialect === 'sqlite' ? database : parts.use(await openDatabase(place.url));
    const opened = parts.move();
    return {
      store: new StoredDeliveries(database),
      other: new StoredDeliveries(second),
      stories: new StoredStories(database),
      pending: new StoredPendingCompletionEvents(database),
      otherPending: new StoredPendingCompletionEvents(second),
      publishes: new StoredPublishes(database),
      devices: new StoredDevices(database),
      audience: new StoredAudience(database),
      newInstance: () => makeInstance(database),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  });
}
