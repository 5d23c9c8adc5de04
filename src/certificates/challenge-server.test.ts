import { afterAll, beforeAll, expect, it } from 'bun:test';
import { ChallengeServer, oldestOfMost } from './challenge-server.ts';

let server: ChallengeServer;
beforeAll(() => {
  server = new ChallengeServer({
    host: '127.0.0.1',
    port: 0,
    domains: ['ws.example.test', 'push.example.test'],
    answer: (token) => (token === 'known' ? 'known.print' : undefined),
  });
});
afterAll(() => server[Symbol.dispose]());

/** Sends a text, and returns all that comes until the server closes the connection. */
function exchange(text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let heard = '';
  void Bun.connect({
    hostname: '127.0.0.1',
    port: server.port,
    socket: {
      open: (socket) => void socket.write(text),
      data(_, bytes) {
        heard += bytes.toString();
      },
      close: () => resolve(heard),
      error: (_, error) => reject(error),
    },
  });
  return promise;
}

const get = (path: string, host = 'ws.example.test') =>
  exchange(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

it('answers the challenges of an authority, and no others', async () => {
  const known = await get('/.well-known/acme-challenge/known');
  expect(known).toStartWith('HTTP/1.1 200 OK\r\n');
  expect(known).toEndWith('\r\n\r\nknown.print');
  expect(await get('/.well-known/acme-challenge/other')).toStartWith('HTTP/1.1 404 ');
  expect(await get('/.well-known/acme-challenge/')).toStartWith('HTTP/1.1 404 ');
});

it('redirects everything else to https, and only to its own names', async () => {
  const locationOf = async (path: string, host: string) =>
    /^Location: (.*)\r$/m.exec(await get(path, host))?.[1];
  expect(await locationOf('/a?b=c', 'PUSH.example.test:80')).toBe(
    'https://push.example.test/a?b=c',
  );
  expect(await locationOf('/a', 'evil.test')).toBe('https://ws.example.test/a');
  expect(await locationOf('//evil.test/', 'evil.test')).toBe('https://ws.example.test//evil.test/');
});

it.each([
  ['no request', 'hello\r\n\r\n', '400 '],
  ['a path with a control character', 'GET /\x01 HTTP/1.1\r\n\r\n', '400 '],
  ['an address of another server', 'GET http://evil.test/ HTTP/1.1\r\n\r\n', '400 '],
  ['a head without an end', `GET / HTTP/1.1\r\nx: ${'x'.repeat(9_000)}`, '431 '],
])('ends a connection with %s', async (_, text, status) => {
  expect(await exchange(text)).toStartWith(`HTTP/1.1 ${status}`);
});

it('closes the oldest connection of the address that has most, and serves the next', async () => {
  const closed = Promise.withResolvers<void>();
  let closings = 0;
  const idle = {
    data: () => undefined,
    close() {
      closings++;
      closed.resolve();
    },
  };
  const others = await Promise.all(
    Array.from({ length: 60 }, () =>
      Bun.connect({ hostname: '127.0.0.1', port: server.port, socket: idle }),
    ),
  );
  await closed.promise;
  expect(await get('/.well-known/acme-challenge/known')).toContain('known.print');
  // The others stay: it was not closed because its time is over.
  expect(closings).toBeLessThan(others.length / 2);
  for (const socket of others) socket.terminate();
});

it('counts the addresses of one IPv6 network as one', () => {
  const from = (...addresses: string[]) => addresses.map((remoteAddress) => ({ remoteAddress }));
  const network = from('2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3');
  const others = from('192.0.2.1', '::ffff:192.0.2.1', '2001:db8:0:1::1');
  expect(oldestOfMost([...others, ...network])).toBe(network[0]);
  expect(oldestOfMost([])).toBeUndefined();
});
