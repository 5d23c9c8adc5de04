import { describe, expect, it } from 'bun:test';
import { startFanfare } from '../support/fanfare.ts';
import { RawClient } from '../support/raw-client.ts';

/** A connection that has sent half a request, and whether the server still has it. */
async function halfOpen(port: number) {
  const ended = Promise.withResolvers<void>();
  let isEnded = false;
  const end = () => {
    isEnded = true;
    ended.resolve();
  };
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: { data: () => undefined, close: end, end, error: end },
  });
  socket.write('GET /app/x HTTP/1.1\r\nHost: ');
  return { ended: ended.promise, isEnded: () => isEnded, terminate: () => socket.terminate() };
}

describe('unfinished handshakes', () => {
  if (process.platform !== 'linux') {
    it('are limited on Linux only, and the server says so', async () => {
      await using server = await startFanfare();
      await server.logged(/unfinishedHandshakesPerAddress is enforced on Linux only/);
    });
    return;
  }

  it('are closed beyond the limit of one address, and finished connections are not', async () => {
    await using server = await startFanfare({ channels: { unfinishedHandshakesPerAddress: 5 } });
    const finished: RawClient[] = [];
    for (let n = 0; n < 20; n++) finished.push(await RawClient.connect(server));
    const held: Awaited<ReturnType<typeof halfOpen>>[] = [];
    for (let n = 0; n < 12; n++) held.push(await halfOpen(server.port));

    const line = await server.logged(/too many unfinished handshakes/);
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', address: '127.0.0.1', limit: 5 });
    let left = held.length;
    await new Promise<void>((resolve) => {
      for (const { ended } of held) {
        ended.then(() => {
          if (--left === 5) resolve();
        });
      }
    });
    for (const client of finished) await client.hearsNothing();
    expect(held.filter(({ isEnded }) => !isEnded())).toHaveLength(5);
    for (const { terminate } of held) terminate();
  });
});
