import type { Acceptance, NewPublish, PublishId, PublishStatus, Report } from './model/publish.ts';

/** Stores publishes and their status. */
export interface PublishStore {
  /** Stores a publish, or returns why not. Durable when it settles. */
  accept(publish: NewPublish): Promise<Acceptance>;
  status(of: PublishAt): Promise<PublishStatus | undefined>;
  /** Cancels what was not sent yet. Does nothing to a finished publish. */
  cancel(publish: PublishAt): Promise<AfterCancel | undefined>;
  /**
   * Stores a report. Returns `undefined` and drops the report if it repeats another, if its publish or device is
   * unknown, or if the device is on no page of the publish that was sent.
   */
  report(received: ReceivedReport): Promise<KeptReport | undefined>;
}

/** A publish at a time. */
export interface PublishAt {
  readonly instance: number;
  readonly id: PublishId;
  readonly nowMs: number;
}

export interface ReceivedReport {
  readonly instance: number;
  readonly report: Report;
  readonly nowMs: number;
}

/** The status after a call to cancel. */
export interface AfterCancel extends PublishStatus {
  /** Set if this call cancelled it: it was not finished before. */
  readonly isCancelledNow?: true;
}

/** A stored report. */
export interface KeptReport {
  /** The user of the device, if it has one. */
  readonly userId: string | undefined;
}
