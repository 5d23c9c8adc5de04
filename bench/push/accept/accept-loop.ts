import { ClosedLoop } from '../../load/closed-loop.ts';
import { readHttpResponse } from '../../load/http-response.ts';
import type { ConnectionOwner, KernelSockets } from '../../load/kernel-sockets.ts';
import type { RequestSource } from './requests.ts';

/** The id in the body of an answer. */
const ID = /"(?:publishId|id)":"([^"]+)"/;

/** One keep-alive connection, which carries one request at a time. */
class Caller implements ConnectionOwner {
  private readonly loop: AcceptLoop;
  private readonly sockets: KernelSockets;
  private readonly fd: number;
  private begun: Buffer | undefined;
  private sentMs = 0;

  constructor(loop: AcceptLoop, sockets: KernelSockets, port: number) {
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
export class AcceptLoop extends ClosedLoop {
  /** Of all that were answered, in that order. */
  readonly ids: string[] = [];
  private readonly callers: readonly Caller[];
  private readonly requests: RequestSource;
  protected underWay = 0;

  constructor(port: number, connections: number, requests: RequestSource) {
    super();
    this.requests = requests;
    this.callers = Array.from({ length: connections }, () => new Caller(this, this.sockets, port));
  }

  answered(caller: Caller, id: string, sentMs: number): void {
    const nowMs = performance.now();
    this.ids.push(id);
    this.completed += 1;
    this.latency?.record(nowMs - sentMs);
    if (this.isOpen) caller.send(this.requests.next(), nowMs);
    else this.underWay -= 1;
  }

  protected fill(): void {
    this.underWay = this.callers.length;
    for (const caller of this.callers) caller.send(this.requests.next(), performance.now());
  }
}
