import { FrameReader } from './frames/frame-reader.ts';
import { FrameWriter } from './frames/frame-writer.ts';
import { FLAG, FRAME, PREFACE, SETTING } from './frames/protocol.ts';
import { HeaderDecoder } from './hpack/header-decoder.ts';
import { plainBlock } from './hpack/header-encoder.ts';

/** A request that reached the peer. */
export interface PeerRequest {
  readonly id: number;
  readonly fields: Readonly<Record<string, string>>;
  body: Buffer;
  isComplete: boolean;
}

/**
 * The far end of an HTTP/2 connection. It does nothing by itself: tests send each frame, and check what it received.
 */
export class Peer {
  readonly requests: PeerRequest[] = [];
  /** Streams that were reset, and their error codes. */
  readonly resets: (readonly [id: number, code: number])[] = [];
  /** What the client sent beside requests, such as `ping`, `ping ack`, `goaway 0`. */
  readonly controlFrames: string[] = [];
  readonly settings = new Map<number, number>();
  /** Window that the client gave beyond the initial one. */
  windowBytes = 0;
  /** Whether it answers pings. */
  pongs = false;
  onRequest: (request: PeerRequest) => void = () => undefined;
  private readonly writer: FrameWriter;
  private readonly decoder = new HeaderDecoder();
  private readonly frames = new FrameReader(
    (type, flags, id, payload) => this.onFrame(type, flags, id, Buffer.from(payload)),
    PREFACE,
  );

  constructor(write: (bytes: Buffer) => void) {
    this.writer = new FrameWriter((bytes) => {
      write(bytes);
      return true;
    });
  }

  /** Receives bytes of the client. */
  receive(bytes: Buffer): void {
    this.frames.read(bytes);
  }

  /** The request with this path; throws if there is none or it is incomplete. */
  request(path: string): PeerRequest {
    const request = this.requests.findLast(({ fields }) => fields[':path'] === path);
    if (request?.isComplete !== true) throw new Error(`no request of ${path}`);
    return request;
  }

  sendSettings(settings: Partial<Record<keyof typeof SETTING, number>> = {}): void {
    const rows = Object.entries(settings) as [keyof typeof SETTING, number][];
    this.writer.settings(rows.map(([name, value]) => [SETTING[name], value]));
    this.writer.flush();
  }

  answer(id: number, status = 200, fields: Readonly<Record<string, string>> = {}, body = ''): void {
    const flags = FLAG.endHeaders | (body === '' ? FLAG.endStream : 0);
    this.sendFrame(FRAME.headers, flags, id, plainBlock({ ':status': String(status), ...fields }));
    if (body !== '') this.sendFrame(FRAME.data, FLAG.endStream, id, Buffer.from(body));
  }

  /** Answers with a frame for each part: header fields or a piece of the body. */
  answerInParts(
    id: number,
    parts: readonly (Readonly<Record<string, string>> | string)[],
    ends = true,
  ): void {
    for (const [index, part] of parts.entries()) {
      const last = ends && index === parts.length - 1 ? FLAG.endStream : 0;
      if (typeof part === 'string') this.sendFrame(FRAME.data, last, id, Buffer.from(part));
      else this.sendFrame(FRAME.headers, FLAG.endHeaders | last, id, plainBlock(part));
    }
  }

  /** Answers all open requests. */
  answerAll(): void {
    for (const { id } of this.requests.splice(0)) this.answer(id);
  }

  reset(id: number, code: number): void {
    this.writer.reset(id, code);
    this.writer.flush();
  }

  goAway(lastId: number, code = 0, words = ''): void {
    this.writer.goAway(lastId, code, words);
    this.writer.flush();
  }

  ping(): void {
    this.sendFrame(FRAME.ping, 0, 0, Buffer.from('12345678'));
  }

  pong(): void {
    this.sendFrame(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8));
  }

  windowUpdate(id: number, bytes: number): void {
    this.writer.windowUpdate(id, bytes);
    this.writer.flush();
  }

  sendFrame(type: number, flags: number, id: number, payload: Buffer): void {
    this.writer.frame(type, flags, id, payload);
    this.writer.flush();
  }

  private onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case FRAME.headers: {
        const list = this.decoder.read(payload);
        const names = list.filter((_, index) => index % 2 === 0);
        const fields = Object.fromEntries(names.map((name, at) => [name, list[at * 2 + 1] ?? '']));
        const request = { id, fields, body: Buffer.alloc(0), isComplete: false };
        this.requests.push(request);
        this.endIfLast(request, flags);
        return;
      }
      case FRAME.data: {
        const request = this.requests.find((other) => other.id === id);
        if (request === undefined) return;
        request.body = Buffer.concat([request.body, payload]);
        this.endIfLast(request, flags);
        return;
      }
      case FRAME.reset:
        this.resets.push([id, payload.readUInt32BE(0)]);
        return;
      case FRAME.settings:
        for (let at = 0; at < payload.length; at += 6) {
          this.settings.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
        }
        if ((flags & FLAG.ack) !== 0) this.controlFrames.push('settings ack');
        return;
      case FRAME.ping:
        this.controlFrames.push((flags & FLAG.ack) === 0 ? 'ping' : `ping ack ${payload}`);
        if (this.pongs && (flags & FLAG.ack) === 0) this.pong();
        return;
      case FRAME.goAway:
        this.controlFrames.push(`goaway ${payload.readUInt32BE(4)}`);
        return;
      case FRAME.windowUpdate:
        if (id === 0) this.windowBytes += payload.readUInt32BE(0);
        return;
      default:
        throw new Error(`a client sends no frame of type ${type}`);
    }
  }

  private endIfLast(request: PeerRequest, flags: number): void {
    if ((flags & FLAG.endStream) === 0) return;
    request.isComplete = true;
    this.onRequest(request);
  }
}
