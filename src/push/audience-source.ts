import type { Recipient } from './model/device.ts';
import type { PublishTarget } from './model/publish.ts';

/** Reads the devices that a publish is for. */
export interface AudienceSource {
  /**
   * The device numbers of one interest or user greater than `after`, in ascending order, at most `limit`. Fewer than
   * `limit` means that there are no more.
   */
  numbers(
    instance: number,
    kind: PublishTarget['kind'],
    name: string,
    after: number,
    limit: number,
  ): Promise<readonly number[]>;
  /** The devices with these numbers, in device order. Deleted devices are left out. */
  recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]>;
}
