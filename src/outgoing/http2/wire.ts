/** The way to a peer, once it is open. */
export interface Wire {
  /** `false`: it is full, and says when it has drained. The bytes belong to it from here on. */
  write(bytes: Buffer): boolean;
  /** Sends what was written, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** What a wire says, as soon as it is open. */
export interface WireListener {
  /** The bytes are only good until the call returns. */
  onData(bytes: Buffer): void;
  onDrain(): void;
  /** Once, whoever closed it. `why` is a code, or a few words. */
  onClose(why: string): void;
}
