import { describe, expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';

describe('a server with several realtime threads', () => {
  it.concurrent.each([2, 4])('serves clients on one port: %p threads', async (threads) => {
    await using server = await startFanfare({ threads });
    expect(server.output.stdout).toContain(`on ${threads} threads`);

    const clients = await Promise.all(Array.from({ length: 40 }, () => RawClient.connect(server)));

    expect(new Set(clients.map(({ socketId }) => socketId)).size).toBe(40);
    expect(await server.stop()).toBe(0);
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4200 });
  });
});
