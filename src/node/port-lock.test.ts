import { afterEach, describe, expect, it } from 'bun:test';
import { PortLock } from './port-lock.ts';

const HOST = '127.0.0.1';

const opened: { stop(): unknown }[] = [];
afterEach(() => {
  for (const listener of opened.splice(0)) listener.stop();
});

/** Listens on a free port, or on the given one. */
function listen(options: { reusePort?: boolean; hostname?: string; port?: number } = {}): number {
  const server = Bun.serve({ hostname: HOST, port: 0, fetch: () => new Response(), ...options });
  opened.push(server);
  return server.port ?? 0;
}

function freePort(): number {
  const server = Bun.serve({ hostname: HOST, port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  void server.stop(true);
  return port;
}

describe('the lock of a shared port', () => {
  it('leaves the port free for listeners that share it', async () => {
    const port = freePort();
    using _lock = await PortLock.take('channels', { host: HOST, port });
    expect(listen({ reusePort: true, port })).toBe(port);
    expect(listen({ reusePort: true, port })).toBe(port);
  });

  it('is refused to a second server, which learns the process id of the first', async () => {
    const port = freePort();
    using _lock = await PortLock.take('channels', { host: HOST, port });
    await expect(PortLock.take('channels', { host: HOST, port })).rejects.toThrow(
      `${HOST}:${port} (channels.host, channels.port) is in use by Fanfare, process ${process.pid}`,
    );
  });

  it('is free again once it has been given back', async () => {
    const port = freePort();
    (await PortLock.take('channels', { host: HOST, port }))[Symbol.dispose]();
    using _lock = await PortLock.take('channels', { host: HOST, port });
  });

  it.each([
    ['alone', {}],
    ['and shares it', { reusePort: true }],
    ['on all addresses', { hostname: '0.0.0.0', reusePort: true }],
  ])('is refused if another program listens on the port %s', async (_, options) => {
    const port = listen(options);
    const take = () => PortLock.take('channels', { host: HOST, port });
    await expect(take()).rejects.toThrow('is in use by another program');
    // Not by the lock of the attempt before.
    await expect(take()).rejects.toThrow('is in use by another program');
  });
});
