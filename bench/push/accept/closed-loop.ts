import { Histogram } from '../../load/histogram.ts';
import { readHttpResponse } from '../../load/http-response.ts';
import { type ConnectionOwner, KernelSockets } from '../../load/kernel-sockets.ts';
import type { RequestSource } from './requests.ts';

/** How long the last answers may take to come. */
const LAST_ANSWERS_MS = 5000;

/** The id in the body of an answer. */
const ID = /"(?:publishId|id)":"([^"]+)"/;

/** What the measured part of a closed loop came to. */
export interface LoopResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** One keep-alive connection, which carries one request at a time. */
class Caller implements ConnectionOwner {
  private readonly loop: ClosedLoop;
  private readonly sockets: KernelSockets;
  private readonly fd: number;
  private begun: Buffer | undefined;
  private sentMs = 0;

  constructor(loop: ClosedLoop, sockets: KernelSockets, port: number) {
    this.loop = loop;
    this.sockets = sockets;
    this.fd = sockets.connect('127.0.0.1', port, this);
  }

  send(request: Uint8Array, nowMs: number): void {
    this.sentMs = nowMs;
    this.sockets.send(this.fd, request);
  }

  received(bytes: Buffer, length: number): void {
    const chunk = bytes.subarray(0, length);
    const all = this.begun === undefined ? chunk : Buffer.concat([this.begun, chunk]);
    const response = readHttpResponse(all);
    if (response === undefined) {
      this.begun = Buffer.from(all);
      return;
    }
    this.begun = undefined;
    const text = all.toString('latin1', 0, response.end);
    const id = response.status === 200 ? ID.exec(text)?.[1] : undefined;
    if (id === undefined) throw new Error(`not accepted: ${text}`);
    this.loop.answered(this, id, this.sentMs);
  }

  closed(): void {
    throw new Error('the server closed a connection');
  }
}

/** Connections that each send the next request when the last one is answered. */
export class ClosedLoop {
  /** Of all that were answered, in that order. */
  readonly ids: string[] = [];
  private readonly sockets = new KernelSockets();
  private readonly callers: readonly Caller[];
  private readonly requests: RequestSource;
  private idle: Caller[] = [];
  private isSending = false;
  private latency: Histogram | undefined;

  constructor(port: number, connections: number, requests: RequestSource) {
    this.requests = requests;
    this.callers = Array.from({ length: connections }, () => new Caller(this, this.sockets, port));
    this.idle = [...this.callers];
  }

  answered(caller: Caller, id: string, sentMs: number): void {
    const nowMs = performance.now();
    this.ids.push(id);
    this.latency?.record(nowMs - sentMs);
    if (this.isSending) caller.send(this.requests.next(), nowMs);
    else this.idle.push(caller);
  }

  /** Lets the loop run; the warm-up is there for the compilers of both sides. */
  run(warmupSeconds: number, seconds: number, onWarm: () => void): LoopResult {
    this.isSending = true;
    this.sendAll();
    this.pollFor(warmupSeconds * 1000);
    onWarm();

    const latency = new Histogram();
    this.latency = latency;
    const before = this.ids.length;
    const tookMs = this.pollFor(seconds * 1000);
    const answers = this.ids.length - before;
    this.latency = undefined;

    this.isSending = false;
    this.settle();
    return {
      perSecond: (answers / tookMs) * 1000,
      p50Ms: latency.quantileMs(0.5),
      p99Ms: latency.quantileMs(0.99),
      maxMs: latency.maxMs,
    };
  }

  private sendAll(): void {
    const { idle } = this;
    this.idle = [];
    const nowMs = performance.now();
    for (const caller of idle) caller.send(this.requests.next(), nowMs);
  }

  /** Reads on for so long; gives how long it was. */
  private pollFor(ms: number): number {
    const startMs = performance.now();
    for (;;) {
      const leftMs = startMs + ms - performance.now();
      if (leftMs <= 0) return ms - leftMs;
      this.sockets.poll(leftMs);
    }
  }

  /** Reads on until everybody has an answer. */
  private settle(): void {
    const deadlineMs = performance.now() + LAST_ANSWERS_MS;
    while (this.idle.length < this.callers.length) {
      if (performance.now() > deadlineMs) throw new Error('a request was not answered');
      this.sockets.poll(5);
    }
  }
}
