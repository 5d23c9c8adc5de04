import type { Platform } from './model/device.ts';
import type { PublishId } from './model/publish.ts';

/** From this share of `limits.pendingPublishBytes` on, publishes of the instance give way to new ones, until the other share. */
export const GIVE_WAY_FROM = 0.8;
export const GIVE_WAY_TO = 0.7;

/** A smaller publish counts as this much, because its rows take as much. */
const COUNTED_BYTES_MIN = 512;

/** The bytes that a publish counts as. */
export function countedBytes(body: string): number {
  return Math.max(COUNTED_BYTES_MIN, Buffer.byteLength(body));
}

/** The reason of devices whose publish gave way. They count as expired. */
export const GAVE_WAY = 'gave-way';

/**
 * Makes room for new publishes of an instance.
 *
 * A publish may give way if it is planned to its end and waits only for failures: each of its unfinished devices has a
 * retry that no server has claimed, or is on a page that is held. It is then finished, with its completion events.
 */
export interface BacklogStore {
  /** The bytes of the bodies of unfinished publishes, as counted against the limit of the instance. Read now. */
  pendingBytes(of: { readonly instance: number; readonly nowMs: number }): Promise<number>;
  /** Lists publishes that may give way, the oldest first: those among the next unfinished ones. */
  waiting(query: WaitingQuery): Promise<WaitingPublishes>;
  /** Makes those of some publishes give way that still may. One commit. The same twice changes nothing. */
  giveWay(asked: AskedToGiveWay): Promise<GaveWay>;
}

export interface WaitingQuery {
  readonly instance: number;
  /** The place to continue from; 0: the oldest. */
  readonly after: number;
}

export interface WaitingPublishes {
  readonly publishes: readonly WaitingPublish[];
  /** The place to continue from; `undefined`: there are no more. */
  readonly next: number | undefined;
}

/** A publish that waits only for failures. */
export interface WaitingPublish {
  readonly number: number;
  /** The bytes of the publish, as counted against the limit. */
  readonly bytes: number;
  /** The platform of most of its unfinished devices. */
  readonly platform: Platform;
}

export interface AskedToGiveWay {
  readonly instance: number;
  /** The numbers of publishes. */
  readonly publishes: readonly number[];
  readonly nowMs: number;
}

/** What gave way. */
export interface GaveWay {
  readonly publishes: readonly PublishId[];
  readonly devices: Readonly<Record<Platform, number>>;
  readonly bytes: number;
}
