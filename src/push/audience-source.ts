import type { Recipient } from './model/device.ts';
import type { PublishTarget } from './model/publish.ts';

/** Reads whom a publish is for. */
export interface AudienceSource {
  /**
   * The devices of one interest or one user, in device order: numbers greater than `after`, at most `most`.
   * Fewer than `most` means that there are no more.
   */
  numbers(
    instance: number,
    kind: PublishTarget['kind'],
    name: string,
    after: number,
    most: number,
  ): Promise<readonly number[]>;
  /** The devices with these numbers, in device order; those that are gone are left out. */
  recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]>;
}
