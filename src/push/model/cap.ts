/** The reason of devices that had as many notifications as the instance allows. */
export const OVER_CAP = 'over-cap';

/** How many notifications a device is shown in a time. The time begins with its first one. */
export interface Cap {
  readonly notifications: number;
  readonly hours: number;
}

/** What a page adds to the caps of its devices. */
export interface PageCap extends Cap {
  readonly nowMs: number;
  /** The devices that would be shown it. */
  readonly devices: readonly number[];
}

/** What a device was shown since a time, which began with the first of these notifications. */
export interface CapUse {
  readonly used: number;
  readonly sinceMs: number;
}

const HOUR_MS = 3_600_000;

/** A time that began then, or before, is over. */
export function capEndedAtMs({ nowMs, hours }: Pick<PageCap, 'nowMs' | 'hours'>): number {
  return nowMs - hours * HOUR_MS;
}

/** When a time ends that began at `sinceMs`. */
export function capEndsAtMs({ hours }: Pick<Cap, 'hours'>, sinceMs: number): number {
  return sinceMs + hours * HOUR_MS;
}

/** Says why a device does not get a notification: the time began at `sinceMs`. */
export function overCapWords({ notifications, hours }: Cap, sinceMs: number): string {
  const many = notifications === 1 ? '1 notification' : `${notifications} notifications`;
  // To the minute, so that devices share their words.
  return `${many} in the ${hours} h since ${new Date(sinceMs).toISOString().slice(0, 16)}Z`;
}
