import type { Acceptance, NewPublish, PublishId, PublishStatus, Report } from './model/publish.ts';

/** Keeps publishes, and what became of them. */
export interface PublishStore {
  /** Keeps a publish, or says why not. Durable when it settles. */
  accept(publish: NewPublish): Promise<Acceptance>;
  status(instance: number, id: PublishId, nowMs: number): Promise<PublishStatus | undefined>;
  /** Cancels what has not gone out. One that is over stays as it is, and nothing is written then. */
  cancel(instance: number, id: PublishId, nowMs: number): Promise<AfterCancel | undefined>;
  /**
   * Keeps a report once. One that repeats another is dropped, and so is one for an unknown publish or device, or of a
   * device that is on no page of the publish, or only on one that was cancelled: then `undefined`.
   */
  report(instance: number, report: Report, nowMs: number): Promise<KeptReport | undefined>;
}

/** A publish that was to be cancelled. */
export interface AfterCancel extends PublishStatus {
  /** It was this call that cancelled it: it was not over before. */
  readonly isCancelledNow?: true;
}

/** A report that was kept. */
export interface KeptReport {
  /** Whose device has sent it; `undefined` where it has no user. */
  readonly userId: string | undefined;
}
