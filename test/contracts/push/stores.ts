import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { StoredBacklog } from '../../../src/stores/push/backlog/backlog-store.ts';
import { StoredAudience } from '../../../src/stores/push/devices/audience-source.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { StoredDeliveries } from '../../../src/stores/push/jobs/delivery-store.ts';
import { StoredStories } from '../../../src/stores/push/publishes/device-story.ts';
import { StoredLive } from '../../../src/stores/push/publishes/live-results.ts';
import { PendingBodies } from '../../../src/stores/push/publishes/pending-bodies.ts';
import { StoredPendingCompletionEvents } from '../../../src/stores/push/publishes/pending-completion-events.ts';
import { StoredPublishes } from '../../../src/stores/push/publishes/publish-store.ts';
import type { EmptyStore } from '../../../testing/databases/databases.ts';
import { makeInstance } from '../../../testing/databases/push-instance.ts';
import { MemoryBacklog } from '../../../testing/memory-stores/backlog.ts';
import { MemoryDeliveries } from '../../../testing/memory-stores/deliveries.ts';
import { MemoryAudience, MemoryDevices } from '../../../testing/memory-stores/devices.ts';
import { MemoryLive } from '../../../testing/memory-stores/live-results.ts';
import { MemoryPendingCompletionEvents } from '../../../testing/memory-stores/pending-completion-events.ts';
import { MemoryPublishes } from '../../../testing/memory-stores/publishes.ts';
import { MemoryStories } from '../../../testing/memory-stores/stories.ts';

/** A database, and a connection of another server to it. */
export interface OpenDatabases extends AsyncDisposable {
  readonly database: Database;
  readonly second: Database;
}

export async function openDatabases(make: () => Promise<EmptyStore>): Promise<OpenDatabases> {
  await using parts = new AsyncDisposableStack();
  const { url } = parts.use(await make());
  const database = parts.use(await openDatabase(url));
  // SQLite has one writer, so a second connection in the process would only wait.
  const second = database.dialect === 'sqlite' ? database : parts.use(await openDatabase(url));
  const opened = parts.move();
  return { database, second, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The push stores of two servers in one database. */
export async function openPushStores(make: () => Promise<EmptyStore>) {
  const opened = await openDatabases(make);
  const { database, second } = opened;
  const pendingBodies = new PendingBodies();
  return {
    ...opened,
    backlog: new StoredBacklog(database, pendingBodies),
    otherBacklog: new StoredBacklog(second, new PendingBodies()),
    store: new StoredDeliveries(database),
    other: new StoredDeliveries(second),
    pending: new StoredPendingCompletionEvents(database),
    otherPending: new StoredPendingCompletionEvents(second),
    stories: new StoredStories(database),
    live: new StoredLive(database),
    publishes: new StoredPublishes(database, pendingBodies),
    devices: new StoredDevices(database),
    audience: new StoredAudience(database),
    newInstance: () => makeInstance(database),
    /** Deletes an instance as an operator does, and leaves its rows to the garbage collector. */
    deleteInstance: async (instance: number): Promise<void> => {
      await database.write(
        (sql) => sql`UPDATE instance_numbers SET id = NULL WHERE number = ${instance}`,
      );
    },
  };
}

/** The push stores of two servers in memory. */
export function memoryPushStores() {
  const devices = new MemoryDevices();
  const publishes = new MemoryPublishes(devices);
  const pending = new MemoryPendingCompletionEvents(publishes);
  const backlog = new MemoryBacklog(publishes, devices);
  return {
    backlog,
    otherBacklog: backlog,
    store: new MemoryDeliveries(publishes, devices),
    other: new MemoryDeliveries(publishes, devices),
    pending,
    otherPending: pending,
    stories: new MemoryStories(publishes, devices),
    live: new MemoryLive(publishes),
    publishes,
    devices,
    audience: new MemoryAudience(devices),
    newInstance: async () => devices.newInstance(),
    deleteInstance: async (instance: number) => devices.lose(instance),
    async [Symbol.asyncDispose]() {
      // Nothing is open.
    },
  };
}
