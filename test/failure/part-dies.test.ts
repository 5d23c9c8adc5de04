import { describe, expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** A server in which SIGUSR2 sets off the fault. */
function startFaulty(fault: string): Promise<Fanfare> {
  return startFanfare({
    program: `${import.meta.dir}/faulty-server.fixture.ts`,
    environment: { FAULT: fault },
    config: { drainSeconds: 1 },
  });
}

describe('a server of which a part dies', () => {
  it.concurrent.each([
    ['background ends', /The background thread has ended/],
    ['background throws', /The background thread failed: .*a fault of the test/s],
    ['background rejects', /The background thread failed: .*a fault of the test/s],
    ['realtime throws', /Internal error: .*a fault of the test/s],
    ['realtime rejects', /Internal error: .*a fault of the test/s],
  ])('says so, sends its clients away and exits with 1: %s', async (fault, why) => {
    await using server = await startFaulty(fault);
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(server)));

    server.process.kill('SIGUSR2');

    const line = JSON.parse(await server.logged(/The server stops/));
    expect(line).toMatchObject({ level: 'error', why: expect.stringMatching(why) });
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4200 });
    expect(await server.process.exited).toBe(1);
    // The readiness went with it: nothing answers any more, rather than "ready".
    await expect(fetch(`http://127.0.0.1:${server.adminPort}/readyz`)).rejects.toThrow();
  });

  it.concurrent('is not ready from the moment its background thread is dead', async () => {
    await using server = await startFaulty('background throws');
    await using client = await RawClient.connect(server);
    server.process.kill('SIGUSR2');

    await server.logged(/The server stops/);

    await expect(fetch(`http://127.0.0.1:${server.adminPort}/readyz`)).rejects.toThrow();
    expect(await client.closed).toMatchObject({ code: 4200 });
  });

  it.concurrent.each([
    ['the engine throws', 4200],
    ['the server throws', 1011],
  ])('ends one connection whose message fails, and no other: %s, %p', async (fault, code) => {
    await using server = await startFaulty(fault);
    await using other = await RawClient.connect(server);
    await other.subscribes('news');
    await using unlucky = await RawClient.connect(server);
    server.process.kill('SIGUSR2');
    await server.logged(/^subscribing fails/);

    unlucky.says({ event: 'pusher:subscribe', data: { channel: 'news' } });

    expect(await unlucky.closed).toMatchObject({ code });
    expect(JSON.parse(await server.logged(/A message failed inside/))).toMatchObject({
      level: 'error',
      connection: unlucky.socketId,
      error: expect.stringContaining('a fault of the test'),
    });
    await trigger(server, { name: 'e', channel: 'news', data: 'still here' });
    expect(await other.hears()).toMatchObject({ event: 'e', data: 'still here' });
  });
});
