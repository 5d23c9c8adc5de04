import { createServer } from 'node:net';

/** Those who were given a port may not listen on it yet. */
const given = new Set<number>();

/** A port of 127.0.0.1 that nothing listens on, and another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await anyPort();
    if (given.has(port)) continue;
    given.add(port);
    return port;
  }
}

function anyPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no port'));
      server.close(() => resolve(address.port));
    });
  });
}
