import type { Cap, PageCap } from '../model/cap.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import type { Platform, Recipient } from '../model/device.ts';
import { instantIn, quietUntil, timeOfDayIn } from '../model/local-time.ts';
import type { QuietHours } from '../model/preferences.ts';
import { isShownOn } from '../payloads/shown.ts';
import { timeToLiveEnd } from './routes/lifetime.ts';
import type { StoredPublish } from './stored-publish.ts';

/** What an instance says for devices that say nothing themselves. */
export interface Manners {
  readonly timeZone?: string | undefined;
  readonly quietHours?: QuietHours | undefined;
  /** `undefined`: devices may get any number of notifications. */
  readonly cap?: Cap | undefined;
}

/** When a device is due. */
export type DueTime =
  | { readonly what: 'due'; readonly atMs: number; readonly isQuiet: boolean }
  /** Its time to live ends before its quiet hours do, which is at `words`. */
  | { readonly what: 'too-late'; readonly words: string };

/** What holds for all devices in the same zone with the same quiet hours. */
interface Night {
  /** `undefined`: it is not quiet. */
  readonly untilMs: number | undefined;
  readonly timeZone: string;
}

/** The reason of devices whose time to live ends before their quiet hours do. */
export const QUIET_HOURS = 'quiet-hours';

/** After quiet hours, pages begin within this time, so that not all devices of a zone get it in the same second. */
export const SPREAD_SECONDS = 300;

const UTC = 'UTC';

/** The limit of nights that are remembered. Pages are planned at different times, so a night is rarely asked for again after long. */
const NIGHTS_MAX = 500;

/** Works out when each device of a publish is due, by its local time and its quiet hours. */
export class DueTimes {
  private readonly publish: Pick<PublishUnderWay, 'dueAtMs'>;
  private readonly stored: StoredPublish;
  private readonly manners: Manners;
  /** By time zone. */
  private readonly localMs = new Map<string, number | undefined>();
  private readonly nights = new Map<string, Night>();

  constructor(publish: Pick<PublishUnderWay, 'dueAtMs'>, stored: StoredPublish, manners: Manners) {
    this.publish = publish;
    this.stored = stored;
    this.manners = manners;
  }

  /** When a device is due but for its quiet hours. Its time to live starts here. */
  startOf(recipient: Recipient): number {
    const { sendAtLocal } = this.stored;
    const { dueAtMs } = this.publish;
    if (sendAtLocal === undefined) return dueAtMs;
    const localMs =
      this.localIn(recipient.preferences?.timeZone) ?? this.localIn(this.manners.timeZone ?? UTC);
    // In some zones it may have been over when the publish was accepted.
    return Math.max(dueAtMs, localMs ?? dueAtMs);
  }

  /** When a device is first tried, or later if planning was late. It is tried for some hours from then on. */
  firstTryOf(recipient: Recipient): number {
    const startMs = this.startOf(recipient);
    const due = this.of(recipient, startMs);
    return due.what === 'due' && due.isQuiet ? due.atMs + SPREAD_SECONDS * 1000 : startMs;
  }

  /** When a device is to be sent to, if it is looked at now. */
  of(recipient: Recipient, nowMs: number): DueTime {
    const startMs = this.startOf(recipient);
    const night = this.nightOf(recipient, Math.max(startMs, nowMs));
    if (night?.untilMs === undefined) return { what: 'due', atMs: startMs, isQuiet: false };
    const { untilMs, timeZone } = night;
    if (timeToLiveEnd(this.stored.payloads, recipient.platform, startMs) > untilMs) {
      return { what: 'due', atMs: untilMs, isQuiet: true };
    }
    return { what: 'too-late', words: `${timeOfDayIn(timeZone, untilMs)} (${timeZone})` };
  }

  /** Whether all of some devices are due without a look at each one's clock, which is nearly always so. */
  areDue(recipients: readonly Recipient[], nowMs: number): boolean {
    if (this.stored.sendAtLocal !== undefined || this.publish.dueAtMs > nowMs) return false;
    const { quietHours: ofInstance = 'none' } = this.manners;
    return recipients.every(
      ({ platform, preferences }) =>
        (preferences?.quietHours ?? ofInstance) === 'none' || !this.isHeldBack(platform),
    );
  }

  /** `undefined`: the device has no quiet hours, or the publish passes them. */
  private nightOf({ platform, preferences }: Recipient, atMs: number): Night | undefined {
    const quietHours = preferences?.quietHours ?? this.manners.quietHours;
    if (quietHours === undefined || quietHours === 'none' || !this.isHeldBack(platform)) {
      return undefined;
    }
    const own = preferences?.timeZone;
    const key = `${atMs} ${own} ${quietHours.from} ${quietHours.to}`;
    const known = this.nights.get(key);
    if (known !== undefined) return known;
    const timeZone =
      own !== undefined && timeOfDayIn(own, atMs) !== undefined
        ? own
        : (this.manners.timeZone ?? UTC);
    const night = { untilMs: quietUntil(atMs, quietHours, timeZone), timeZone };
    if (this.nights.size >= NIGHTS_MAX) this.nights.clear();
    this.nights.set(key, night);
    return night;
  }

  /** What the page of some devices adds to their caps; `undefined`: nothing. */
  capOf(recipients: readonly Recipient[], nowMs: number): PageCap | undefined {
    const { cap } = this.manners;
    if (cap === undefined) return undefined;
    const counted = recipients.filter(
      (one) => this.isHeldBack(one.platform) && this.of(one, nowMs).what === 'due',
    );
    return counted.length === 0
      ? undefined
      : { ...cap, nowMs, devices: counted.map(({ number }) => number) };
  }

  /** Whether quiet hours and caps hold for a publish on a platform: only for what would be shown. */
  private isHeldBack(platform: Platform): boolean {
    const { isUrgent, payloads } = this.stored;
    return isUrgent !== true && isShownOn(payloads, platform);
  }

  private localIn(timeZone: string | undefined): number | undefined {
    const { sendAtLocal } = this.stored;
    if (timeZone === undefined || sendAtLocal === undefined) return undefined;
    if (!this.localMs.has(timeZone)) this.localMs.set(timeZone, instantIn(timeZone, sendAtLocal));
    return this.localMs.get(timeZone);
  }
}
