import { openDatabase } from '../stores/database/database.ts';
import { type DeviceFilter, DeviceList } from '../stores/push/devices/device-list.ts';
import { StoredInstances } from '../stores/tenants/instance-store.ts';
import { type ShownDevice, showDevice } from './device-shapes.ts';

/** The devices in the store, for operators, also beside a running server. */
export interface StoredDevicesAdmin extends AsyncDisposable {
  /** Gives up to `most` devices, the oldest first; `undefined` where the store knows no such instance. */
  list(
    instanceId: string,
    filter: DeviceFilter,
    most: number,
  ): Promise<{ readonly devices: readonly ShownDevice[]; readonly hasMore: boolean } | undefined>;
  /** Removes all that are meant, or counts them. Gives how many. */
  remove(instanceId: string, filter: DeviceFilter, isDryRun: boolean): Promise<number | undefined>;
}

/** Opens the store at `url`. Throws `StoreUnavailable`. */
export async function openStoredDevices(url: string): Promise<StoredDevicesAdmin> {
  const database = await openDatabase(url);
  const instances = new StoredInstances(database);
  const devices = new DeviceList(database);
  return {
    async list(instanceId, filter, most) {
      const instance = await instances.findNumber(instanceId);
      if (instance === undefined) return undefined;
      const shown: ShownDevice[] = [];
      let next: number | undefined = 0;
      while (next !== undefined && shown.length < most) {
        const found = await devices.list(instance, filter, next, most - shown.length);
        shown.push(...found.devices.map(showDevice));
        next = found.next;
      }
      return { devices: shown, hasMore: next !== undefined };
    },
    async remove(instanceId, filter, isDryRun) {
      const instance = await instances.findNumber(instanceId);
      if (instance === undefined) return undefined;
      let removed = 0;
      let next: number | undefined = 0;
      while (next !== undefined) {
        const done = await devices.remove(instance, filter, next, isDryRun);
        removed += done.devices;
        next = done.next;
      }
      return removed;
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
