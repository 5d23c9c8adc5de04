/** An open byte stream to a peer. */
export interface Wire {
  /** Returns `false` when it is full; `onDrain` follows. The bytes must not change afterwards. */
  write(bytes: Buffer): boolean;
  /** Sends written bytes, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** Receives what happens on a wire, from the moment that it is open. */
export interface WireListener {
  /** The bytes are only valid until the call returns. */
  onBytes(bytes: Buffer): void;
  onDrain(): void;
  /** Called once, whichever side closed it. `why` is a code or a few words. */
  onClose(why: string): void;
}
