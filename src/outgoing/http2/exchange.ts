import type { AnswerFields, Http2Request, Http2Result } from './request.ts';

const NOTHING: Buffer = Buffer.alloc(0);

/** A request on its way, and as much of its answer as is here. */
export class Exchange {
  readonly request: Http2Request;
  readonly deadlineMs: number;
  /** Settles the request; once. */
  readonly settle: (result: Http2Result) => void;
  /** How often a peer turned it away. */
  turnedAway = 0;

  // The following are set anew by each connection that it goes through.

  sentAtMs = 0;
  /** What the peer lets us send of it. */
  sendWindow = 0;
  /** Bytes of the body that were sent. */
  sentBytes = 0;
  /** 0 until the answer has begun. */
  status = 0;
  fields: AnswerFields = [];
  private readonly chunks: Buffer[] = [];
  bodyBytes = 0;

  constructor(request: Http2Request, deadlineMs: number, settle: (result: Http2Result) => void) {
    this.request = request;
    this.deadlineMs = deadlineMs;
    this.settle = settle;
  }

  /** Whether no gateway has accepted a notification for its device yet. */
  get isNewcomer(): boolean {
    return this.request.sender?.isNewcomer === true;
  }

  get isSent(): boolean {
    return this.sentBytes === this.request.body.length;
  }

  /** Begins it on a connection; nothing of an earlier one is left. */
  begin(nowMs: number, sendWindow: number): void {
    this.sentAtMs = nowMs;
    this.sendWindow = sendWindow;
    this.sentBytes = 0;
  }

  /** Keeps what stands between two places of the answer's body; what is over the bound is dropped. */
  keep(bytes: Buffer, start: number, end: number, bytesMax: number): void {
    const last = Math.min(end, start + bytesMax - this.bodyBytes);
    this.bodyBytes += end - start;
    // Copied: the bytes are only good until the next ones come.
    if (last > start) this.chunks.push(Buffer.from(bytes.subarray(start, last)));
  }

  settleAnswered(): void {
    const [first = NOTHING] = this.chunks;
    this.settle({
      result: 'answered',
      status: this.status,
      fields: this.fields,
      body: this.chunks.length > 1 ? Buffer.concat(this.chunks) : first,
    });
  }
}
