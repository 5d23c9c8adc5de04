import type { Platform } from '../model/device.ts';

/** What can happen in a push instance, as a live stream names it. */
export const pushTapKinds = [
  'published',
  'planned',
  'accepted',
  'retry',
  'failed',
  'expired',
  'pruned',
  'publish-refused',
  'cancelled',
  'finished',
  'delivered',
  'opened',
  'paused',
  'resumed',
  'registered',
  'removed',
] as const;

export type PushTapKind = (typeof pushTapKinds)[number];

/** What happens in a push instance. It never has a device token, a payload or a credential. */
export interface PushTapEvent {
  readonly kind: PushTapKind;
  readonly publish?: string | undefined;
  readonly device?: string | undefined;
  readonly user?: string | undefined;
  readonly platform?: Platform | undefined;
  /** The interests or users that a publish is for. */
  readonly target?: string | undefined;
  /** When a publish is sent, or a device is tried again. Milliseconds since 1970. */
  readonly dueAtMs?: number | undefined;
  /** Devices of a page, or devices that were removed. */
  readonly devices?: number | undefined;
  /** Attempts to reach the device that failed. */
  readonly attempts?: number | undefined;
  readonly reason?: string | undefined;
  /** The text of the gateway. */
  readonly words?: string | undefined;
  /** The push service of a pause, if the platform has several. */
  readonly origin?: string | undefined;
}

/**
 * Handles what happens in an instance while somebody watches it. Returns synchronously and never fails; what it
 * stores is bounded.
 */
export interface PushTap {
  record(event: PushTapEvent): void;
}

/** The taps of all instances that somebody watches. */
export interface PushTaps {
  /** By the number of the instance; `undefined` while nobody watches any. */
  readonly watched: ReadonlyMap<number, PushTap> | undefined;
}

/** Nobody watches. */
export const noTaps: PushTaps = { watched: undefined };

/** The taps of a server. While nobody watches, an event costs one field test. */
export class InstanceTaps implements PushTaps {
  watched: ReadonlyMap<number, PushTap> | undefined;

  /** Sets or removes the tap of an instance. */
  set(instance: number, tap: PushTap | undefined): void {
    const taps = new Map(this.watched);
    if (tap === undefined) taps.delete(instance);
    else taps.set(instance, tap);
    this.watched = taps.size === 0 ? undefined : taps;
  }
}
