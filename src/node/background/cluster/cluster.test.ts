import { expect, it } from 'bun:test';
import { bySeries } from '../../../admin/monitoring/monitoring.ts';
import { answerFor, Cluster, type LocalServer } from './cluster.ts';

const NOW_MS = Date.UTC(2026, 10, 24, 12, 30);
const HOUR_MS = 3_600_000;

it('asks others for a day of figures at most 25 times in a second, for all callers together', async () => {
  const asked: number[] = [];
  const clock = { ms: NOW_MS, now: () => clock.ms };
  const figures = {
    nowMs: NOW_MS,
    stepMs: 10_000,
    fromMs: NOW_MS,
    series: bySeries(() => [1]),
  };
  const cluster = new Cluster({
    node: 'a',
    local: { figures: async () => figures } as Partial<LocalServer> as LocalServer,
    others: {
      ask: async (question) => {
        asked.push(Object(question).sinceMs);
        return { answers: [{ node: 'b', answer: figures }], away: [] } as never;
      },
      askOne: async () => undefined,
      list: () => [],
    },
    sharesStore: false,
    clock,
  });
  for (let n = 0; n < 1_000; n++) {
    const { series } = await cluster.figures(NOW_MS - n * 100_000);
    expect(series.connections).toEqual([2]);
  }
  expect(asked).toHaveLength(25);
  expect(asked.every((sinceMs) => sinceMs % HOUR_MS === 0)).toBe(true);
  clock.ms += 1_000;
  await cluster.figures(NOW_MS - HOUR_MS);
  expect(asked).toHaveLength(26);
  expect(asked.at(-1)).toBe(NOW_MS - 1.5 * HOUR_MS);
});

it('says of an older server, which does not know of the uses of keys, that its part is missing', async () => {
  const own = { sinceMs: 5, keys: [{ key: 'k', lastAtMs: { request: 7 }, connections: 0 }] };
  const newer = { sinceMs: 6, keys: [{ key: 'k', lastAtMs: { request: 9 }, connections: 2 }] };
  const local = { keyUses: async () => own } as Partial<LocalServer> as LocalServer;
  const tenant = { kind: 'app', id: '1' } as const;
  const listed = { heardAtMs: 0, silentSinceMs: undefined };
  const cluster = new Cluster({
    node: 'a',
    local,
    others: {
      ask: async () => ({ answers: [{ node: 'b', answer: newer }], away: ['c'] }) as never,
      askOne: async () => undefined,
      list: () => ['b', 'c'].map((name) => ({ ...listed, name })),
    },
    sharesStore: false,
    clock: { now: () => NOW_MS },
  });
  expect(await cluster.keyUses(tenant)).toEqual({
    servers: [
      { name: 'a', away: false },
      { name: 'b', away: false },
      { name: 'c', away: true },
    ],
    sinceMs: 6,
    keys: [{ key: 'k', lastAtMs: { request: 9 }, connections: 2 }],
  });
  expect(await answerFor(local, { what: 'key-uses', tenant }, 'b')).toEqual(own);
});
