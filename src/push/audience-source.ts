import type { Recipient } from './model/device.ts';
import type { PublishTarget } from './model/publish.ts';

/** Reads the devices that a publish is for. */
export interface AudienceSource {
  /**
   * A part of the device numbers of one interest or user, in ascending order. Fewer than `limit` means that there are no
   * more.
   */
  numbers(range: NumberRange): Promise<readonly number[]>;
  /** The devices with these numbers, in device order. Deleted devices are left out. */
  recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]>;
}

export interface NumberRange {
  readonly instance: number;
  readonly kind: PublishTarget['kind'];
  /** The interest or user. */
  readonly name: string;
  /** Starts after this device number; 0: with the first. */
  readonly after: number;
  readonly limit: number;
}
