import type { Log } from '../runtime/ports.ts';
import type { DeviceFilter, DeviceList } from '../stores/push/devices/device-list.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';

export interface DeviceAdminOptions {
  readonly store: DeviceList;
  /** The number of a served instance, by its id in any case. */
  readonly numberOf: (id: string) => number | undefined;
  readonly log: Log;
}

/** Lists and removes the devices of instances. Throws `OperationRefused`. */
export class DeviceAdmin {
  private readonly options: DeviceAdminOptions;

  constructor(options: DeviceAdminOptions) {
    this.options = options;
  }

  async list(id: string, filter: DeviceFilter, after: number, most: number) {
    return await this.options.store.list(this.numberOf(id), filter, after, most);
  }

  async remove(id: string, filter: DeviceFilter, after: number, isDryRun: boolean) {
    const { store, log } = this.options;
    const done = await store.remove(this.numberOf(id), filter, after, isDryRun);
    if (!isDryRun && done.devices > 0) {
      log.info('Devices removed by the admin API', {
        instance: id.toLowerCase(),
        devices: done.devices,
      });
    }
    return done;
  }

  private numberOf(id: string): number {
    const number = this.options.numberOf(id);
    if (number === undefined) throw new OperationRefused('not-found', `There is no instance ${id}`);
    return number;
  }
}
