/**
 * Finds out how much a gateway takes: sends it notifications that were written in advance, reads no more of the answers
 * than that they are complete, and prints how many those were in a second. `deliver.ts` starts it.
 */
import { once } from 'node:events';
import { connect } from 'node:tls';
import {
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  FrameReader,
  PREFACE,
  WINDOW_BYTES,
  WINDOW_BYTES_MAX,
} from '../../src/outgoing/http2/frames.ts';
import { plainField } from '../../src/outgoing/http2/header-field.ts';
import { OutBuffer } from '../../src/outgoing/http2/out-buffer.ts';

export interface CeilingTask {
  readonly origin: string;
  readonly ca: string;
  readonly connections: number;
  readonly atOnce: number;
  readonly bodyBytes: number;
  readonly seconds: number;
}

/** Written to a socket together. */
const REQUESTS_PER_WRITE = 25;

const WARM_UP_MS = 500;

/** Ids of the requests of one connection: those of clients are odd. */
const ID_STEP = 2;

/** As long as the fields are that differ from device to device; the others take a byte each. */
const FIELDS = [
  plainField(':method', 'POST'),
  plainField(':scheme', 'https'),
  plainField(':path', `/3/device/${'b'.repeat(64)}`),
];

/** One connection that always has as many requests under way. */
class Blaster {
  answered = 0;
  private readonly write: (bytes: Buffer) => void;
  private readonly requests: Buffer;
  private readonly requestBytes: number;
  private readonly idPlaces: readonly number[];
  private nextId = 1;
  private readonly frames = new FrameReader((type, flags) => {
    const isEnd = (flags & FLAG.endStream) !== 0;
    if (isEnd && (type === FRAME.headers || type === FRAME.data)) this.answered += 1;
  });
  private sent = 0;
  private readonly atOnce: number;

  constructor(atOnce: number, bodyBytes: number, write: (bytes: Buffer) => void) {
    this.atOnce = atOnce;
    this.write = write;
    const { bytes, idPlaces } = requestOf(bodyBytes);
    this.requestBytes = bytes.length;
    this.idPlaces = idPlaces;
    this.requests = Buffer.concat(Array.from({ length: REQUESTS_PER_WRITE }, () => bytes));
    this.write(greeting());
  }

  read(bytes: Buffer): void {
    this.frames.read(bytes);
    this.send();
  }

  send(): void {
    while (this.sent - this.answered + REQUESTS_PER_WRITE <= this.atOnce) {
      for (let request = 0; request < REQUESTS_PER_WRITE; request += 1) {
        for (const place of this.idPlaces) {
          this.requests.writeUInt32BE(this.nextId, request * this.requestBytes + place);
        }
        this.nextId += ID_STEP;
      }
      this.sent += REQUESTS_PER_WRITE;
      // It may be kept by whoever writes it, and the next ids are written over these.
      this.write(Buffer.from(this.requests));
    }
  }
}

function greeting(): Buffer {
  const out = new OutBuffer();
  out.reserve(256);
  out.bytes(PREFACE);
  out.frame(0, FRAME.settings, 0, 0);
  out.frame(4, FRAME.windowUpdate, 0, 0);
  out.uint32(WINDOW_BYTES_MAX - WINDOW_BYTES);
  return Buffer.concat(out.take());
}

function requestOf(bodyBytes: number): { bytes: Buffer; idPlaces: readonly number[] } {
  const block = new OutBuffer();
  for (const { staticIndex, nameIndex, literal } of FIELDS) {
    block.reserve(literal.length + 8);
    if (staticIndex > 0) {
      block.integer(0x80, 7, staticIndex);
    } else {
      block.integer(0, 4, nameIndex);
      block.bytes(literal);
    }
  }
  const fields = Buffer.concat(block.take());
  const out = new OutBuffer();
  out.reserve(FRAME_HEADER_BYTES * 2 + fields.length + bodyBytes);
  out.frame(fields.length, FRAME.headers, FLAG.endHeaders, 0);
  out.bytes(fields);
  out.frame(bodyBytes, FRAME.data, FLAG.endStream, 0);
  out.bytes(Buffer.alloc(bodyBytes, 'x'));
  const idAt = FRAME_HEADER_BYTES - 4;
  return {
    bytes: Buffer.concat(out.take()),
    idPlaces: [idAt, FRAME_HEADER_BYTES + fields.length + idAt],
  };
}

async function measure(task: CeilingTask): Promise<number> {
  const { hostname, port } = new URL(task.origin);
  const blasters: Blaster[] = [];
  for (let opened = 0; opened < task.connections; opened += 1) {
    const socket = connect({
      host: hostname,
      port: Number(port),
      ca: task.ca,
      ALPNProtocols: ['h2'],
    });
    await once(socket, 'secureConnect');
    socket.setNoDelay(true);
    const atOnce = Math.floor(task.atOnce / task.connections);
    const blaster = new Blaster(atOnce, task.bodyBytes, (bytes) => socket.write(bytes));
    socket.on('data', (bytes: Buffer) => blaster.read(bytes));
    blasters.push(blaster);
    blaster.send();
  }
  const answered = () => blasters.reduce((sum, blaster) => sum + blaster.answered, 0);
  await Bun.sleep(WARM_UP_MS);
  const [before, startedMs] = [answered(), performance.now()];
  await Bun.sleep(task.seconds * 1000);
  return ((answered() - before) * 1000) / (performance.now() - startedMs);
}

// Its parent is the one who writes it.
const task: CeilingTask = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await measure(task)));
// Its connections would keep it here.
process.exit(0);
