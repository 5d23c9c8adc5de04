import type { AppAddress } from '../bench-app.ts';
import { readHttpResponse } from './http-response.ts';
import type { ConnectionOwner, KernelSockets } from './kernel-sockets.ts';

/** One keep-alive HTTP connection, which carries one request at a time. */
class Publisher implements ConnectionOwner {
  readonly #publishers: Publishers;
  readonly #sockets: KernelSockets;
  readonly #fd: number;
  #isBusy = false;
  #received: Buffer | undefined;

  constructor(publishers: Publishers, sockets: KernelSockets, app: AppAddress) {
    this.#publishers = publishers;
    this.#sockets = sockets;
    this.#fd = sockets.connect(app.host, app.port, this, { goes: 'first' });
  }

  send(request: Uint8Array): void {
    this.#isBusy = true;
    this.#sockets.send(this.#fd, request);
  }

  received(bytes: Buffer, length: number): void {
    const chunk = bytes.subarray(0, length);
    const text = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    const response = readHttpResponse(text);
    if (response === undefined) {
      this.#received = Buffer.from(text);
      return;
    }
    this.#received = undefined;
    this.#isBusy = false;
    if (response.status === 200) this.#publishers.accepted();
    else this.#publishers.refused(text.toString('latin1', 0, response.end));
    this.#publishers.idle(this);
  }

  closed(): void {
    if (this.#isBusy) this.#publishers.refused('the connection was closed');
    this.#publishers.gone(this);
  }
}

/**
 * A backend's pool of connections, over which events are triggered: one request at a time on each. When all wait for
 * an answer, further requests queue here, and their latency includes that.
 */
export class Publishers {
  readonly #sockets: KernelSockets;
  readonly #app: AppAddress;
  readonly #size: number;
  // In order of last use, so that the server does not close any for being idle.
  readonly #idle: Publisher[] = [];
  #queued: Uint8Array[] = [];
  #nextQueued = 0;
  #open = 0;
  #accepted = 0;
  #refused = 0;
  #firstRefusal = '';

  constructor(sockets: KernelSockets, app: AppAddress, size: number) {
    this.#sockets = sockets;
    this.#app = app;
    this.#size = size;
  }

  /** Requests that got a 200. */
  get acceptedCount(): number {
    return this.#accepted;
  }

  /** Requests with another status, or without one because the connection was lost. */
  get refusedCount(): number {
    return this.#refused;
  }

  /** The server's text for the first refused request; empty if none was refused. */
  get firstRefusal(): string {
    return this.#firstRefusal;
  }

  /** Opens the missing connections, and starts counting at zero. */
  fill(): void {
    this.#queued = [];
    this.#nextQueued = 0;
    this.#accepted = 0;
    this.#refused = 0;
    this.#firstRefusal = '';
    for (; this.#open < this.#size; this.#open += 1) {
      this.#idle.push(new Publisher(this, this.#sockets, this.#app));
    }
  }

  send(request: Uint8Array): void {
    const publisher = this.#idle.shift();
    if (publisher === undefined) this.#queued.push(request);
    else publisher.send(request);
  }

  accepted(): void {
    this.#accepted += 1;
  }

  refused(why: string): void {
    if (this.#refused === 0) this.#firstRefusal = why;
    this.#refused += 1;
  }

  idle(publisher: Publisher): void {
    // An index, since removing the first entry of a long queue moves all others.
    const next = this.#queued[this.#nextQueued];
    if (next === undefined) this.#idle.push(publisher);
    else {
      this.#nextQueued += 1;
      publisher.send(next);
    }
  }

  gone(publisher: Publisher): void {
    this.#open -= 1;
    const at = this.#idle.indexOf(publisher);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}
