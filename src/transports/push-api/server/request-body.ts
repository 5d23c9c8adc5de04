import type { BodyFraming } from './http/request-head.ts';

export interface BodySpeed {
  /** The least average speed after the grace time. 0: no limit. */
  readonly bodyBytesPerSecond: number;
  readonly bodyGraceMs: number;
}

/** The body of a request while it arrives. */
export class RequestBody {
  receivedBytes = 0;
  /** Whether nothing of it is still to come. */
  isComplete: boolean;
  /** The length that the head announces; `NaN`, which is neither more nor less than any number, if it announces none. */
  readonly announcedBytes: number;
  private parts: Uint8Array[] = [];
  private startedAtMs = 0;

  constructor(framing: BodyFraming) {
    this.announcedBytes = framing === 'chunks' ? Number.NaN : framing.bytes;
    this.isComplete = this.announcedBytes === 0;
  }

  /** Starts measuring its speed. */
  start(nowMs: number): void {
    this.startedAtMs = nowMs;
  }

  /** Keeps a part in memory. */
  keep(part: Uint8Array): void {
    this.parts.push(part);
  }

  /** The whole body; `undefined` if there was none. Most bodies arrive in one chunk, which is not copied. */
  whole(): Uint8Array | undefined {
    return this.parts.length > 1 ? Buffer.concat(this.parts) : this.parts[0];
  }

  /** Frees the memory. */
  drop(): void {
    this.parts = [];
  }

  isTooSlow(nowMs: number, { bodyBytesPerSecond, bodyGraceMs }: BodySpeed): boolean {
    const overdueMs = nowMs - this.startedAtMs - bodyGraceMs;
    return this.receivedBytes * 1000 < overdueMs * bodyBytesPerSecond;
  }
}
