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
  /** Accepted tokens by device number, oldest first. */
  private readonly tokens = new Map<number, string>();
  /** Oldest first. The store is not told: doubt ends with the next acceptance, and a restart is rare. */
  private readonly doubted = new Set<number>();

  has(recipient: Recipient): boolean {
    return !this.doubted.has(recipient.number) && this.wasAccepted(recipient);
  }

  /** Whether a device was ever accepted, doubted or not. */
  wasAccepted({ number, token, acceptedBefore }: Recipient): boolean {
    return acceptedBefore || this.tokens.get(number) === token;
  }

  /** From now on a device is no witness, until it is accepted again. */
  doubt(device: number): void {
    this.doubted.add(device);
    if (this.doubted.size <= DEVICES_MAX) return;
    const [oldest] = this.doubted;
    if (oldest !== undefined) this.doubted.delete(oldest);
  }

  add({ number, token, acceptedBefore }: Recipient): void {
    this.doubted.delete(number);
    if (acceptedBefore) return;
    this.tokens.set(number, token);
    if (this.tokens.size <= DEVICES_MAX) return;
    const [oldest] = this.tokens.keys();
    if (oldest !== undefined) this.tokens.delete(oldest);
  }

  clear(): void {
    this.tokens.clear();
    this.doubted.clear();
  }
}
