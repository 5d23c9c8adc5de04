import type { PublishId } from '../model/publish.ts';

/** What a device needs to report a notification. */
export interface Tracking {
  readonly instanceId: string;
  readonly publishId: PublishId;
}
