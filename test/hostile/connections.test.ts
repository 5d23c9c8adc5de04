import { describe, expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import { RECEIVE_QUERY } from '../../testing/clients/session-requests.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { runs } from '../../testing/long-run.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Connections that use up places or descriptors, and connections that stay half open. */

const LOUD = { id: 'loud', keys: [{ key: 'loud-key', secret: 'loud-secret' }] };
const LOUD_PATH = pathOf(7, 'loud-key');

/** Opens connections that send only these bytes, and counts those that the server has ended. */
function hold(port: number, count: number, bytes: string, from = '127.0.0.1') {
  let ended = 0;
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n++) {
    // The types of Bun lack the address of this end.
    const options = { port, host: '127.0.0.1', ...{ localAddress: from } };
    const socket = connect(options, () => bytes !== '' && socket.write(bytes));
    socket.on('error', () => undefined);
    // The end comes after what was sent before.
    socket.resume();
    socket.on('close', () => ended++);
    sockets.push(socket);
  }
  return {
    ended: () => ended,
    destroy: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function until(
  holds: () => boolean | Promise<boolean>,
  limitMs: number,
  pauseMs = 50,
): Promise<number> {
  const beganMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - beganMs > limitMs) throw new Error('It did not happen in time');
    await Bun.sleep(pauseMs);
  }
  return performance.now() - beganMs;
}

/** Seconds of processor time that a server has used. */
function cpuSeconds(server: Fanfare): number {
  const fields = readFileSync(`/proc/${server.process.pid}/stat`, 'utf8')
    .split(') ')[1]
    ?.split(' ');
  return (Number(fields?.[11]) + Number(fields?.[12])) / 100;
}

describe('2,000 silent and 500 half-sent connections', () => {
  it.concurrent('do not keep others from being served, and are closed within 60 s', async () => {
    await using server = await startFanfare();
    await using honest = await RawClient.connect(server);
    await honest.subscribe('a');
    const silent = hold(server.port, 2000, '');
    const half = hold(server.port, 500, 'GET /app/x HTTP/1.1\r\nHost: ');

    const tookMs = await until(
      async () => {
        await trigger(server, { name: 'e', channel: 'a', data: 'x' });
        expect(await honest.receive()).toMatchObject({ event: 'e' });
        await using newcomer = await RawClient.connect(server);
        await newcomer.receiveNothing();
        return silent.ended() + half.ended() === 2500;
      },
      180_000,
      500,
    );

    expect(tookMs).toBeLessThan(60_000);
  }, 180_000);
});

/** Waits until as many of the clients have been closed, and returns these. */
async function firstClosed(clients: readonly RawClient[], count: number): Promise<RawClient[]> {
  const closed: RawClient[] = [];
  for (const client of clients) void client.closed.then(() => closed.push(client));
  await until(() => closed.length >= count, 60_000);
  return closed;
}

it('a server that may have fewer than 128 open files does not start, and says why', async () => {
  await expect(startFanfare({ openFilesMax: 100 })).rejects.toThrow(
    'The limit of open files is 100, and a server needs 128 or more: raise LimitNOFILE',
  );
});

describe('a server that may have 500 open files', () => {
  it.concurrent('logs that limit, serves its clients while 700 silent connections arrive, does not spin, and recovers', async () => {
    await using server = await startFanfare({ openFilesMax: 500 });
    expect(JSON.parse(await server.logged(/limit of open files is low/))).toMatchObject({
      level: 'warn',
      openFilesLimit: 500,
      hint: 'raise LimitNOFILE of the unit, or ulimit -n of the shell',
    });
    await using honest = await RawClient.connect(server);
    await honest.subscribe('a');

    for (let attack = 0; attack < runs(1, 3); attack++) {
      const flood = hold(server.port, 700, '');
      await server.logged(/Idle connections closed to make room/);
      const cpuBefore = cpuSeconds(server);
      const beganMs = performance.now();
      await until(async () => {
        await honest.ping();
        return performance.now() - beganMs > 3000;
      }, 60_000);
      // A loop that spins takes all of a core.
      expect(cpuSeconds(server) - cpuBefore).toBeLessThan(1.5);
      // Most of them are closed, and new connections are accepted.
      await until(async () => {
        const client = await RawClient.connect(server).catch(() => undefined);
        await client?.[Symbol.asyncDispose]();
        return client !== undefined;
      }, 60_000);
      await trigger(server, { name: 'e', channel: 'a', data: 'x' });
      expect(await honest.receive()).toMatchObject({ event: 'e' });
      flood.destroy();
    }
  }, 180_000);

  it('keeps all clients connected, however often strangers use up the descriptors, and accepts others meanwhile', async () => {
    await using server = await startFanfare({ openFilesMax: 500 });
    const CYCLES = runs(4, 12);
    const honest: RawClient[] = [];
    let ended = 0;
    const join = async () => {
      const client = await RawClient.connect(server).catch(() => undefined);
      if (client === undefined) return;
      honest.push(client);
      await client.subscribe('a');
      void client.closed.then(() => ended++);
    };
    for (let n = 0; n < 10; n++) await join();
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      const flood = hold(server.port, 400, 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n');
      await until(() => flood.ended() > 0, 60_000);
      flood.destroy();
      const before = honest.length;
      await until(async () => {
        await join();
        return honest.length > before;
      }, 60_000);
    }
    expect(ended).toBe(0);
    await trigger(server, { name: 'e', channel: 'a', data: 'x' });
    for (const client of honest) expect(await client.receive()).toMatchObject({ event: 'e' });
    for (const client of honest) await client[Symbol.asyncDispose]();
  }, 180_000);

  it('refuses WebSockets of the app with most connections with 4100 before it runs out of files', async () => {
    await using server = await startFanfare({ openFilesMax: 500, moreApps: [LOUD] });
    const loud: RawClient[] = [];
    let refused: number | undefined;
    while (refused === undefined && loud.length < 600) {
      const client = await RawClient.open(server, { path: LOUD_PATH });
      const { event, data } = await client.receive();
      if (event === 'pusher:error') refused = (data as { code: number }).code;
      loud.push(client);
    }
    expect(refused).toBe(4100);
    // Connections of another app are accepted; the app with most connections loses some.
    await using honest = await RawClient.connect(server);
    await honest.subscribe('a');
    await trigger(server, { name: 'e', channel: 'a', data: 'x' });
    expect(await honest.receive()).toMatchObject({ event: 'e' });
    const [closed] = await firstClosed(loud, 1);
    expect(await closed?.closed).toMatchObject({ code: 4100 });
    await server.logged(/Connection closed: the server is full.*"app":"loud"/);
    for (const client of loud) await client[Symbol.asyncDispose]();
  }, 180_000);
});

describe('a server that may have 600 open files', () => {
  const STRANGER = '127.0.0.2';

  it.each([
    ['half-sent handshakes', 'GET /app/x HTTP/1.1\r\nHost: '],
    ['idle connections', 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])(
    'answers all triggers, and keeps its clients, while one address holds 483 %s',
    async (_, bytes) => {
      await using server = await startFanfare({ openFilesMax: 600 });
      const clients: RawClient[] = [];
      for (let n = 0; n < 20; n++) clients.push(await RawClient.connect(server));
      await clients[0]?.subscribe('a');
      // Of the same address, and silent for longer.
      await using stream = await RawHttp.open(server, { from: STRANGER });
      stream.write(
        `POST /pusher/app/${APP.key}/1/${crypto.randomUUID()}/xhr_streaming?${RECEIVE_QUERY} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(await stream.readHead()).toMatchObject({ status: 200 });
      await using socket = await RawHttp.open(server, { from: STRANGER });
      socket.write(
        `GET ${pathOf(7)} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      );
      expect(await socket.readHead()).toMatchObject({ status: 101 });
      const flood = hold(server.port, 483, bytes, STRANGER);
      const line = JSON.parse(await server.logged(/Idle connections closed to make room/));
      expect(line).toMatchObject({ address: STRANGER });

      for (let batch = 0; batch < 20; batch++) {
        const events = Array.from({ length: 20 }, () =>
          trigger(server, { name: 'e', channel: 'a', data: 'x' }),
        );
        expect(await Promise.all(events)).toEqual(events.map(() => '{}'));
      }
      for (let n = 0; n < 400; n++) {
        expect(await clients[0]?.receive()).toMatchObject({ event: 'e' });
      }
      for (const client of clients) await client.receiveNothing();
      expect([stream.ended, socket.ended]).toEqual([false, false]);
      flood.destroy();
      for (const client of clients) await client[Symbol.asyncDispose]();
    },
    180_000,
  );
});

describe('a server with a limit of ten connections', () => {
  it('closes a connection of the app with most when another app connects', async () => {
    await using server = await startFanfare({
      channels: { maxConnections: 10 },
      moreApps: [LOUD],
    });
    const loud: RawClient[] = [];
    for (let n = 0; n < 10; n++) loud.push(await RawClient.connect(server, { path: LOUD_PATH }));
    await using one = await RawClient.connect(server);
    await using two = await RawClient.connect(server);
    const closed = await firstClosed(loud, 2);
    const left = loud.filter((client) => !closed.includes(client));
    expect(await closed[0]?.receive()).toMatchObject({
      event: 'pusher:error',
      data: { code: 4100 },
    });
    expect(await closed[1]?.closed).toMatchObject({ code: 4100 });
    for (const client of [one, two, ...left]) await client.receiveNothing();
    for (const client of loud) await client[Symbol.asyncDispose]();
  });

  it('closes a connection of the address with most when another address connects, behind a trusted proxy', async () => {
    await using server = await startFanfare({
      channels: { maxConnections: 10 },
      config: { trustedProxies: ['127.0.0.0/8'] },
    });
    const from = (address: string) =>
      RawClient.connect(server, { headers: { 'X-Forwarded-For': `6.6.6.6, ${address}` } });
    const loud: RawClient[] = [];
    for (let n = 0; n < 10; n++) loud.push(await from('192.0.2.1'));
    await using honest = await from('192.0.2.2');
    const [closed] = await firstClosed(loud, 1);
    expect(await closed?.closed).toMatchObject({ code: 4100 });
    await honest.receiveNothing();
    const line = await server.logged(/Connection closed: the server is full/);
    expect(JSON.parse(line)).toMatchObject({ address: '192.0.2.1' });
    for (const client of loud) await client[Symbol.asyncDispose]();
  });

  it('closes none of an app whose clients share an address when an app with as many connections from many addresses connects', async () => {
    // Each thread compares its own connections, and ten are too few to be alike on all threads.
    await using server = await startFanfare({
      threads: 1,
      channels: { maxConnections: 10 },
      config: { trustedProxies: ['127.0.0.0/8'] },
      moreApps: [LOUD],
    });
    const from = (address: string, path?: string) =>
      RawClient.open(server, { ...(path && { path }), headers: { 'X-Forwarded-For': address } });
    const school: RawClient[] = [];
    for (let n = 0; n < 5; n++) school.push(await from('192.0.2.1'));
    const loud: RawClient[] = [];
    for (let n = 0; n < 20; n++) loud.push(await from(`2001:db8:0:${n}::1`, LOUD_PATH));
    for (const client of school) {
      expect(await client.receive()).toMatchObject({ event: 'pusher:connection_established' });
      await client.receiveNothing();
    }
    expect(await loud[19]?.receive()).toMatchObject({
      event: 'pusher:error',
      data: { code: 4100 },
    });
    for (const client of [...school, ...loud]) await client[Symbol.asyncDispose]();
  });
});
