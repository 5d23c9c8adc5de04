import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import packageJson from '../../package.json';
import type { ServerFacts } from '../../src/asking/facts/servers.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ threads: 2, onlyOne: 'figures' });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Figures {
  readonly nowMs: number;
  readonly fromMs: number;
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

const figures = async (query = '') =>
  (await admin(server, 'GET', `/figures${query}`)).json as Figures;

describe('the admin API reports', () => {
  it('what the server is, and where it listens', async () => {
    // The listener of the channels is known a moment after it listens.
    const json = await eventually(
      async () => (await admin(server, 'GET', '/server')).json as ServerFacts,
      ({ listeners }) => listeners.channels.port !== 0,
    );
    expect(json).toMatchObject({
      // A build that is no release has its time behind it.
      version: expect.stringMatching(
        new RegExp(`^${RegExp.escape(packageJson.version)}(?:[-+]|$)`),
      ),
      command: 'npx fanfare',
      threads: 2,
      engine: 'memory',
      store: 'sqlite',
      listeners: {
        channels: { host: '127.0.0.1', port: server.port, tls: false, pathPrefix: '' },
        push: { port: server.pushPort, tls: false, publicUrl: null },
        admin: { port: server.adminPort, tls: false },
      },
    });
    expect(Math.abs(Date.now() - json.startedAtMs)).toBeLessThan(300_000);
  });

  it('the figures of the last day, of all loops', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => RawClient.connect(server)));
    // A figure that is older than a second is measured again on request.
    const { series, fromMs, nowMs } = await eventually(
      () => figures(),
      (one) => one.series['connections']?.at(-1) === 8,
    );
    for (const client of clients) await client[Symbol.asyncDispose]();
    expect(Object.keys(series)).toEqual([
      'connections',
      'deliveredPerSecond',
      'eventsPerSecond',
      'loopLateMs',
      'memoryBytes',
      'webhooksWaiting',
      'pushWaiting',
      'resumedPerSecond',
      'gapsPerSecond',
    ]);
    expect(fromMs).toBeLessThanOrEqual(nowMs);
    expect(series['memoryBytes']?.at(-1)).toBeGreaterThan(10_000_000);
    expect((await figures(`?since=${nowMs + 60_000}`)).series['connections']).toEqual([]);
    expect((await admin(server, 'GET', '/figures?since=-1')).status).toBe(400);
  });

  it('how many more connections there is room for, and what sets the limit', async () => {
    const { json } = await admin(server, 'GET', '/nodes');
    const { nodes } = json as {
      nodes: [{ report: { room: { connections: number; limitedBy: string } } }];
    };
    const { connections, limitedBy } = nodes[0].report.room;
    expect(connections).toBeGreaterThan(0);
    expect(['open-files', 'memory']).toContain(limitedBy);
  });

  it('how full the shares of the memory are, of all loops', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => RawClient.connect(server)));
    const { json } = await admin(server, 'GET', '/memory');
    const use = { usedBytes: expect.any(Number), mostBytes: expect.any(Number) };
    const { servers, memory } = json as {
      servers: readonly { name: string }[];
      memory: readonly [{ server: string; shares: readonly Record<string, number>[] }];
    };
    expect(memory).toEqual([
      {
        server: servers[0]?.name ?? '',
        shares: ['connections', 'subscriptions', 'unread', 'histories', 'bodies'].map((share) =>
          expect.objectContaining({ ...use, share }),
        ),
      },
    ]);
    // At least 8 KiB for each of them, whichever loop has it.
    const [{ usedBytes = 0, mostBytes = 0 } = {}] = memory[0].shares;
    expect(usedBytes).toBeWithin(8 * 8_192, mostBytes);
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('what an operator should look at', async () => {
    const ask = async () =>
      (await admin(server, 'GET', '/conditions')).json as {
        checked: number;
        conditions: readonly { readonly id: string; readonly text: string }[];
      };
    expect((await ask()).checked).toBeGreaterThan(20);
    for (let n = 0; n < 10; n++) {
      await admin(server, 'GET', '/apps', {
        anonymous: true,
        // Counted apart from the password of this test.
        headers: { authorization: 'Bearer wrong', via: '1.1 proxy' },
      });
    }
    const { conditions } = await eventually(ask, (one) =>
      one.conditions.some(({ id }) => id === 'wrong-passwords'),
    );
    expect(conditions.find(({ id }) => id === 'wrong-passwords')).toMatchObject({
      level: 'warn',
      text: '10 wrong passwords of the admin API were tried in ten minutes.',
      advice: expect.any(String),
    });
  });
});
