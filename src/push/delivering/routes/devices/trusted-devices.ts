import { RecentSet } from '../../../../runtime/recent.ts';
import type { Recipient } from '../../../model/device.ts';

/**
 * Most devices to remember. The store knows every accepted device; this memory serves devices that were read from the
 * store before they were accepted.
 */
const DEVICES_MAX = 4_000;

/**
 * The devices that were accepted with one credential. Their outcomes are evidence about the gateway, while an
 * attacker could fake those of other devices.
 */
export class TrustedDevices {
  /**
   * Accepted tokens by device number, in two generations. When the newer one is full, the older one is dropped:
   * removing the oldest entry of a `Map` for each new one would take longer than everything else.
   */
  private newer = new Map<number, string>();
  private older: ReadonlyMap<number, string> = new Map();
  /** Oldest first. Not stored: distrust ends with the next acceptance, and restarts are rare. */
  private readonly distrusted = new RecentSet<number>(DEVICES_MAX);

  has(recipient: Recipient): boolean {
    return !this.isDistrusted(recipient.number) && this.wasAccepted(recipient);
  }

  /** Whether a device was ever accepted, distrusted or not. */
  wasAccepted({ number, token, isTrusted }: Recipient): boolean {
    return isTrusted || (this.newer.get(number) ?? this.older.get(number)) === token;
  }

  /** Distrusts a device until it is accepted again. */
  distrust(device: number): void {
    this.distrusted.add(device);
  }

  /** Records an acceptance. */
  add({ number, token, isTrusted }: Recipient): void {
    if (this.distrusted.size > 0) this.distrusted.delete(number);
    if (isTrusted) return;
    this.newer.set(number, token);
    if (this.newer.size < DEVICES_MAX / 2) return;
    this.older = this.newer;
    this.newer = new Map();
  }

  clear(): void {
    this.newer.clear();
    this.older = new Map();
    this.distrusted.clear();
  }

  private isDistrusted(device: number): boolean {
    return this.distrusted.size > 0 && this.distrusted.has(device);
  }
}
