/**
 * The pause of a device whose gateway answers for this device alone. Until it ends, nothing is sent to the device. Then one
 * notification is the probe: if it is accepted, the pause is forgotten; if not, the next pause is longer.
 */
export interface DevicePause {
  readonly untilMs: number;
  /** Attempts that have failed since the device was last accepted. Those in flight at the same time count as one. */
  readonly failures: number;
  /** When the first of them failed. */
  readonly sinceMs: number;
}

/** A pause as it is shown. It may be over. */
export interface ShownPause extends DevicePause {
  /** How many publishes wait for its end. */
  readonly waiting: number;
  /** The reason of the failure that caused it; empty: not known. */
  readonly cause: string;
}

/** A pause as it is stored: only if the device still has the token that failed. */
export interface NewDevicePause extends DevicePause {
  readonly token: string;
}

/**
 * The reason of a device that waits for the end of its pause. Its words are the reason of the failure that caused the pause,
 * or empty. The store makes such devices due one after the other, the oldest publish first.
 */
export const DEVICE_PAUSED = 'device-paused';

/** The interval at which publishes become due that wait for the same device. */
export const PAUSED_INTERVAL_MS = 1_000;

/** Publishes that wait for one device: as many as FCM keeps for a phone that is offline. */
export const WAITING_PER_DEVICE = 100;

/** The reason of the oldest publish that waited for a device, when one more than `WAITING_PER_DEVICE` has come. */
export const TOO_MANY_FOR_DEVICE = 'too-many-for-device';
