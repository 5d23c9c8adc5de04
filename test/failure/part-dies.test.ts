import { describe, expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** A server in which SIGUSR2 sets off the fault. */
function startFaulty(fault: string, threads = 1): Promise<Fanfare> {
  return startFanfare({
    threads,
    program: `${import.meta.dir}/faulty-server.fixture.ts`,
    environment: { FAULT: fault },
    config: { drainSeconds: 1 },
  });
}

// One after the other: of many such servers that start at the same time, one has hung now and then.
describe('a server of which a part dies or is late', () => {
  it.each<[fault: string, why: RegExp, threads: number]>([
    ['background ends', /The background thread has ended/, 1],
    ['background throws', /The background thread failed: .*a fault of the test/s, 1],
    ['background rejects', /The background thread failed: .*a fault of the test/s, 1],
    ['realtime throws', /Internal error: .*a fault of the test/s, 1],
    ['realtime rejects', /Internal error: .*a fault of the test/s, 1],
    ['realtime throws', /Internal error: .*a fault of the test/s, 2],
    ['thread throws', /Internal error: .*a fault of the test/s, 2],
    ['thread rejects', /Internal error: .*a fault of the test/s, 2],
  ])('logs that, closes its clients and exits with 1: %s', async (fault, why, threads) => {
    await using server = await startFaulty(fault, threads);
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(server)));

    server.process.kill('SIGUSR2');

    const line = JSON.parse(await server.logged(/The server stops/));
    expect(line).toMatchObject({ level: 'error', why: expect.stringMatching(why) });
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4100 });
    expect(await server.process.exited).toBe(1);
  });

  it('logs that, loses the clients of a realtime thread that has ended, and exits with 1', async () => {
    await using server = await startFaulty('thread ends', 2);
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(server)));

    server.process.kill('SIGUSR2');

    const line = JSON.parse(await server.logged(/The server stops/));
    expect(line).toMatchObject({ level: 'error', why: 'The thread realtime-1 has ended' });
    const codes = await Promise.all(clients.map(async ({ closed }) => (await closed).code));
    // The runtime closes the connections of a thread that ends with 1001.
    expect(new Set(codes)).toEqual(new Set([4100, 1001]));
    expect(await server.process.exited).toBe(1);
  });

  it('is not ready while a realtime thread hangs, and can be stopped', async () => {
    await using server = await startFaulty('thread hangs', 2);
    const readyz = () => fetch(`http://127.0.0.1:${server.adminPort}/readyz`);
    await eventually(readyz, ({ status }) => status === 200);
    server.process.kill('SIGUSR2');

    await server.logged(/Realtime loop does not answer/);

    const answer = await readyz();
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('realtime-1: does not answer');
    expect(await server.stop()).toBe(0);
  });

  it('is not ready from the moment its background thread is dead', async () => {
    await using server = await startFaulty('background throws');
    await using client = await RawClient.connect(server);
    server.process.kill('SIGUSR2');

    await server.logged(/The server stops/);

    await expect(fetch(`http://127.0.0.1:${server.adminPort}/readyz`)).rejects.toThrow();
    expect(await client.closed).toMatchObject({ code: 4100 });
  });

  it.each([
    ['the engine throws', 4100],
    ['the server throws', 1011],
  ])('ends one connection whose message fails, and no other: %s, %p', async (fault, code) => {
    await using server = await startFaulty(fault);
    await using other = await RawClient.connect(server);
    await other.subscribe('news');
    await using unlucky = await RawClient.connect(server);
    server.process.kill('SIGUSR2');
    await server.logged(/^subscribing fails/);

    unlucky.send({ event: 'pusher:subscribe', data: { channel: 'news' } });

    expect(await unlucky.closed).toMatchObject({ code });
    expect(JSON.parse(await server.logged(/A message failed inside/))).toMatchObject({
      level: 'error',
      connection: unlucky.socketId,
      error: expect.stringContaining('a fault of the test'),
    });
    await trigger(server, { name: 'e', channel: 'news', data: 'still here' });
    expect(await other.receive()).toMatchObject({ event: 'e', data: 'still here' });
  });

  it.each([
    ['background starts late', 'the background thread', 1],
    ['realtime starts late', 'the realtime threads', 2],
    ['background answers late', 'the background thread', 1],
  ])('logs which part it waits for, and starts all the same: %s', async (fault, part, threads) => {
    await using server = await startFaulty(fault, threads);

    // On a busy machine, the other part may be late before.
    const line = await server.logged(new RegExp(`^(?=.*still starting).*${part}`));
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      waitsFor: part,
      seconds: expect.any(Number),
    });
    await using client = await RawClient.connect(server);
    await client.subscribe('news');
  });
});
