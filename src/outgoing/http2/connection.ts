import { untrustedLimit } from '../../runtime/fairness/sender-queue.ts';
import { redactedText } from '../../runtime/logging/redact.ts';
import type { Timers } from '../../runtime/ports.ts';
import { BodySender } from './body-sender.ts';
import type { Wire, WireListener } from './connecting/wire.ts';
import type { Exchange } from './exchange.ts';
import { FrameDecoder, type FrameListener } from './frame-decoder.ts';
import { FrameWriter } from './frames/frame-writer.ts';
import {
  ERROR,
  FLAG,
  FRAME,
  PREFACE,
  ProtocolFault,
  SETTING,
  STREAM_ID_MAX,
} from './frames/protocol.ts';
import { HEADER_LIST_BYTES_MAX } from './hpack/header-decoder.ts';
import { HeaderEncoder, headerBytesMax } from './hpack/header-encoder.ts';
import { OpenStreams } from './open-streams.ts';
import { type LivenessOptions, PeerLiveness } from './peer-liveness.ts';
import { type PseudoFields, pseudoBytesMax } from './pseudo-fields.ts';
import { ReceiveWindow } from './receive-window.ts';
import type { UnknownWhy } from './request.ts';
import { StreamLimit } from './stream-limit.ts';

export interface Http2ConnectionOptions extends LivenessOptions {
  /** Method, scheme and authority, of each method. */
  readonly pseudoFields: PseudoFields;
  /** Requests in flight, whatever the peer allows. */
  readonly streamsMax: number;
  /** How much of an answer's body is kept. */
  readonly bodyBytesMax: number;
  readonly timers: Timers;
}

/** What a connection reports to the pool that owns it. */
export interface Http2ConnectionOwner {
  /** The connection accepts requests, perhaps again. */
  onRoom(): void;
  /** The peer has certainly not processed this request. */
  onRefused(exchange: Exchange): void;
  /** The connection accepts no more requests. Those in flight continue. */
  onLeaving(why: string): void;
  /** The connection has closed, and every request on it was settled or given back. */
  onEnded(why: string): void;
}

/** What the peer may send on one stream: a little more than we keep. */
const STREAM_WINDOW_BYTES = 16 * 1024;

/** What the peer may send on all streams together before we have read it. */
const CONNECTION_WINDOW_BYTES = 1024 * 1024;

/**
 * Frames that the peer may send from one answer to the next: some, and more for each request that may be in flight,
 * since each has window updates and may be answered late. A peer that floods us costs a few milliseconds per answer.
 */
const PEER_WORK_MAX = 1_000;
const PEER_WORK_PER_STREAM = 10;

/**
 * One HTTP/2 connection of a client. It opens no socket and starts no timer: its owner calls `tick` regularly.
 * Source: RFC 9113.
 *
 * It sends no request before the peer's settings have arrived, because these contain the limit of requests.
 */
export class Http2Connection implements WireListener, FrameListener {
  answers = 0;
  /** The oldest request in flight is overdue. */
  isSlow = false;
  private readonly wire: Wire;
  private readonly owner: Http2ConnectionOwner;
  private readonly options: Http2ConnectionOptions;
  private readonly timers: Timers;
  private readonly pseudoBytesMax: number;
  private readonly decoder: FrameDecoder;
  private readonly writer: FrameWriter;
  private readonly encoder: HeaderEncoder;
  private readonly bodies: BodySender;
  private readonly limit: StreamLimit;
  private readonly liveness: PeerLiveness;
  private readonly streams = new OpenStreams();
  private readonly received: ReceiveWindow;
  private state: 'opening' | 'open' | 'leaving' | 'ended' = 'opening';
  /** The last stream that the peer has processed or may yet process. */
  private peerLastId = STREAM_ID_MAX;
  private usedAtMs: number;
  /**
   * A trusted request is overdue, so new ones go over another connection. Untrusted requests do not count: they may
   * hang on purpose.
   */
  private isStuck = false;

  constructor(wire: Wire, owner: Http2ConnectionOwner, options: Http2ConnectionOptions) {
    this.wire = wire;
    this.owner = owner;
    this.options = options;
    this.timers = options.timers;
    const workMax = PEER_WORK_MAX + PEER_WORK_PER_STREAM * options.streamsMax;
    this.decoder = new FrameDecoder(this, { workMax });
    this.pseudoBytesMax = pseudoBytesMax(options.pseudoFields);
    this.writer = new FrameWriter(
      (bytes) => wire.write(bytes),
      () => this.abandon('connection-lost', 'the peer does not read'),
    );
    this.encoder = new HeaderEncoder(this.writer.out);
    this.bodies = new BodySender(this.writer);
    this.received = new ReceiveWindow(this.writer, CONNECTION_WINDOW_BYTES);
    this.limit = new StreamLimit(options.streamsMax);
    this.usedAtMs = options.timers.now();
    this.liveness = new PeerLiveness(options, this.usedAtMs);
  }

  /** Sends the preface. The wire must be open. */
  start(): void {
    this.writer.raw(PREFACE);
    this.writer.settings([
      [SETTING.enablePush, 0],
      [SETTING.initialWindowSize, STREAM_WINDOW_BYTES],
      [SETTING.maxHeaderListSize, HEADER_LIST_BYTES_MAX],
    ]);
    this.received.announce();
    this.writer.flush();
  }

  get isOpen(): boolean {
    return this.state === 'open';
  }

  get inFlight(): number {
    return this.streams.size;
  }

  /** Since when no request is in flight; `undefined` if one is. */
  get idleSinceMs(): number | undefined {
    return this.streams.size === 0 ? this.usedAtMs : undefined;
  }

  /** How many more requests it accepts now. */
  get room(): number {
    // Blocked or stalled: another request would only queue behind those that are.
    if (this.state !== 'open' || this.writer.isBlocked || this.bodies.isStalled) return 0;
    if (this.isStuck || this.limit.isPaused) return 0;
    return Math.max(0, this.limit.streams - this.streams.size);
  }

  /** How many more untrusted requests it accepts now. */
  roomForUntrusted(doTrustedWait: boolean): number {
    const left = untrustedLimit(this.limit.streams, doTrustedWait) - this.streams.untrusted;
    return Math.max(0, Math.min(this.room, left));
  }

  /** Sends a request. There must be room, and its header must fit into one frame. */
  send(exchange: Exchange): void {
    const { writer, encoder, options } = this;
    const { fields, path, body, method = 'POST' } = exchange.request;
    const id = this.streams.open(exchange);
    exchange.begin(this.timers.now(), this.bodies.streamWindow);

    const flags = body.length === 0 ? FLAG.endHeaders | FLAG.endStream : FLAG.endHeaders;
    const bytesMax = this.pseudoBytesMax + headerBytesMax(fields, path);
    const position = writer.beginHeaders(id, flags, bytesMax);
    encoder.write(options.pseudoFields[method], fields, path, body.length);
    writer.endHeaders(position);
    if (body.length > 0) this.bodies.send(id, exchange);
    writer.planFlush();
    if (this.streams.isExhausted) this.leave('stream ids used up');
  }

  /** Accepts no more requests, and closes once those in flight are settled. */
  leave(why: string): void {
    if (this.state === 'ended' || this.state === 'leaving') return;
    this.state = 'leaving';
    this.owner.onLeaving(why);
    this.endIfDone(why);
  }

  /** Ends now. Requests in flight settle as unknown. */
  close(): void {
    if (this.state !== 'ended') this.endWith(ERROR.noError, 'closed', 'closed');
  }

  /** Gives up overdue requests, and pings a silent peer. */
  tick(): void {
    const nowMs = this.timers.now();
    for (const [id, exchange] of this.streams.entries()) {
      if (exchange.deadlineMs <= nowMs) this.giveUp(id, exchange);
    }
    if (this.state === 'ended') return;
    if (this.liveness.isUnresponsive) this.leave('the peer does not answer');
    this.isSlow = this.liveness.isOverdue(this.streams.oldest, nowMs);
    this.isStuck = this.isSlow && this.liveness.isOverdue(this.streams.oldestTrusted, nowMs);
    if (this.limit.endPause(nowMs)) this.owner.onRoom();
    this.checkLiveness(nowMs);
  }

  onBytes(bytes: Buffer): void {
    if (this.state === 'ended') return;
    this.liveness.onBytes(this.timers.now());
    try {
      this.decoder.read(bytes);
    } catch (error) {
      if (!(error instanceof ProtocolFault)) throw error;
      this.endWith(error.code, 'protocol-error', error.message);
      // Otherwise the flood would go on until the peer closes, too.
      if (error.code === ERROR.enhanceYourCalm) this.wire.destroy();
    }
  }

  onDrain(): void {
    if (this.state === 'ended') return;
    this.writer.drained();
    this.reportRoom();
  }

  onClose(why: string): void {
    this.end('connection-lost', why);
  }

  onHeaders(id: number, fields: readonly string[], isLast: boolean): void {
    const exchange = this.streams.get(id);
    if (exchange === undefined) return;
    const fault = exchange.readHeaders(fields, isLast);
    if (fault !== undefined) return this.refuseAnswer(id, exchange, fault);
    if (isLast) this.finish(id, exchange);
  }

  onData(id: number, part: Buffer, isLast: boolean, windowBytes: number): void {
    const exchange = this.streams.get(id);
    this.received.onReceived(windowBytes);
    if (exchange === undefined) return;
    if (exchange.status === 0) return this.refuseAnswer(id, exchange, 'body without a header');
    exchange.keep(part, this.options.bodyBytesMax);
    if (isLast) return this.finish(id, exchange);
    // The rest would not be stored.
    if (exchange.bodyBytes >= this.options.bodyBytesMax) {
      this.writer.reset(id, ERROR.cancel);
      this.finish(id, exchange);
    }
  }

  onReset(id: number, code: number): void {
    const exchange = this.streams.get(id);
    if (exchange === undefined) return;
    if (exchange.status > 0) return this.finish(id, exchange);
    this.remove(id, exchange);
    if (code === ERROR.refusedStream) {
      this.limit.onRefused(this.streams.size, this.timers.now());
      this.owner.onRefused(exchange);
    } else {
      exchange.settle({ result: 'unknown', why: 'reset', detail: `error ${code}` });
    }
    this.afterSettled();
  }

  onSetting(name: number, value: number): void {
    switch (name) {
      case SETTING.headerTableSize:
        return this.encoder.limitTable(value);
      case SETTING.maxConcurrentStreams:
        return this.limit.announce(value);
      case SETTING.initialWindowSize:
        return this.bodies.setStreamWindow(value, this.streams.all());
      case SETTING.maxFrameSize:
        return this.bodies.setFrameBytesMax(value);
      default:
        return;
    }
  }

  onSettingsEnd(): void {
    this.writer.settingsAck();
    if (this.state === 'opening') this.state = 'open';
    this.bodies.resume();
    this.reportRoom();
  }

  onPing(payload: Buffer): void {
    this.writer.frame(FRAME.ping, FLAG.ack, 0, payload);
  }

  /** The peer accepts no more requests. It has not processed streams above `lastId`. */
  onGoAway(lastId: number, code: number, debugData: string): void {
    this.peerLastId = Math.min(this.peerLastId, lastId);
    const words = redactedText(debugData);
    this.leave(`GOAWAY (${words === '' ? code : `${code}, ${words}`})`);
    for (const [id, exchange] of this.streams.entries()) {
      if (id <= this.peerLastId) continue;
      this.remove(id, exchange);
      if (exchange.status > 0) exchange.settleAnswered();
      else this.owner.onRefused(exchange);
    }
    this.afterSettled();
  }

  onWindowUpdate(id: number, increment: number): void {
    if (id === 0) {
      this.bodies.growConnectionWindow(increment);
    } else {
      const exchange = this.streams.get(id);
      if (exchange === undefined) return;
      if (!this.bodies.growStreamWindow(exchange, increment)) {
        return this.refuseAnswer(id, exchange, 'impossible window');
      }
    }
    if (this.bodies.resume()) this.reportRoom();
  }

  /** The answer is complete, or as much of it as we want. */
  private finish(id: number, exchange: Exchange): void {
    // The peer answered before it had received the whole request, and does not need the rest.
    if (!exchange.isSent) this.writer.reset(id, ERROR.cancel);
    this.remove(id, exchange);
    this.decoder.progressed();
    this.answers++;
    this.liveness.onAnswer();
    this.limit.onAnswer();
    this.isStuck = false;
    exchange.settleAnswered();
    this.afterSettled();
  }

  private refuseAnswer(id: number, exchange: Exchange, detail: string): void {
    this.writer.reset(id, ERROR.protocolError);
    this.remove(id, exchange);
    exchange.settle({ result: 'unknown', why: 'protocol-error', detail });
    this.afterSettled();
  }

  private giveUp(id: number, exchange: Exchange): void {
    this.writer.reset(id, ERROR.cancel);
    this.remove(id, exchange);
    this.usedAtMs = this.timers.now();
    const wereOthersAnswered = this.liveness.onUnanswered(exchange);
    exchange.settleLost(wereOthersAnswered ? 'no-answer' : 'silence', undefined);
    this.afterSettled();
  }

  private remove(id: number, exchange: Exchange): void {
    this.streams.close(id, exchange);
    this.bodies.forget(id);
    this.usedAtMs = this.liveness.heardAtMs;
  }

  private afterSettled(): void {
    if (this.state === 'leaving') this.endIfDone('all requests were settled');
    else this.reportRoom();
  }

  private reportRoom(): void {
    if (this.room > 0) this.owner.onRoom();
  }

  private checkLiveness(nowMs: number): void {
    if (this.state === 'opening') return;
    const found = this.liveness.check(this.streams.oldest, nowMs);
    if (found === 'ping') this.writer.ping();
    if (found === 'gone') this.abandon('silence', 'no answer to a ping');
  }

  /** Closes the wire without sending anything. */
  private abandon(why: UnknownWhy, detail: string): void {
    this.wire.destroy();
    this.end(why, detail);
  }

  private endIfDone(why: string): void {
    if (this.streams.size > 0 || this.state === 'ended') return;
    this.endWith(ERROR.noError, 'connection-lost', why);
  }

  /** Sends GOAWAY with an error code, and closes. */
  private endWith(code: number, why: UnknownWhy, detail: string): void {
    this.writer.goAway(0, code);
    this.writer.flush();
    this.wire.end();
    this.end(why, detail);
  }

  private end(why: UnknownWhy, detail: string): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.writer.close();
    this.decoder.stop();
    const unsettled = this.streams.closeAll();
    this.owner.onEnded(detail);
    for (const [id, exchange] of unsettled) {
      const isUnprocessed = id > this.writer.flushedStreamId || id > this.peerLastId;
      if (isUnprocessed && exchange.status === 0) this.owner.onRefused(exchange);
      else exchange.settleLost(why, detail);
    }
  }
}
