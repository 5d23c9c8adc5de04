import type { Log } from '../../runtime/ports.ts';
import type { DeviceFilter, DeviceList } from '../../stores/push/devices/device-list.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';

export interface DeviceAdminOptions {
  readonly store: DeviceList;
  /** The number of a served instance. The id may be in any case. */
  readonly numberOf: (id: string) => number | undefined;
  readonly log: Log;
}

interface DeviceQuery {
  readonly filter: DeviceFilter;
  /** The position to continue from; 0 for the first page. */
  readonly after: number;
}

/** Lists and removes the devices of instances. Throws `OperationRefused`. */
export class DeviceAdmin {
  private readonly options: DeviceAdminOptions;

  constructor(options: DeviceAdminOptions) {
    this.options = options;
  }

  async list(id: string, { filter, after, limit }: DeviceQuery & { readonly limit: number }) {
    return await this.options.store.list({ instance: this.numberOf(id), filter, after, limit });
  }

  async remove(id: string, { filter, after, dryRun }: DeviceQuery & { readonly dryRun: boolean }) {
    const { store, log } = this.options;
    const done = await store.remove({
      instance: this.numberOf(id),
      filter,
      after,
      isDryRun: dryRun,
    });
    if (!dryRun && done.devices > 0) {
      log.info('Devices removed', {
        instance: id.toLowerCase(),
        devices: done.devices,
        by: 'admin-api',
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
