import { expect, it } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import { boundAcceptedSockets } from './accepted-sockets.ts';
import { openKernelSockets } from './kernel-sockets.ts';

it('finds the connections of a port with their other ends, and ends one', async () => {
  const kernel = openKernelSockets();
  if (kernel === undefined) {
    expect(process.platform).not.toBe('linux');
    return;
  }
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((socket) => accepted.resolve(socket));
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const client = connect(port, '127.0.0.1', () => client.write('x'));
  const ended = Promise.withResolvers<void>();
  client.on('end', ended.resolve);
  client.resume();
  const socket = await accepted.promise;
  socket.on('error', () => undefined);

  const found = Array.from({ length: 500 }, (_, descriptor) => descriptor).flatMap(
    (descriptor) => kernel.accepted(descriptor, port) ?? [],
  );
  expect(found).toEqual([
    {
      descriptor: expect.any(Number),
      address: '127.0.0.1',
      port: socket.remotePort ?? 0,
      silentMs: expect.any(Number),
    },
  ]);
  const [first] = found;
  if (first === undefined) throw new Error('None');
  // A connection that has ended meanwhile, and whose descriptor is another one's now.
  kernel.end({ ...first, port: first.port + 1 });
  expect(kernel.accepted(first.descriptor, port)).toMatchObject({ port: first.port });
  kernel.end(first);
  await ended.promise;
  client.destroy();
  socket.destroy();
  server.close();
});

it('finds a connection whose client does not read, and ends it so that the kernel forgets what waits for it', async () => {
  const kernel = openKernelSockets();
  if (kernel === undefined) {
    expect(process.platform).not.toBe('linux');
    return;
  }
  const accepted = Promise.withResolvers<Bun.Socket>();
  const closed = Promise.withResolvers<void>();
  using listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => accepted.resolve(socket),
      close: () => closed.resolve(),
      data: () => undefined,
      error: () => undefined,
    },
  });
  boundAcceptedSockets(16_384);
  const reset = Promise.withResolvers<void>();
  const client = connect(listener.port, '127.0.0.1');
  client.on('error', () => reset.resolve());
  client.pause();
  const socket = await accepted.promise;
  const unread = () =>
    Array.from({ length: 500 }, (_, descriptor) => descriptor).flatMap(
      (descriptor) => kernel.unread(descriptor, 8_192) ?? [],
    );
  expect(unread()).toEqual([]);
  const piece = Buffer.alloc(10_000);
  while (socket.write(piece) === piece.length);
  // What is on its way reaches the system of the client first.
  while (unread().length === 0) await new Promise((resolve) => setImmediate(resolve));
  const [found] = unread();
  if (found === undefined) throw new Error('None');
  expect(found).toMatchObject({ address: '127.0.0.1', port: client.localPort ?? 0 });
  expect(found.bytes).toBeGreaterThan(8_192);
  expect(found.bytes).toBeLessThan(100_000);
  kernel.abort(found);
  await closed.promise;
  client.resume();
  await reset.promise;
  expect(unread()).toEqual([]);
});
