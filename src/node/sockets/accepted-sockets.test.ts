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
