/** The response to one receive request, wherever it is written. */
export interface Outlet {
  /** Writes whole lines. Of a poll this is the answer. */
  write(lines: string): void;
  /** Ends the response after what was written. */
  end(): void;
  /** Breaks the connection without waiting for the client. */
  break(): void;
  /** Bytes that were written and that the socket has not taken, also after the end. */
  waitingBytes(): number;
}

/**
 * After a line that makes a stream longer than this, pusher-js drops what follows and sends a new request. UTF-16 units.
 * Source: HTTP transports, §6.3.
 */
const STREAM_UNITS = 262_144;

/** A receive request that a session may answer. */
export class Receiver {
  /** When something was last written to it. Monotonic milliseconds. */
  writtenAtMs: number;
  /** Whether the response ends with the first write. */
  readonly isPoll: boolean;
  private readonly outlet: Outlet;
  private units = 0;
  private isAnswered = false;

  constructor(outlet: Outlet, { isStream, nowMs }: { isStream: boolean; nowMs: number }) {
    this.outlet = outlet;
    this.isPoll = !isStream;
    this.writtenAtMs = nowMs;
  }

  /** Whether the client reads no further message from it and sends another request. */
  get isFull(): boolean {
    return this.isPoll ? this.isAnswered : this.units > STREAM_UNITS;
  }

  /** Whether it is a stream that nothing was written to. */
  get isUnanswered(): boolean {
    return !this.isPoll && !this.isAnswered;
  }

  /** Whether the client still reads after this many further units. */
  hasRoomBehind(units: number): boolean {
    return this.units + units <= STREAM_UNITS;
  }

  write(lines: string, nowMs: number): void {
    this.units += lines.length;
    this.isAnswered = true;
    this.writtenAtMs = nowMs;
    this.outlet.write(lines);
  }

  end(): void {
    this.outlet.end();
  }

  break(): void {
    this.outlet.break();
  }

  waitingBytes(): number {
    return this.outlet.waitingBytes();
  }
}
