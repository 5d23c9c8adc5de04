import { dlopen, FFIType } from 'bun:ffi';
import { expect, it } from 'bun:test';
import { boundAcceptedSockets } from './accepted-sockets.ts';

/** What the kernel takes of a connection whose client does not read, before the runtime must keep the rest. */
async function takenBytes(bound: number | undefined): Promise<number> {
  const accepted = Promise.withResolvers<Bun.Socket>();
  using listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { open: (socket) => accepted.resolve(socket), data: () => undefined },
  });
  if (bound !== undefined) expect(boundAcceptedSockets(bound)).toBe(true);
  const client = await Bun.connect({
    hostname: '127.0.0.1',
    port: listener.port,
    socket: { open: (socket) => void socket.pause(), data: () => undefined },
  });
  const socket = await accepted.promise;
  const piece = Buffer.alloc(10_000);
  let taken = 0;
  for (let written = piece.length; written === piece.length; taken += Math.max(0, written)) {
    written = socket.write(piece);
  }
  client.terminate();
  socket.terminate();
  return taken;
}

it.if(process.platform === 'linux')(
  'the kernel takes less of what a client does not read, also on connections that are accepted later',
  async () => {
    expect(await takenBytes(undefined)).toBeGreaterThan(1_000_000);
    // The system of the client takes 64 KB, too.
    expect(await takenBytes(16_384)).toBeLessThan(250_000);
  },
);

/** What the kernel may hold unread for each socket of this process with a port of its own. */
function roomsAt(port: number): number[] {
  const { i32, ptr } = FFIType;
  const { symbols } = dlopen('libc.so.6', {
    getsockname: { args: [i32, ptr, ptr], returns: i32 },
    getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
  });
  const value = new Uint8Array(4_096);
  const view = new DataView(value.buffer);
  const length = new Uint8Array(4_096);
  const room = (bytes: number) => new DataView(length.buffer).setUint32(0, bytes, true);
  return Array.from({ length: 500 }, (_, descriptor) => descriptor).flatMap((descriptor) => {
    room(128);
    const isSocket = symbols.getsockname(descriptor, value, length) === 0;
    if (!isSocket || view.getUint16(2) !== port) return [];
    room(4);
    // SO_RCVBUF of SOL_SOCKET.
    return symbols.getsockopt(descriptor, 1, 8, value, length) === 0 ? view.getInt32(0, true) : [];
  });
}

/** The most that the kernel holds of what a client sends, once the server has read much of it. */
async function unreadBytes(isBounded: boolean): Promise<number> {
  let read = 0;
  const enough = Promise.withResolvers<void>();
  using listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(_, bytes) {
        read += bytes.length;
        if (read > 8_000_000) enough.resolve();
      },
    },
  });
  if (isBounded) expect(boundAcceptedSockets(16_384)).toBe(true);
  const piece = Buffer.alloc(100_000);
  const send = (socket: Bun.Socket) => {
    while (socket.write(piece) === piece.length);
  };
  const client = await Bun.connect({
    hostname: '127.0.0.1',
    port: listener.port,
    socket: { open: send, drain: send, data: () => undefined },
  });
  await enough.promise;
  const most = Math.max(...roomsAt(listener.port));
  client.terminate();
  return most;
}

it.if(process.platform === 'linux')(
  'the kernel takes less of what the server has not read, however quickly it was sent before',
  async () => {
    expect(await unreadBytes(false)).toBeGreaterThan(131_072);
    expect(await unreadBytes(true)).toBe(131_072);
  },
);
