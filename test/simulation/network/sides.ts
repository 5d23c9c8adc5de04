/** A request as it arrives. */
export interface ArrivingRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** What arrives at a client. */
export interface ClientSide {
  /** The handshake of a WebSocket has succeeded. */
  upgraded(): void;
  frame(text: string): void;
  pinged(payload: string): void;
  closed(code: number, reason: string): void;
  head(status: number): void;
  chunk(text: string): void;
  responseEnded(): void;
}

/** What arrives at a server. */
export interface ServerSide {
  requested(request: ArrivingRequest, client: ClientSide): void;
  receivedFrame(text: string): void;
  receivedPong(payload: string): void;
  /** The client has closed its WebSocket. */
  receivedClose(code: number, reason: string): void;
}
