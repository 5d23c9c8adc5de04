import { connect, createServer, type Server, type Socket } from 'node:net';
import { readFrame } from '../../src/doctor/client/websocket-frames.ts';

/** What a client gets in place of a text frame of the server. */
export type Tamper = (text: string) => readonly string[];

const HEAD_END = '\r\n\r\n';
const TEXT = 1;

/** Stands between WebSocket clients and a server, and changes what the server sends. All other requests pass as they are. */
export class FrameProxy implements AsyncDisposable {
  private readonly targetPort: number;
  private readonly tamperWith: () => Tamper;
  private readonly listener: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(targetPort: number, tamperWith: () => Tamper) {
    this.targetPort = targetPort;
    this.tamperWith = tamperWith;
    this.listener = createServer((client) => this.accept(client));
  }

  /** `tamperWith` makes what changes the frames of one connection. */
  static async start(targetPort: number, tamperWith: () => Tamper): Promise<FrameProxy> {
    const proxy = new FrameProxy(targetPort, tamperWith);
    await new Promise<void>((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.listener.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private accept(client: Socket): void {
    const server = connect(this.targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => server.write(bytes));
    const tamper = this.tamperWith();
    let unread: Buffer = Buffer.alloc(0);
    let isWebSocket: boolean | undefined;
    server.on('data', (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes]);
      if (isWebSocket === undefined) {
        const headEnd = unread.indexOf(HEAD_END);
        if (headEnd < 0) return;
        isWebSocket = unread.toString('latin1', 0, headEnd).includes(' 101 ');
        client.write(unread.subarray(0, headEnd + HEAD_END.length));
        unread = unread.subarray(headEnd + HEAD_END.length);
      }
      if (!isWebSocket) {
        client.write(unread);
        unread = Buffer.alloc(0);
        return;
      }
      for (let read = readFrame(unread); read !== undefined; read = readFrame(unread)) {
        const { frame } = read;
        const isText = frame.opcode === TEXT && frame.final;
        if (!isText) client.write(unread.subarray(0, read.bytes));
        else for (const text of tamper(frame.payload.toString())) client.write(textFrame(text));
        unread = unread.subarray(read.bytes);
      }
    });
  }
}

/** A text frame of a server. Source: RFC 6455, §5.2. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const size = length < 126 ? [length] : [126, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([0x80 | TEXT, ...size]), payload]);
}
