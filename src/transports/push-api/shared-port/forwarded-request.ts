/** A request to push that came to the port of Channels, on its way to the loop that serves push. */
export interface ForwardedRequest {
  /** The answer has the same number. */
  readonly number: number;
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The address at the other end of the connection; possibly a proxy. */
  readonly peer: string;
  /** The length that the head announces; without a body, it is refused by it. */
  readonly bytes: number;
  readonly body: Uint8Array | undefined;
}

/** The answer to it: the bytes of an HTTP response. */
export interface ForwardedAnswer {
  readonly number: number;
  readonly bytes: Uint8Array;
}
