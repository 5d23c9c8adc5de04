import { describe, expect, it } from 'bun:test';
import type { ConnectionFilter } from './facts/connections.ts';
import { type ConnectionList, FIRST, listConnections } from './paging.ts';

/** Servers with this many connections each; a walk returns two at a time. */
function stage(sizes: Readonly<Record<string, number>>, away: readonly string[] = []) {
  const seen = { nowMs: 0, dead: new Set<string>() };
  const page = async (query: Pick<ConnectionFilter, 'after' | 'limit'>) =>
    (await listConnections(
      {
        servers: Object.keys(sizes),
        away,
        now: () => seen.nowMs,
        async ask(server, { after = FIRST, limit }) {
          if (seen.dead.has(server)) return undefined;
          const from = Number(after.split('.')[1]);
          const end = Math.min(from + 2, from + limit, sizes[server] ?? 0);
          const connections = Array.from(
            { length: end - from },
            (_, n) => ({ socketId: `${server}${from + n}` }) as never,
          );
          return { connections, next: end === sizes[server] ? undefined : `0.${end}` };
        },
      },
      { appId: 'app', ...query },
    )) as ConnectionList;
  const ids = ({ connections }: Awaited<ReturnType<typeof page>>) =>
    connections.map(({ socketId, server }) => `${server} ${socketId}`);
  return { seen, page, ids };
}

describe('a list of connections of several servers', () => {
  it('continues where it was, with each connection once', async () => {
    const { page, ids } = stage({ b: 5, a: 3, c: 0, d: 1 });
    const found: string[] = [];
    for (let next: string | undefined; ; ) {
      const one = await page({ limit: 2, after: next });
      expect(one.connections.length).toBeLessThanOrEqual(2);
      found.push(...ids(one));
      next = one.next;
      if (next === undefined) break;
    }
    const expected = ['a 0', 'a 1', 'a 2', 'b 0', 'b 1', 'b 2', 'b 3', 'b 4', 'd 0'];
    expect(found).toEqual(expected.map((one) => one.replace(/(.) (.)/, '$1 $1$2')));
    expect(ids(await page({ limit: 100, after: undefined }))).toHaveLength(9);
  });

  it('leaves out servers that do not answer, and names them', async () => {
    const { page, ids, seen } = stage({ a: 1, b: 1 }, ['z']);
    seen.dead.add('a');
    const one = await page({ limit: 10, after: undefined });
    expect(ids(one)).toEqual(['b b0']);
    expect(one.servers).toEqual([
      { name: 'a', away: true },
      { name: 'b', away: false },
      { name: 'z', away: true },
    ]);
  });

  it('continues with the next server if the one of its place has gone', async () => {
    const { page, ids } = stage({ a: 1, c: 1 });
    expect(ids(await page({ limit: 10, after: 'b~0.4' }))).toEqual(['c c0']);
  });

  it('takes any text for a place, however long', async () => {
    const { page, ids } = stage({ a: 1 });
    const after = `${'~'.repeat(60_000)}\n`;
    expect(ids(await page({ limit: 10, after }))).toEqual([]);
    // A pattern that takes quadratic time needs several seconds.
  }, 2_000);

  it('ends a page after four seconds with what was found, and where to continue', async () => {
    const { page, seen } = stage({ a: 1 });
    const slow = page({ limit: 10, after: undefined });
    seen.nowMs = 5_000;
    expect((await slow).connections).toHaveLength(1);
    seen.nowMs = 0;
    const late = listConnections(
      {
        servers: ['a', 'b'],
        away: [],
        now: () => seen.nowMs,
        async ask() {
          seen.nowMs += 5_000;
          return { connections: [] };
        },
      },
      { appId: 'app', limit: 10 },
    );
    expect(await late).toMatchObject({ connections: [], next: 'b~0.0' });
  });
});
