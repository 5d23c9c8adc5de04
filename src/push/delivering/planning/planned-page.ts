import type { PageJob, PublishUnderWay } from '../../model/delivery.ts';
import type { Recipient } from '../../model/device.ts';
import type { StoredPublish } from '../stored-publish.ts';

/** A page that was just planned, with its devices. */
export interface PlannedPage {
  readonly page: number;
  readonly publish: PublishUnderWay;
  readonly recipients: readonly Recipient[];
  readonly claimedUntilMs: number;
  /** See `PageJob`. */
  readonly nextDueMs?: number | undefined;
  readonly leftOut?: PageJob['leftOut'];
  readonly stored: StoredPublish;
}

/** Where a page goes that was just planned. */
export type PlaceForPage =
  | 'here'
  /** Into the store, to be claimed as soon as there is room. */
  | 'store'
  /** Into the store, to be claimed later: its gateways cannot be reached now. */
  | 'store-later'
  /** Nowhere: too many pages wait, so planning waits, too. */
  | 'nowhere';
