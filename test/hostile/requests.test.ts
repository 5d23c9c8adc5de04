import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api, signedTarget, trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare, THREADS } from '../../testing/servers/fanfare.ts';
import { attack, expectCalm, pingDuring } from './neighbour.ts';
import { residentBytes } from './resident-bytes.ts';

/** Requests of strangers and of another tenant's backend, beside the client and the backend of an honest tenant. */

const LOUD = { id: 'loud', keys: [{ key: 'loud-key', secret: 'loud-secret' }] };
const SLOW_KEY = { key: 'slow-key', secret: 'slow-secret' };
const SLOW = { id: 'slow', keys: [SLOW_KEY], limits: { triggersPerSecond: 10 } };
const NOW = () => Math.floor(Date.now() / 1000);

let server: Fanfare;
let honest: RawClient;
beforeAll(async () => {
  server = await startFanfare({
    moreApps: [LOUD, SLOW],
    channels: { unfinishedBytes: 8_000_000, bodyBytesPerSecond: 100_000 },
  });
  honest = await RawClient.connect(server);
});
afterAll(async () => {
  await honest[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Sockets that have sent the head of a request and most of its body. */
async function uploads(count: number, target: string, bytes: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(server.port, '127.0.0.1'));
  const head = `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes + 1000}\r\n\r\n`;
  await Promise.all(
    sockets.map(async (socket) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.on('error', () => resolve());
      socket.write(head, () => socket.write(Buffer.alloc(bytes, 'x'), () => resolve()));
      await promise;
    }),
  );
  return sockets;
}

describe('a signature that is wrong', () => {
  const signed = `auth_key=loud-key&auth_version=1.0&auth_timestamp=${NOW()}&auth_signature=${'f'.repeat(64)}`;

  it.each([
    ['an array of 3,900 elements', `/apps/loud/channels/%61?${signed}&+&${'a[]&'.repeat(3900)}`],
    ['3,900 numbered elements', `/apps/loud/channels?${signed}&+&${'a[0]&'.repeat(3000)}`],
    ['5,000 empty parameters', `/apps/loud/channels?${signed}&+${'&='.repeat(5000)}`],
    [
      '100 parameters of all forms',
      `/apps/loud/channels/%2B?${signed}&+&${Array.from({ length: 90 }, (_, n) => `a[${n % 3}]=${'%20'.repeat(40)}`).join('&')}`,
    ],
    ['a parameter of 15,000 bytes', `/apps/loud/channels?${signed}&a[]=${'+%'.repeat(7_500)}`],
  ])('costs no more than its bytes: %s', async (_, target) => {
    const pinged = await pingDuring(server, honest, () =>
      attack<{ sent: number; statuses: Record<string, number> }>('requests', {
        port: server.port,
        path: pathOf(7, 'loud-key'),
        seconds: 1,
        target,
        perSecond: 25,
      }),
    );
    expectCalm(pinged);
    expect(pinged.result.sent).toBeGreaterThan(2);
    expect(Object.keys(pinged.result.statuses)).toEqual([expect.stringMatching(/^40[01]$/)]);
  });
});

describe('bodies', () => {
  it('of strangers are not kept', async () => {
    const before = residentBytes(server);
    const sockets = await uploads(200, '/apps/3/events?auth_key=nope', 1_000_000);
    await honest.receiveNothing();
    expect(residentBytes(server) - before).toBeLessThan(60_000_000);
    for (const socket of sockets) socket.destroy();
  });

  it('of another tenant leave room for the bodies of this one', async () => {
    const body = 'x'.repeat(1_001_000);
    const target = signedTarget('POST', '/apps/loud/events', {
      key: 'loud-key',
      secret: 'loud-secret',
      body,
    });
    const sockets = await uploads(30, target, 1_000_000);
    const large = JSON.stringify({
      batch: Array.from({ length: 10 }, () => ({
        name: 'e',
        channel: 'a',
        data: 'd'.repeat(10_000),
      })),
    });
    for (let n = 0; n < 5; n++) {
      const { status } = await api(server, 'POST', `/apps/${APP.id}/batch_events`, { body: large });
      expect(status).toBe(200);
    }
    await server.logged(/Server is overloaded/);
    for (const socket of sockets) socket.destroy();
  });

  it('that arrive too slowly are refused with 408', async () => {
    const target = signedTarget('POST', '/apps/loud/events', {
      key: 'loud-key',
      secret: 'loud-secret',
      body: 'x'.repeat(2000),
    });
    const [socket] = await uploads(1, target, 1000);
    const answer = Promise.withResolvers<string>();
    socket?.once('data', (bytes) => answer.resolve(bytes.toString()));
    expect(await answer.promise).toStartWith('HTTP/1.1 408 ');
    socket?.destroy();
  }, 180_000);
});

describe('triggers of another tenant', () => {
  it('cost no more than its rate allows, even if they are refused and contain a megabyte that is not an event', async () => {
    const keys = Array.from({ length: 70_000 }, (_, n) => `,"k${n}":1`).join('');
    const body = `{"name":"x","channel":"c","data":"d"${keys}}`;
    const pinged = await pingDuring(server, honest, async () => {
      const statuses: number[] = [];
      const startedMs = performance.now();
      for (let n = 0; n < 100; n++) {
        const { status } = await api(server, 'POST', '/apps/slow/events', { ...SLOW_KEY, body });
        statuses.push(status);
      }
      return { statuses, seconds: (performance.now() - startedMs) / 1000 };
    });
    expectCalm(pinged);
    const { statuses, seconds } = pinged.result;
    // Its size counts like that of many triggers, so one is taken every few seconds.
    expect(statuses.filter((status) => status !== 429).length).toBeLessThanOrEqual(2 + seconds / 5);
  }, 180_000);
});

describe('questions of another tenant', () => {
  it('about 100,000 channels do not block the loop, and get complete answers', async () => {
    const clients: RawClient[] = [];
    for (let c = 0; c < 100; c++) {
      const client = await RawClient.connect(server, { path: pathOf(7, 'loud-key') });
      for (let n = 0; n < 1000; n++) {
        client.send({ event: 'pusher:subscribe', data: { channel: `many-${c}-${n}` } });
      }
      for (let n = 0; n < 1000; n++) await client.receiveText();
      clients.push(client);
    }
    const list = (query: Readonly<Record<string, string>> = {}) =>
      api(server, 'GET', '/apps/loud/channels', {
        key: 'loud-key',
        secret: 'loud-secret',
        query,
      });
    const pinged = await pingDuring(server, honest, async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async () => {
          const answer = await list();
          return { status: answer.status, text: await answer.text() };
        }),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
      // Searched channels count towards the rate, so these requests are limited, too.
      await eventually(
        async () => {
          const some = Array.from({ length: 20 }, () => list({ filter_by_prefix: 'none' }));
          return (await Promise.all(some)).map(({ status }) => status);
        },
        (statuses) => statuses.includes(429),
      );
      return answers.filter(({ status }) => status === 200).map(({ text }) => text);
    });
    expectCalm(pinged);
    expect(pinged.longest).toBeLessThan(2_500);
    // The searches of one thread reach the others a tenth of a second later.
    expect(pinged.result.length).toBeLessThanOrEqual(8 * THREADS);
    for (const text of pinged.result) {
      expect(Object.keys(JSON.parse(text).channels)).toHaveLength(100_000);
    }
    // Now, and not while the neighbour is measured: the answers have left hundreds of megabytes of objects.
    Bun.gc(true);
    // All clients disconnect at once.
    const left = await pingDuring(server, honest, async () => {
      for (const client of clients) await client[Symbol.asyncDispose]();
      await Bun.sleep(500);
    });
    // Few pings fit into this moment, so only the longest says something.
    expect(left.longest).toBeLessThan(2_500);
    await trigger(server, { name: 'e', channel: 'a', data: 'still here' });
  }, 180_000);
});
