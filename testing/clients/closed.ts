/** How a connection ended. */
export interface Closed {
  /** `undefined` if the connection ended without a close frame. */
  readonly code: number | undefined;
  readonly reason: string;
}
