import type { Recipient } from '../../model/device.ts';

/**
 * Most devices to remember. The store knows every accepted device; this memory serves devices that were read from the
 * store before they were accepted.
 */
const DEVICES_MAX = 4_000;

/**
 * The devices that were accepted with one credential. Their outcomes say something about the gateway, while those of
 * other devices may be made up by an attacker who registered them.
 */
export class TrustedDevices {
  /**
   * Accepted tokens by device number, in two halves. When the newer half is full, the older one is forgotten: removing
   * the oldest entry of a `Map` for each new one would take longer than all the rest.
   */
  private newer = new Map<number, string>();
  private older: ReadonlyMap<number, string> = new Map();
  /** Oldest first. Not stored: distrust ends with the next acceptance, and a restart is rare. */
  private readonly distrusted = new Set<number>();

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
    if (this.distrusted.size <= DEVICES_MAX) return;
    const [oldest] = this.distrusted;
    if (oldest !== undefined) this.distrusted.delete(oldest);
  }

  /** Takes note of an acceptance. */
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
