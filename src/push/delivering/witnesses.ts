import type { Recipient } from '../device.ts';

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

  has({ number, token, acceptedBefore }: Recipient): boolean {
    return acceptedBefore || this.tokens.get(number) === token;
  }

  add({ number, token, acceptedBefore }: Recipient): void {
    if (acceptedBefore) return;
    this.tokens.set(number, token);
    if (this.tokens.size <= DEVICES_MAX) return;
    const [oldest] = this.tokens.keys();
    if (oldest !== undefined) this.tokens.delete(oldest);
  }

  clear(): void {
    this.tokens.clear();
  }
}
