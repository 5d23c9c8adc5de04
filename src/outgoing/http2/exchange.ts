import type { AnswerFields, Http2Request, Http2Result, UnknownWhy } from './request.ts';

const NOTHING: Buffer = Buffer.alloc(0);

/** A request that waits or is in flight, and the answer so far. */
export class Exchange {
  readonly request: Http2Request;
  readonly deadlineMs: number;
  readonly isTrusted: boolean;
  /** Settles the request; to be called once. */
  readonly settle: (result: Http2Result) => void;
  /** How often a peer refused it. */
  refusals = 0;

  // Set anew for each connection that it is sent over.

  sentAtMs = 0;
  /** Flow-control window of its stream. */
  sendWindow = 0;
  /** Bytes of the body that were sent. */
  sentBytes = 0;
  /** 0 until the answer has begun. */
  status = 0;
  fields: AnswerFields = [];
  /** Received bytes of the answer's body, stored or not. */
  bodyBytes = 0;
  private readonly chunks: Buffer[] = [];

  constructor(request: Http2Request, deadlineMs: number, settle: (result: Http2Result) => void) {
    this.request = request;
    this.deadlineMs = deadlineMs;
    this.isTrusted = request.sender?.isTrusted !== false;
    this.settle = settle;
  }

  get isSent(): boolean {
    return this.sentBytes === this.request.body.length;
  }

  /** Starts over on a connection. */
  begin(nowMs: number, sendWindow: number): void {
    this.sentAtMs = nowMs;
    this.sendWindow = sendWindow;
    this.sentBytes = 0;
  }

  /** Keeps a part of the answer's body, up to `bytesMax` in all. */
  keep(part: Buffer, bytesMax: number): void {
    const room = Math.max(0, bytesMax - this.bodyBytes);
    this.bodyBytes += part.length;
    // Copied: the bytes are only valid until the next ones come.
    if (room > 0 && part.length > 0) this.chunks.push(Buffer.from(part.subarray(0, room)));
  }

  /** Reads a header block of the answer: its header or its trailers. Returns the error in it, if any. */
  readHeaders(fields: AnswerFields, isLast: boolean): string | undefined {
    if (this.status > 0) return undefined;
    const status = readStatus(fields);
    if (status === undefined || (isLast && status < 200)) return 'answer without a status';
    // An informational answer; the real one follows.
    if (status < 200) return undefined;
    this.status = status;
    this.fields = fields;
    return undefined;
  }

  /** The answer is over: settles with the received part, or as unknown. */
  settleLost(why: UnknownWhy, detail: string | undefined): void {
    if (this.status > 0) this.settleAnswered();
    else this.settle({ result: 'unknown', why, detail });
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

function readStatus(fields: AnswerFields): number | undefined {
  const [name, value = ''] = fields;
  return name === ':status' && /^[1-9]\d\d$/.test(value) ? Number(value) : undefined;
}
