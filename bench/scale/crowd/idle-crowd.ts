import type { AppAddress } from '../../bench-app.ts';
import { EVENT_NAME, eventData, SequenceReader } from '../../load/bench-event.ts';
import {
  clientFrame,
  clientMessage,
  FrameScanner,
  type FrameSink,
  opcodes,
} from '../../load/frames.ts';
import { type ConnectionOwner, KernelSockets } from '../../load/kernel-sockets.ts';
import { Publishers } from '../../load/publishers.ts';
import { upgradeRequest } from '../../load/raw-web-socket.ts';
import { signedRequest } from '../../load/trigger-request.ts';
import { LoopProbe } from './loop-probe.ts';
import { Rosters } from './rosters.ts';
import { type Seating, type Seats, seatsOf } from './seating.ts';

/** The phases of a connection. */
const CLOSED = 0;
const HANDSHAKE = 1;
const OPEN = 2;
const SUBSCRIBED = 3;

/** Below Bun's backlog of 512: a client beyond it repeats its attempt after a second, and then the kernel's timer is measured. */
const CONNECTING_MAX = 400;
/** Connections from each source address: fewer than it has ports with odd numbers. */
const PER_ADDRESS = 10_000;
/** A crowd to which nothing happens for so long is given up. */
const SILENCE_MS = 60_000;
/** As many as a server takes in one trigger by default. */
const CHANNELS_PER_TRIGGER = 100;
const EVENT_BYTES = 100;
const PONG = clientMessage({ event: 'pusher:pong', data: {} });

export interface CrowdOptions {
  readonly app: AppAddress;
  readonly seating: Seating;
  /** The most clients. */
  readonly size: number;
  /** No descriptor of this process is as high. */
  readonly openFilesMax: number;
}

/** How long something took, and how long one of a hundred frames of another client waited for the server meanwhile. */
export interface Took {
  readonly seconds: number;
  readonly loopP99Ms: number;
}

/** One event to everybody. */
export interface Broadcast extends Took {
  readonly delivered: number;
  readonly duplicated: number;
}

/** Until all were subscribed. */
export interface Gathered extends Took {
  /** Until every list of members was right, too: that of exactly those who are there. Only of presence channels. */
  readonly presentSeconds?: number;
}

/**
 * Clients that subscribe to one channel each and then listen. What is known of a client are numbers in typed arrays,
 * so that a million fit into a small process: about 14 bytes each.
 */
export class IdleCrowd implements ConnectionOwner, FrameSink {
  readonly #app: AppAddress;
  readonly #sockets = new KernelSockets();
  readonly #seats: Seats;
  readonly #rosters: Rosters | undefined;
  readonly #request: Uint8Array;
  readonly #probe: LoopProbe;
  readonly #publishers: Publishers;
  readonly #sequences = new SequenceReader();
  /** By descriptor. */
  readonly #phases: Uint8Array;
  readonly #clients: Int32Array;
  readonly #lastEvents: Uint8Array;
  /** By client. */
  readonly #fds: Int32Array;
  /** Of those whose last read ended within a frame or within the answer to the handshake. */
  readonly #cutFrames = new Map<number, FrameScanner>();
  readonly #cutHandshakes = new Map<number, Buffer>();
  #scanner = new FrameScanner();
  /** Whose bytes are being read. */
  #reading = -1;
  #size = 0;
  #connecting = 0;
  #event = 0;
  #delivered = 0;
  #duplicated = 0;

  constructor({ app, seating, size, openFilesMax }: CrowdOptions) {
    this.#app = app;
    this.#seats = seatsOf(app, seating);
    this.#rosters = seating.kind === 'presence' ? new Rosters(size) : undefined;
    this.#request = upgradeRequest(app);
    this.#phases = new Uint8Array(openFilesMax);
    this.#clients = new Int32Array(openFilesMax);
    this.#lastEvents = new Uint8Array(openFilesMax);
    this.#fds = new Int32Array(size);
    this.#probe = new LoopProbe(this.#sockets, app);
    const triggers = Math.ceil(this.#seats.channels.length / CHANNELS_PER_TRIGGER);
    this.#publishers = new Publishers(this.#sockets, app, triggers);
  }

  /** Connects so many more; returns when all of them are subscribed, and know each other. */
  gather(count: number): Gathered {
    const first = this.#size;
    this.#size += count;
    return this.#gathered(() => this.#connectAll(first, this.#size));
  }

  /** Resets all connections at once and connects all clients again. */
  storm(): Gathered {
    return this.#gathered(() => {
      for (let client = 0; client < this.#size; client += 1) this.#reset(client);
      this.#connectAll(0, this.#size);
    });
  }

  /** Waits, answering pings. Meanwhile the probe asks for pongs, or nothing at all reaches the server. */
  rest(seconds: number, { isProbed }: { readonly isProbed: boolean }): Took {
    return this.#timed(() => {
      const endMs = performance.now() + seconds * 1000;
      for (;;) {
        const leftMs = endMs - performance.now();
        if (leftMs <= 0) return;
        if (isProbed) this.#turn(Math.min(leftMs, 5));
        else this.#sockets.pollSome(leftMs);
      }
    });
  }

  /** Triggers one event in all channels; returns when everybody has it. */
  broadcast(): Broadcast {
    this.#event = (this.#event % 250) + 1;
    this.#delivered = 0;
    this.#duplicated = 0;
    const { channels } = this.#seats;
    const data = eventData(this.#event, EVENT_BYTES);
    const requests: Uint8Array[] = [];
    for (let first = 0; first < Math.min(channels.length, this.#size); ) {
      const some = channels.slice(first, first + CHANNELS_PER_TRIGGER);
      first += some.length;
      const body = JSON.stringify({ name: EVENT_NAME, channels: some, data });
      requests.push(signedRequest(this.#app, '/events', body));
    }
    this.#publishers.fill();
    const took = this.#timed(() => {
      for (const request of requests) this.#publishers.send(request);
      this.#until(() => this.#delivered, this.#size);
    });
    this.#until(() => this.#publishers.acceptedCount, requests.length);
    return { ...took, delivered: this.#delivered, duplicated: this.#duplicated };
  }

  received(bytes: Buffer, length: number, fd: number): void {
    this.#reading = fd;
    if (this.#phases[fd] === HANDSHAKE) this.#readHandshake(bytes, length, fd);
    else this.#readFrames(bytes, length, fd);
  }

  closed(fd: number): void {
    throw new Error(`the server ended the connection of client ${this.#clients[fd]}`);
  }

  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    const fd = this.#reading;
    if (opcode === opcodes.ping) {
      this.#sockets.send(fd, clientFrame(opcodes.pong, bytes.subarray(start, end)));
      return;
    }
    if (opcode === opcodes.text && this.#isEvent(fd, bytes, start, end)) return;
    const text = bytes.toString('latin1', start, end);
    if (opcode === opcodes.text) this.#readMessage(fd, text);
    else throw new Error(`a client received a frame of type ${opcode}: ${text}`);
  }

  /** Whether it is the present event. The server sends it in the same way to everybody, so that it is not parsed. */
  #isEvent(fd: number, bytes: Buffer, start: number, end: number): boolean {
    if (this.#event === 0 || this.#sequences.read(bytes, start, end) !== this.#event) return false;
    if (this.#lastEvents[fd] === this.#event) this.#duplicated += 1;
    else this.#delivered += 1;
    this.#lastEvents[fd] = this.#event;
    return true;
  }

  #readMessage(fd: number, text: string): void {
    const client = this.#clients[fd] ?? 0;
    if (text.includes('"pusher_internal:subscription_succeeded"')) {
      this.#rosters?.begin(client, text);
      if (this.#phases[fd] === OPEN) this.#connecting -= 1;
      this.#phases[fd] = SUBSCRIBED;
    } else if (text.includes('"pusher:connection_established"')) {
      this.#sockets.send(fd, this.#seats.subscribeFrame(client, text));
    } else if (text.includes('"pusher_internal:member_')) {
      this.#rosters?.change(client, text);
    } else if (text.includes('"pusher:ping"')) {
      this.#sockets.send(fd, PONG);
    } else if (text.includes(`"${EVENT_NAME}"`)) {
      this.#sequences.learn(EVENT_NAME, text);
      const bytes = Buffer.from(text, 'latin1');
      if (!this.#isEvent(fd, bytes, 0, bytes.length)) throw new Error(`not expected: ${text}`);
    } else if (text.includes('error')) {
      throw new Error(`client ${client} was refused: ${text}`);
    }
  }

  #readHandshake(bytes: Buffer, length: number, fd: number): void {
    const before = this.#cutHandshakes.get(fd);
    const chunk = bytes.subarray(0, length);
    const answer = before === undefined ? chunk : Buffer.concat([before, chunk]);
    const end = answer.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#cutHandshakes.set(fd, Buffer.from(answer));
      return;
    }
    this.#cutHandshakes.delete(fd);
    const status = answer.toString('latin1', 9, 12);
    if (status !== '101') throw new Error(`an upgrade was answered with ${status}`);
    this.#phases[fd] = OPEN;
    const rest = answer.subarray(end + 4);
    if (rest.length > 0) this.#readFrames(rest, rest.length, fd);
  }

  #readFrames(bytes: Buffer, length: number, fd: number): void {
    const scanner = this.#cutFrames.get(fd) ?? this.#scanner;
    scanner.scan(bytes, length, this);
    if (scanner.isBetweenFrames) {
      if (scanner !== this.#scanner) this.#cutFrames.delete(fd);
    } else if (scanner === this.#scanner) {
      // It has kept the first half of a frame of this client.
      this.#cutFrames.set(fd, scanner);
      this.#scanner = new FrameScanner();
    }
  }

  #reset(client: number): void {
    const fd = this.#fds[client] ?? 0;
    this.#sockets.reset(fd);
    this.#phases[fd] = CLOSED;
    this.#cutFrames.delete(fd);
    this.#cutHandshakes.delete(fd);
    this.#rosters?.forget(client);
  }

  #connectAll(first: number, end: number): void {
    let next = first;
    let lastMs = performance.now();
    let lastLeft = -1;
    while (next < end || this.#connecting > 0) {
      while (next < end && this.#connecting < CONNECTING_MAX) {
        this.#connect(next);
        next += 1;
      }
      const nowMs = this.#turn(5);
      const left = end - next + this.#connecting;
      if (left !== lastLeft) lastMs = nowMs;
      lastLeft = left;
      if (nowMs > lastMs + SILENCE_MS) throw new Error(`${left} clients were not subscribed`);
    }
  }

  #connect(client: number): void {
    const address = Math.floor(client / PER_ADDRESS);
    const fd = this.#sockets.connect(this.#app.host, this.#app.port, this, {
      from: `127.${1 + (address >> 8)}.${address & 255}.9`,
    });
    this.#fds[client] = fd;
    this.#clients[fd] = client;
    this.#phases[fd] = HANDSHAKE;
    this.#connecting += 1;
    this.#sockets.send(fd, this.#request);
  }

  /** Reads until a count that only grows is as high as this. */
  #until(count: () => number, wanted: number): void {
    let before = -1;
    let lastMs = performance.now();
    while (count() < wanted) {
      const nowMs = this.#turn(5);
      if (count() !== before) lastMs = nowMs;
      before = count();
      if (nowMs > lastMs + SILENCE_MS) {
        throw new Error(`${before} of ${wanted} arrived: ${this.#publishers.firstRefusal}`);
      }
    }
  }

  #turn(timeoutMs: number): number {
    this.#probe.tick(performance.now());
    this.#sockets.pollSome(timeoutMs);
    return performance.now();
  }

  #gathered(act: () => void): Gathered {
    const rosters = this.#rosters;
    if (rosters === undefined) return this.#timed(act);
    const startMs = performance.now();
    const took = this.#timed(act);
    this.#until(() => rosters.rightCount, this.#size);
    return { ...took, presentSeconds: (performance.now() - startMs) / 1000 };
  }

  #timed(act: () => void): Took {
    this.#probe.takeP99Ms();
    const startMs = performance.now();
    act();
    const seconds = (performance.now() - startMs) / 1000;
    return { seconds, loopP99Ms: this.#probe.takeP99Ms() };
  }
}
