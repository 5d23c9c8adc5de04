import { newcomersMax } from '../../runtime/newcomer-share.ts';
import type { Timers } from '../../runtime/ports.ts';
import { redactedText } from '../../runtime/redacted-text.ts';
import type { Exchange } from './exchange.ts';
import {
  ERROR,
  FLAG,
  FRAME,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  FrameReader,
  PREFACE,
  SETTING,
  STREAM_ID_MAX,
  WINDOW_BYTES,
  WINDOW_BYTES_MAX,
} from './frames.ts';
import { HEADER_LIST_BYTES_MAX, HeaderDecoder, HeaderFault } from './header-decoder.ts';
import { HeaderEncoder, headerBytesMax } from './header-encoder.ts';
import type { HeaderField } from './header-field.ts';
import { OutBuffer } from './out-buffer.ts';
import type { UnknownWhy } from './request.ts';
import type { Wire, WireListener } from './wire.ts';

export interface ConnectionOptions {
  /** Method, scheme and authority. */
  readonly pseudoFields: readonly HeaderField[];
  /** Requests under way at the same time, whatever the peer allows. */
  readonly streamsMax: number;
  /** What is kept of an answer's body. */
  readonly bodyBytesMax: number;
  /** Time without an answer where one is owed, after which a peer gets no more requests, and is asked whether it is there. */
  readonly overduePingMs: number;
  /** The same where it owes none. */
  readonly idlePingMs: number;
  /** Silence after a ping that ends the connection. */
  readonly pingTimeoutMs: number;
}

/** Whoever uses a connection. */
export interface ConnectionOwner {
  /** It takes requests, or takes them again. */
  onRoom(): void;
  /** The peer has certainly not processed this request. */
  onTurnedAway(exchange: Exchange): void;
  /** It takes no more requests; those under way go on. */
  onLeaving(why: string): void;
  /** It is over, and every request of it settled or given back. */
  onEnded(why: string): void;
}

/** What the peer may send on one stream: more than we keep, and not much more. */
const STREAM_WINDOW_BYTES = 16 * 1024;

/** What the peer may send on all streams together before we have read it. */
const CONNECTION_WINDOW_BYTES = 1024 * 1024;

/** Bytes that wait for a peer that does not read. Requests are held back long before. */
const OUT_BYTES_MAX = 1024 * 1024;

/** Bytes that are written without waiting for more. */
const FLUSH_BYTES = 64 * 1024;

/** What the header of one answer may take as it comes, over all its frames. */
const HEADER_BLOCK_BYTES_MAX = 32 * 1024;

/** Requests in a row without an answer in time, after which the next ones go another way. */
const UNANSWERED_MAX = 3;

/** How long a connection rests whose peer turns away even a single request; it doubles each time. */
const REST_MS = 100;
const REST_MS_MAX = 5_000;

/** Ends the reading of what a peer sends. */
class ProtocolFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * One HTTP/2 connection, from its first byte: requests go out as frames, frames that come in settle them. It
 * opens nothing and knows no clock but the one it is given; its owner calls `tick` now and then. Source: RFC 9113.
 *
 * Nothing is requested before the peer's settings are here, since only they say how much it takes.
 */
export class Connection implements WireListener {
  private readonly wire: Wire;
  private readonly owner: ConnectionOwner;
  private readonly options: ConnectionOptions;
  private readonly timers: Timers;
  private readonly pseudoBytesMax: number;
  private readonly out = new OutBuffer();
  private readonly encoder = new HeaderEncoder(this.out);
  private readonly decoder = new HeaderDecoder();
  private readonly frames = new FrameReader((type, flags, id, bytes, start, end) =>
    this.onFrame(type, flags, id, bytes, start, end),
  );
  /** By the id of its stream, the oldest first. */
  private readonly exchanges = new Map<number, Exchange>();
  /** Those of them whose body waits for the peer to take more. */
  private readonly stalled = new Set<number>();
  private state: 'opening' | 'open' | 'leaving' | 'ended' = 'opening';

  private nextId = 1;
  /** The last stream of which anything was written. */
  private writtenId = 0;
  /** The last stream that the peer has processed or may yet process. */
  private lastIdOfPeer = STREAM_ID_MAX;
  private flushPlanned = false;
  /** The wire is full. */
  private blocked = false;

  private sendWindow = WINDOW_BYTES;
  private streamSendWindow = WINDOW_BYTES;
  private frameBytesMax = FRAME_BYTES_MAX;
  /** Bytes that came since the peer was last told to go on. */
  private receivedBytes = 0;

  private streamsOfPeer = Number.POSITIVE_INFINITY;
  /** What the peer seems to take, where it turned requests away. It grows again with the answers. */
  private streamsTaken = Number.POSITIVE_INFINITY;
  private answersSinceGrowth = 0;
  private restsUntilMs: number | undefined;
  private rests = 0;

  /** A header that goes on in further frames. */
  private block:
    | { readonly id: number; readonly flags: number; readonly parts: Buffer[] }
    | undefined;
  private blockBytes = 0;

  private heardAtMs: number;
  /** When it was asked whether it is there, and has said nothing since. */
  private pingedAtMs: number | undefined;
  private usedAtMs: number;
  private answeredAtMs = Number.NEGATIVE_INFINITY;
  private unansweredInRow = 0;
  answers = 0;
  /**
   * The peer owes an answer and has given none for a while. What is sent now would only wait with the rest; another
   * connection may answer in time. Requests for newcomers do not count, because such a device may never be answered.
   */
  private isOverdue = false;
  /** The same, with requests for newcomers. */
  isSlow = false;
  /** Requests for newcomers in flight. */
  private newcomers = 0;

  constructor(wire: Wire, owner: ConnectionOwner, options: ConnectionOptions, timers: Timers) {
    this.wire = wire;
    this.owner = owner;
    this.options = options;
    this.timers = timers;
    this.pseudoBytesMax = headerBytesMax(options.pseudoFields, '');
    this.heardAtMs = timers.now();
    this.usedAtMs = this.heardAtMs;
  }

  /** Says hello; the wire is open. */
  start(): void {
    this.out.reserve(PREFACE.length + 64);
    this.out.bytes(PREFACE);
    this.out.frame(3 * 6, FRAME.settings, 0, 0);
    this.writeSetting(SETTING.enablePush, 0);
    this.writeSetting(SETTING.initialWindowSize, STREAM_WINDOW_BYTES);
    this.writeSetting(SETTING.maxHeaderListSize, HEADER_LIST_BYTES_MAX);
    this.out.frame(4, FRAME.windowUpdate, 0, 0);
    this.out.uint32(CONNECTION_WINDOW_BYTES - WINDOW_BYTES);
    this.flush();
  }

  get isOpen(): boolean {
    return this.state === 'open';
  }

  get isEnded(): boolean {
    return this.state === 'ended';
  }

  get inFlight(): number {
    return this.exchanges.size;
  }

  /** Since when it has had no request, or `undefined` where it has one. */
  get idleSinceMs(): number | undefined {
    return this.exchanges.size === 0 ? this.usedAtMs : undefined;
  }

  /** How many more requests it takes now. */
  get room(): number {
    // What waits in front would only be joined.
    if (this.state !== 'open' || this.blocked || this.stalled.size > 0) return 0;
    if (this.isOverdue) return 0;
    if (this.restsUntilMs !== undefined) return 0;
    return Math.max(0, this.streams - this.exchanges.size);
  }

  /** The same for newcomers, who leave some room to others. */
  roomForNewcomers(doOthersWait: boolean): number {
    const left = newcomersMax(this.streams, doOthersWait) - this.newcomers;
    return Math.max(0, Math.min(this.room, left));
  }

  /** Most requests in flight. */
  private get streams(): number {
    return Math.min(this.options.streamsMax, this.streamsOfPeer, this.streamsTaken);
  }

  /** Sends a request. There must be room, and it must fit. */
  send(exchange: Exchange): void {
    const { out, encoder, options } = this;
    const { fields, path, body } = exchange.request;
    const id = this.nextId;
    this.nextId += 2;
    exchange.begin(this.timers.now(), this.streamSendWindow);
    this.exchanges.set(id, exchange);
    if (exchange.isNewcomer) this.newcomers++;

    out.reserve(FRAME_HEADER_BYTES + this.pseudoBytesMax + headerBytesMax(fields, path));
    const position = out.position;
    const flags = body.length === 0 ? FLAG.endHeaders | FLAG.endStream : FLAG.endHeaders;
    out.frame(0, FRAME.headers, flags, id);
    encoder.write(options.pseudoFields, fields, path, body.length);
    out.frameLengthAt(position, FRAME_HEADER_BYTES);
    if (body.length > 0) this.sendBody(id, exchange);
    this.planFlush();
    if (this.nextId > STREAM_ID_MAX) this.leave('all its stream ids are used');
  }

  /** Takes no more requests, and ends when those under way are settled. */
  leave(why: string): void {
    if (this.state === 'ended' || this.state === 'leaving') return;
    this.state = 'leaving';
    this.owner.onLeaving(why);
    this.endIfDone(why);
  }

  /** Ends now; requests under way settle as unknown. */
  close(): void {
    if (this.state === 'ended') return;
    this.writeGoAway(ERROR.noError);
    this.flush();
    this.wire.end();
    this.end('closed', 'closed');
  }

  /** Gives up what is overdue, and asks a silent peer whether it is there. */
  tick(): void {
    const nowMs = this.timers.now();
    for (const [id, exchange] of this.exchanges) {
      if (exchange.deadlineMs <= nowMs) this.giveUp(id, exchange);
    }
    if (this.state === 'ended') return;
    if (this.unansweredInRow >= UNANSWERED_MAX) this.leave('it does not answer');
    this.isSlow = this.isLate(this.exchanges.values().next().value, nowMs);
    this.isOverdue = this.isSlow && this.isLate(this.exchanges.values().find(isOfKnown), nowMs);
    if (this.restsUntilMs !== undefined && this.restsUntilMs <= nowMs) {
      this.restsUntilMs = undefined;
      this.owner.onRoom();
    }
    this.watch(nowMs);
  }

  onData(bytes: Buffer): void {
    if (this.state === 'ended') return;
    this.heardAtMs = this.timers.now();
    // Whatever it says, it is there.
    this.pingedAtMs = undefined;
    try {
      if (!this.frames.read(bytes)) {
        throw new ProtocolFault(ERROR.frameSizeError, 'a frame that is too large');
      }
    } catch (error) {
      if (error instanceof ProtocolFault) return this.fail(error.code, error.message);
      if (error instanceof HeaderFault) return this.fail(ERROR.compressionError, error.message);
      throw error;
    }
  }

  onDrain(): void {
    if (this.state === 'ended') return;
    this.blocked = false;
    this.flush();
    if (this.room > 0) this.owner.onRoom();
  }

  onClose(why: string): void {
    this.end('connection-lost', why);
  }

  private onFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    if (this.state === 'ended') return;
    if (this.state === 'opening' && (type !== FRAME.settings || (flags & FLAG.ack) !== 0)) {
      throw new ProtocolFault(ERROR.protocolError, 'its first frame is not its settings');
    }
    if (this.block !== undefined && (type !== FRAME.continuation || id !== this.block.id)) {
      throw new ProtocolFault(ERROR.protocolError, 'a header that is not continued');
    }
    switch (type) {
      case FRAME.data:
        return this.onBody(id, flags, bytes, start, end);
      case FRAME.headers:
        return this.onHeaders(id, flags, bytes, start, end);
      case FRAME.continuation:
        return this.onContinuation(flags, bytes, start, end);
      case FRAME.reset:
        return this.onReset(id, bytes, start, end);
      case FRAME.settings:
        return this.onSettings(id, flags, bytes, start, end);
      case FRAME.ping:
        return this.onPing(id, flags, bytes, start, end);
      case FRAME.goAway:
        return this.onGoAway(id, bytes, start, end);
      case FRAME.windowUpdate:
        return this.onWindowUpdate(id, bytes, start, end);
      case FRAME.pushPromise:
        throw new ProtocolFault(ERROR.protocolError, 'a push that was not allowed');
      default:
        // Priorities say nothing to a client, and what is unknown must be ignored (RFC 9113, 4.1).
        return;
    }
  }

  private onHeaders(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    this.checkStream(id);
    let from = start;
    let to = end;
    if ((flags & FLAG.padded) !== 0) {
      to -= bytes[start] ?? 0;
      from += 1;
    }
    if ((flags & FLAG.priority) !== 0) from += 5;
    if (from > to) throw new ProtocolFault(ERROR.protocolError, 'more padding than header');
    if ((flags & FLAG.endHeaders) !== 0) return this.onBlock(id, flags, bytes, from, to);
    this.block = { id, flags, parts: [Buffer.from(bytes.subarray(from, to))] };
    this.blockBytes = to - from;
  }

  private onContinuation(flags: number, bytes: Buffer, start: number, end: number): void {
    const { block } = this;
    if (block === undefined) {
      throw new ProtocolFault(ERROR.protocolError, 'a continuation of nothing');
    }
    this.blockBytes += end - start;
    // Empty ones count too, or they could go on for ever.
    if (this.blockBytes + block.parts.length > HEADER_BLOCK_BYTES_MAX) {
      throw new ProtocolFault(ERROR.enhanceYourCalm, 'a header that is too large');
    }
    block.parts.push(Buffer.from(bytes.subarray(start, end)));
    if ((flags & FLAG.endHeaders) === 0) return;
    this.block = undefined;
    const whole = Buffer.concat(block.parts);
    this.onBlock(block.id, block.flags, whole, 0, whole.length);
  }

  private onBlock(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    // Read in any case: the next block needs the table that this one leaves.
    const fields = this.decoder.read(bytes, start, end);
    const exchange = this.exchanges.get(id);
    if (exchange === undefined) return;
    const isLast = (flags & FLAG.endStream) !== 0;
    if (exchange.status === 0) {
      const status = readStatus(fields);
      if (status === undefined || (isLast && status < 200)) {
        return this.refuseAnswer(id, exchange, 'an answer without a status');
      }
      if (status < 200) return;
      exchange.status = status;
      exchange.fields = fields;
    }
    if (isLast) this.finish(id, exchange);
  }

  private onBody(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    this.checkStream(id);
    this.countReceived(end - start);
    const exchange = this.exchanges.get(id);
    if (exchange === undefined) return;
    let from = start;
    let to = end;
    if ((flags & FLAG.padded) !== 0) {
      to -= bytes[start] ?? 0;
      from += 1;
      if (from > to) throw new ProtocolFault(ERROR.protocolError, 'more padding than body');
    }
    if (exchange.status === 0) return this.refuseAnswer(id, exchange, 'a body without a header');
    exchange.keep(bytes, from, to, this.options.bodyBytesMax);
    if ((flags & FLAG.endStream) !== 0) return this.finish(id, exchange);
    // The rest would change nothing.
    if (exchange.bodyBytes >= this.options.bodyBytesMax) {
      this.writeReset(id, ERROR.cancel);
      this.finish(id, exchange);
    }
  }

  private onReset(id: number, bytes: Buffer, start: number, end: number): void {
    this.checkStream(id);
    checkLength(end - start, 4);
    const exchange = this.exchanges.get(id);
    if (exchange === undefined) return;
    const code = bytes.readUInt32BE(start);
    if (exchange.status > 0) return this.finish(id, exchange);
    this.remove(id);
    if (code === ERROR.refusedStream) {
      this.takeFewer();
      this.owner.onTurnedAway(exchange);
    } else {
      exchange.settle({ result: 'unknown', why: 'reset', detail: `error ${code}` });
    }
    this.afterSettled();
  }

  private onSettings(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw new ProtocolFault(ERROR.protocolError, 'settings of a stream');
    if ((flags & FLAG.ack) !== 0) return;
    if ((end - start) % 6 !== 0) throw new ProtocolFault(ERROR.frameSizeError, 'half a setting');
    for (let at = start; at < end; at += 6) {
      this.onSetting(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    }
    this.out.reserve(FRAME_HEADER_BYTES);
    this.out.frame(0, FRAME.settings, FLAG.ack, 0);
    this.planFlush();
    if (this.state === 'opening') this.state = 'open';
    this.goOn();
    if (this.room > 0) this.owner.onRoom();
  }

  private onSetting(setting: number, value: number): void {
    switch (setting) {
      case SETTING.headerTableSize:
        return this.encoder.limitTable(value);
      case SETTING.maxConcurrentStreams:
        this.streamsOfPeer = value;
        // It says now what it takes, so what it seemed to take is of yesterday.
        this.streamsTaken = Number.POSITIVE_INFINITY;
        return;
      case SETTING.initialWindowSize:
        if (value > WINDOW_BYTES_MAX) {
          throw new ProtocolFault(ERROR.flowControlError, 'a window that is too large');
        }
        for (const exchange of this.exchanges.values()) {
          exchange.sendWindow += value - this.streamSendWindow;
        }
        this.streamSendWindow = value;
        return;
      case SETTING.maxFrameSize:
        if (value < FRAME_BYTES_MAX || value > 0xff_ffff) {
          throw new ProtocolFault(ERROR.protocolError, 'an impossible size of frames');
        }
        this.frameBytesMax = value;
        return;
      default:
        return;
    }
  }

  private onPing(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    checkLength(end - start, 8);
    if (id !== 0) throw new ProtocolFault(ERROR.protocolError, 'a ping of a stream');
    if ((flags & FLAG.ack) !== 0) return;
    this.out.reserve(FRAME_HEADER_BYTES + 8);
    this.out.frame(8, FRAME.ping, FLAG.ack, 0);
    this.out.bytes(bytes, start, end);
    this.planFlush();
  }

  /** The peer takes no more requests. What is above its last stream, it has not looked at. */
  private onGoAway(id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0 || end - start < 8)
      throw new ProtocolFault(ERROR.frameSizeError, 'half a goodbye');
    this.lastIdOfPeer = Math.min(this.lastIdOfPeer, bytes.readUInt32BE(start) & STREAM_ID_MAX);
    const code = bytes.readUInt32BE(start + 4);
    const words = redactedText(bytes.toString('utf8', start + 8, end));
    this.leave(`the peer says goodbye (${code}${words === '' ? '' : `, ${words}`})`);
    for (const [streamId, exchange] of this.exchanges) {
      if (streamId <= this.lastIdOfPeer) continue;
      this.remove(streamId);
      if (exchange.status > 0) exchange.settleAnswered();
      else this.owner.onTurnedAway(exchange);
    }
    this.afterSettled();
  }

  private onWindowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    checkLength(end - start, 4);
    const increment = bytes.readUInt32BE(start) & WINDOW_BYTES_MAX;
    if (id === 0) {
      this.sendWindow += increment;
      if (increment === 0 || this.sendWindow > WINDOW_BYTES_MAX) {
        throw new ProtocolFault(ERROR.flowControlError, 'an impossible window');
      }
      return this.goOn();
    }
    this.checkStream(id);
    const exchange = this.exchanges.get(id);
    if (exchange === undefined) return;
    exchange.sendWindow += increment;
    if (increment === 0 || exchange.sendWindow > WINDOW_BYTES_MAX) {
      return this.refuseAnswer(id, exchange, 'an impossible window');
    }
    if (this.stalled.has(id)) this.goOn();
  }

  /** Goes on with the bodies that wait for the peer. */
  private goOn(): void {
    if (this.stalled.size === 0) return;
    for (const id of this.stalled) {
      const exchange = this.exchanges.get(id);
      if (exchange !== undefined) this.sendBody(id, exchange);
    }
    this.planFlush();
    if (this.room > 0) this.owner.onRoom();
  }

  /** Sends as much of a body as the peer takes. */
  private sendBody(id: number, exchange: Exchange): void {
    const { body } = exchange.request;
    while (!exchange.isSent) {
      const left = body.length - exchange.sentBytes;
      const bytes = Math.min(left, this.sendWindow, exchange.sendWindow, this.frameBytesMax);
      if (bytes <= 0) {
        this.stalled.add(id);
        return;
      }
      this.out.reserve(FRAME_HEADER_BYTES + bytes);
      this.out.frame(bytes, FRAME.data, bytes === left ? FLAG.endStream : 0, id);
      this.out.bytes(body, exchange.sentBytes, exchange.sentBytes + bytes);
      exchange.sentBytes += bytes;
      exchange.sendWindow -= bytes;
      this.sendWindow -= bytes;
    }
    this.stalled.delete(id);
  }

  /** The answer is complete, or as complete as we want it. */
  private finish(id: number, exchange: Exchange): void {
    // It answered before it had the whole request, and does not want the rest.
    if (!exchange.isSent) this.writeReset(id, ERROR.cancel);
    this.remove(id);
    this.answers++;
    this.unansweredInRow = 0;
    this.answeredAtMs = this.heardAtMs;
    this.isOverdue = false;
    this.rests = 0;
    if (this.streamsTaken !== Number.POSITIVE_INFINITY) this.takeMore();
    exchange.settleAnswered();
    this.afterSettled();
  }

  private refuseAnswer(id: number, exchange: Exchange, detail: string): void {
    this.writeReset(id, ERROR.protocolError);
    this.remove(id);
    exchange.settle({ result: 'unknown', why: 'protocol-error', detail });
    this.afterSettled();
  }

  private giveUp(id: number, exchange: Exchange): void {
    this.writeReset(id, ERROR.cancel);
    this.remove(id);
    this.usedAtMs = this.timers.now();
    this.unansweredInRow++;
    if (exchange.status > 0) exchange.settleAnswered();
    else {
      const why = this.answeredAtMs > exchange.sentAtMs ? 'no-answer' : 'silence';
      exchange.settle({ result: 'unknown', why, detail: undefined });
    }
    this.afterSettled();
  }

  /** Whether the answer to a request is overdue. */
  private isLate(exchange: Exchange | undefined, nowMs: number): boolean {
    return (
      exchange !== undefined &&
      nowMs - Math.max(this.answeredAtMs, exchange.sentAtMs) >= this.options.overduePingMs
    );
  }

  private remove(id: number): void {
    if (this.exchanges.get(id)?.isNewcomer) this.newcomers--;
    this.exchanges.delete(id);
    this.stalled.delete(id);
    this.usedAtMs = this.heardAtMs;
  }

  private afterSettled(): void {
    if (this.state === 'leaving') this.endIfDone('it had said goodbye');
    else if (this.room > 0) this.owner.onRoom();
  }

  /** It turned a request away without having said that it takes fewer. */
  private takeFewer(): void {
    this.answersSinceGrowth = 0;
    this.streamsTaken = Math.max(1, this.exchanges.size);
    if (this.exchanges.size > 0) return;
    const restMs = Math.min(REST_MS * 2 ** this.rests, REST_MS_MAX);
    this.rests++;
    this.restsUntilMs = this.timers.now() + restMs;
  }

  private takeMore(): void {
    this.answersSinceGrowth++;
    if (this.answersSinceGrowth < this.streamsTaken) return;
    this.answersSinceGrowth = 0;
    this.streamsTaken++;
  }

  /** Finds out whether a silent peer is there. */
  private watch(nowMs: number): void {
    const { overduePingMs, idlePingMs, pingTimeoutMs } = this.options;
    if (this.state === 'opening') return;
    if (this.pingedAtMs !== undefined) {
      if (nowMs - this.pingedAtMs < pingTimeoutMs) return;
      this.wire.destroy();
      return this.end('silence', 'no answer to a ping');
    }
    const [oldest] = this.exchanges.values();
    const silentMs = nowMs - Math.max(this.heardAtMs, oldest?.sentAtMs ?? 0);
    if (silentMs < (oldest === undefined ? idlePingMs : overduePingMs)) return;
    this.pingedAtMs = nowMs;
    this.out.reserve(FRAME_HEADER_BYTES + 8);
    this.out.frame(8, FRAME.ping, 0, 0);
    this.out.uint32(0);
    this.out.uint32(0);
    this.planFlush();
  }

  /** An id that is neither 0 nor of a request that was made is none of ours. */
  private checkStream(id: number): void {
    if (id % 2 === 0 || id >= this.nextId) {
      throw new ProtocolFault(ERROR.protocolError, 'a stream that nobody opened');
    }
  }

  private countReceived(bytes: number): void {
    this.receivedBytes += bytes;
    if (this.receivedBytes < CONNECTION_WINDOW_BYTES / 2) return;
    this.out.reserve(FRAME_HEADER_BYTES + 4);
    this.out.frame(4, FRAME.windowUpdate, 0, 0);
    this.out.uint32(this.receivedBytes);
    this.receivedBytes = 0;
    this.planFlush();
  }

  private writeSetting(setting: number, value: number): void {
    this.out.byte(setting >> 8);
    this.out.byte(setting);
    this.out.uint32(value);
  }

  private writeReset(id: number, code: number): void {
    this.out.reserve(FRAME_HEADER_BYTES + 4);
    this.out.frame(4, FRAME.reset, 0, id);
    this.out.uint32(code);
    this.planFlush();
  }

  private writeGoAway(code: number): void {
    this.out.reserve(FRAME_HEADER_BYTES + 8);
    this.out.frame(8, FRAME.goAway, 0, 0);
    this.out.uint32(0);
    this.out.uint32(code);
  }

  /** Writes soon: what is sent in one turn of the loop goes out together, which is most of what makes it fast. */
  private planFlush(): void {
    if (this.out.length >= FLUSH_BYTES) return this.flush();
    if (this.flushPlanned) return;
    this.flushPlanned = true;
    process.nextTick(this.flushPlan);
  }

  private readonly flushPlan = (): void => {
    this.flushPlanned = false;
    this.flush();
  };

  private flush(): void {
    if (this.state === 'ended') return;
    if (this.blocked) {
      if (this.out.length > OUT_BYTES_MAX) {
        this.wire.destroy();
        this.end('connection-lost', 'the peer does not read');
      }
      return;
    }
    this.writtenId = this.nextId - 2;
    for (const piece of this.out.take()) {
      if (!this.wire.write(piece)) this.blocked = true;
    }
  }

  private endIfDone(why: string): void {
    if (this.exchanges.size > 0 || this.state === 'ended') return;
    this.writeGoAway(ERROR.noError);
    this.flush();
    this.wire.end();
    this.end('connection-lost', why);
  }

  /** The peer broke the rules: tells it so, and ends. */
  private fail(code: number, detail: string): void {
    this.writeGoAway(code);
    this.flush();
    this.wire.end();
    this.end('protocol-error', detail);
  }

  private end(why: UnknownWhy, detail: string): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    const exchanges = [...this.exchanges];
    this.exchanges.clear();
    this.stalled.clear();
    this.owner.onEnded(detail);
    for (const [id, exchange] of exchanges) {
      if (exchange.status > 0) exchange.settleAnswered();
      else if (id > this.writtenId || id > this.lastIdOfPeer) this.owner.onTurnedAway(exchange);
      else exchange.settle({ result: 'unknown', why, detail });
    }
  }
}

function readStatus(fields: readonly string[]): number | undefined {
  const [name, value = ''] = fields;
  return name === ':status' && /^[1-9]\d\d$/.test(value) ? Number(value) : undefined;
}

function checkLength(length: number, expected: number): void {
  if (length !== expected) throw new ProtocolFault(ERROR.frameSizeError, 'a frame of a wrong size');
}

function isOfKnown({ isNewcomer }: Exchange): boolean {
  return !isNewcomer;
}
