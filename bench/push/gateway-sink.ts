import { createServer, type TLSSocket } from 'node:tls';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { FrameReader } from '../../src/outgoing/http2/frames/frame-reader.ts';
import { OutBuffer } from '../../src/outgoing/http2/frames/out-buffer.ts';
import {
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  PREFACE,
  SETTING,
  WINDOW_BYTES,
  WINDOW_BYTES_MAX,
} from '../../src/outgoing/http2/frames/protocol.ts';
import { plainBlock } from '../../src/outgoing/http2/hpack/header-encoder.ts';

/** What each notification is answered with. */
export interface SinkAnswer {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
}

/** The answers of Apple's service and of push services, as long as theirs are. */
export const sinkAnswers = {
  apns: { status: 200, fields: { 'apns-id': 'EABEAE54-14A8-11E5-B60B-1697F925EC7B' } },
  web: {
    status: 201,
    fields: { location: `https://push.example.org/m/${'m'.repeat(64)}`, ttl: '86400' },
  },
} as const satisfies Readonly<Record<string, SinkAnswer>>;

/** A gateway that accepts everything. */
export interface GatewaySink extends AsyncDisposable {
  readonly origin: string;
  /** Clients must trust it; in PEM. */
  readonly ca: string;
}

/** Apple's limit. Source: push protocol, §8.1. */
const STREAMS_MAX = 1000;

/** The window of a connection is filled up again when this much has arrived. */
const TAKEN_BYTES_MAX = 2 ** 30;

/**
 * Starts a gateway that does the least that could work: it speaks HTTP/2, counts complete requests, reads neither
 * header fields nor bodies, and sends the same answer to all. So it is faster than the fakes, which check everything.
 */
export async function startGatewaySink(
  answer: SinkAnswer,
  onNotification: () => void,
): Promise<GatewaySink> {
  const host = '127.0.0.1';
  const certificate = makeSelfSigned([host], Date.now());
  const block = plainBlock({ ':status': String(answer.status), ...answer.fields });
  const sockets = new Set<TLSSocket>();
  const server = createServer(
    { ...certificate, ALPNProtocols: ['h2'], noDelay: true },
    (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      // The measured client may end its connections at any time.
      socket.on('error', () => socket.destroy());
      const session = new SinkSession(block, onNotification);
      socket.on('data', (bytes: Buffer) => {
        session.read(bytes);
        for (const piece of session.out.take()) socket.write(piece);
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return {
    origin: `https://${host}:${port}`,
    ca: certificate.cert,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One connection to the sink. */
class SinkSession {
  readonly out = new OutBuffer();
  private readonly block: Buffer;
  private readonly onNotification: () => void;
  private readonly frames = new FrameReader((type, flags, id, payload) =>
    this.onFrame(type, flags, id, payload),
  );
  private greetingLeft = PREFACE.length;
  private takenBytes = 0;

  constructor(block: Buffer, onNotification: () => void) {
    this.block = block;
    this.onNotification = onNotification;
  }

  /** Throws if the client has violated the protocol. Afterwards, `out` contains the reply. */
  read(bytes: Buffer): void {
    if (this.greetingLeft === 0) return this.frames.read(bytes);
    const skipped = Math.min(this.greetingLeft, bytes.length);
    if (this.greetingLeft === PREFACE.length) this.greet();
    this.greetingLeft -= skipped;
    if (skipped < bytes.length) this.frames.read(bytes.subarray(skipped));
  }

  private greet(): void {
    this.out.reserve(64);
    this.out.frame(6, FRAME.settings, 0, 0);
    this.out.byte(0);
    this.out.byte(SETTING.maxConcurrentStreams);
    this.out.uint32(STREAMS_MAX);
    this.widen(WINDOW_BYTES_MAX - WINDOW_BYTES);
  }

  private onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    const { out, block } = this;
    switch (type) {
      case FRAME.data: {
        this.takenBytes += payload.length;
        if (this.takenBytes > TAKEN_BYTES_MAX) {
          this.widen(this.takenBytes);
          this.takenBytes = 0;
        }
        if (!(flags & FLAG.endStream)) return;
        this.onNotification();
        out.reserve(FRAME_HEADER_BYTES + block.length);
        out.frame(block.length, FRAME.headers, FLAG.endHeaders | FLAG.endStream, id);
        return out.bytes(block);
      }
      case FRAME.settings:
        if (flags & FLAG.ack) return;
        out.reserve(FRAME_HEADER_BYTES);
        return out.frame(0, FRAME.settings, FLAG.ack, 0);
      case FRAME.ping:
        if (flags & FLAG.ack) return;
        out.reserve(FRAME_HEADER_BYTES + payload.length);
        out.frame(payload.length, FRAME.ping, FLAG.ack, 0);
        return out.bytes(payload);
      default:
        return;
    }
  }

  private widen(bytes: number): void {
    this.out.reserve(FRAME_HEADER_BYTES + 4);
    this.out.frame(4, FRAME.windowUpdate, 0, 0);
    this.out.uint32(bytes);
  }
}
