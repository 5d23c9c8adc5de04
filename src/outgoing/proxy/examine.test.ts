import { afterEach, expect, it } from 'bun:test';
import { createServer } from 'node:tls';
import { startForwardProxy } from '../../../testing/servers/forward-proxy.ts';
import { NoProxy } from '../../runtime/proxy/no-proxy.ts';
import { a } from '../certificates.fixture.ts';
import { examineProxy } from './examine.ts';
import { proxyAt } from './forward-proxy.fixture.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

/** What is found at a proxy on this port. */
function examine(port: number, noProxy: readonly string[] = []) {
  const proxy = proxyAt(port, { noProxy: new NoProxy(noProxy) });
  return Array.fromAsync(examineProxy({ proxy, timeoutMs: 2_000 }));
}

it('names each gateway that a proxy does not connect to, and why', async () => {
  const server = createServer({ ...a, ALPNProtocols: ['h2'] }).listen(0, '127.0.0.1');
  stops.defer(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const to = typeof address === 'object' ? address?.port : undefined;
  const proxy = stops.use(
    await startForwardProxy({
      portOf: () => to,
      answer({ target }, socket) {
        if (!target.includes('googleapis')) return false;
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        return true;
      },
    }),
  );
  const name = `127.0.0.1:${proxy.port}`;
  expect(await examine(proxy.port, ['mozilla.com'])).toMatchObject([
    {
      result: 'failed',
      detail: `api.push.apple.com: DEPTH_ZERO_SELF_SIGNED_CERT, through proxy ${name}`,
      advice: expect.stringContaining('inspects TLS') as unknown as string,
    },
    {
      result: 'failed',
      detail: `fcm.googleapis.com: proxy ${name} answered 403 Forbidden`,
      advice: expect.stringContaining('allow CONNECT') as unknown as string,
    },
    { result: 'failed', detail: `oauth2.googleapis.com: proxy ${name} answered 403 Forbidden` },
    {
      result: 'ok',
      detail: 'updates.push.services.mozilla.com: outgoing.noProxy excludes it',
    },
  ]);
});

it('says that a proxy is unreachable', async () => {
  const [first] = await examine(1);
  expect(first).toMatchObject({
    result: 'failed',
    detail: 'api.push.apple.com: proxy 127.0.0.1:1: ECONNREFUSED',
    advice: expect.stringContaining('Check host and port') as unknown as string,
  });
});
