import type { Recipient } from '../model/device.ts';

/**
 * Most devices to remember. The store knows every accepted device; this memory serves devices that were read from the
 * store before they were accepted.
 */
const DEVICES_MAX = 4_000;

/**
 * The devices that were accepted with one credential. They are witnesses: their outcomes say something about the
 * gateway, while those of other devices may be made up by whoever registered them.
 */
export class Witnesses {
  /**
   * Accepted tokens by device number. When the newer half is full, it becomes the older one, which is forgotten:
   * removing the oldest entry of a `Map` one by one would take longer than all the rest.
   */
  private newer = new Map<number, string>();
  private older: ReadonlyMap<number, string> = new Map();
  /** Oldest first. The store is not told: doubt ends with the next acceptance, and a restart is rare. */
  private readonly doubted = new Set<number>();

  has(recipient: Recipient): boolean {
    return !this.isDoubted(recipient.number) && this.wasAccepted(recipient);
  }

  /** Whether a device was ever accepted, doubted or not. */
  wasAccepted({ number, token, acceptedBefore }: Recipient): boolean {
    return acceptedBefore || (this.newer.get(number) ?? this.older.get(number)) === token;
  }

  /** From now on a device is no witness, until it is accepted again. */
  doubt(device: number): void {
    this.doubted.add(device);
    if (this.doubted.size <= DEVICES_MAX) return;
    const [oldest] = this.doubted;
    if (oldest !== undefined) this.doubted.delete(oldest);
  }

  add({ number, token, acceptedBefore }: Recipient): void {
    if (this.doubted.size > 0) this.doubted.delete(number);
    if (acceptedBefore) return;
    this.newer.set(number, token);
    if (this.newer.size < DEVICES_MAX / 2) return;
    this.older = this.newer;
    this.newer = new Map();
  }

  clear(): void {
    this.newer.clear();
    this.older = new Map();
    this.doubted.clear();
  }

  private isDoubted(device: number): boolean {
    return this.doubted.size > 0 && this.doubted.has(device);
  }
}
