import { describe, expect, it } from 'bun:test';
import type { PausedRoute } from '../push/delivering/ports.ts';
import type { GatewaysOfServer } from './facts/gateways.ts';
import { bySeries, type KeptFigures } from './facts/servers.ts';
import type { EndpointOfServer } from './facts/tenants.ts';
import {
  addFigures,
  mergeConditions,
  mergeEndpoints,
  mergeFigures,
  mergeGateways,
  mergeLines,
  mergeProblems,
} from './merge.ts';

const figures = (fromMs: number, values: readonly (number | null)[]): KeptFigures => ({
  nowMs: 40_000,
  stepMs: 10_000,
  fromMs,
  series: bySeries(() => values),
});

const mergeAll = (
  own: KeptFigures,
  others: readonly KeptFigures[],
  { sharesStore = false, sinceMs = 0 },
) =>
  mergeFigures(
    [{ node: 'a', answer: own }, ...others.map((answer, n) => ({ node: `b${n}`, answer }))],
    { sharesStore, query: { sinceMs } },
  );

describe('figures of servers', () => {
  it('are added up step by step, and gaps of one are filled by the other', () => {
    const own = figures(20_000, [1, null, 3]);
    const other = figures(10_000, [10, 20, 30, null, 50]);
    const merged = mergeAll(own, [other], {});
    expect(merged).toMatchObject({ fromMs: 10_000, nowMs: 40_000 });
    expect(merged.series.connections).toEqual([10, 21, 30, 3]);
    expect(merged.series.webhooksWaiting).toEqual([10, 21, 30, 3]);
  });

  it('begin at the requested time, also if another server returns more', () => {
    const all = figures(0, [1, 2, 3, 4, 5]);
    const merged = mergeAll(figures(30_000, [4, 5]), [all], { sinceMs: 25_000 });
    expect(merged).toMatchObject({ fromMs: 30_000, series: { connections: [8, 10] } });
  });

  it('are the highest for what is no sum, and for what waits in a store that all share', () => {
    const merged = mergeAll(figures(0, [5]), [figures(0, [4]), figures(0, [9])], {
      sharesStore: true,
    });
    expect(merged.series.connections).toEqual([18]);
    expect(merged.series.loopLateMs).toEqual([9]);
    expect(merged.series.webhooksWaiting).toEqual([9]);
    expect(merged.series.pushWaiting).toEqual([9]);
  });
});

it('what several servers find is one condition, since the first has found it', () => {
  const found = { id: 'store-away', level: 'bad', text: 'x', advice: 'y' } as const;
  const warning = { ...found, level: 'warn', sinceMs: 1 } as const;
  const checked = { checkedAtMs: 8, checked: 3 };
  const merged = mergeConditions(
    [
      { node: 'a', answer: { ...checked, conditions: [warning, { ...found, sinceMs: 7 }] } },
      { node: 'b', answer: { ...checked, conditions: [{ ...found, sinceMs: 5 }] } },
    ],
    {
      nowMs: 9,
      others: [
        { name: 'b', heardAtMs: 8, silentSinceMs: undefined },
        { name: 'c', heardAtMs: 2, silentSinceMs: 6 },
      ],
      away: ['c'],
    },
  );
  expect(merged).toMatchObject({ checkedAtMs: 8, checked: 4 });
  expect(merged.conditions).toMatchObject([
    { ...found, sinceMs: 5, servers: ['a', 'b'] },
    { id: 'server-away', text: 'The server c does not answer.', sinceMs: 6, servers: ['a'] },
    { ...warning, servers: ['a'] },
  ]);
});

it('problems of servers are added up, with the example of the last one and its server', () => {
  const group = { source: 'client', kind: 'k', text: 't', advice: '' } as const;
  const of = (count: number, firstAtMs: number, lastAtMs: number) => ({
    ...group,
    count,
    firstAtMs,
    lastAtMs,
    example: { text: `at ${lastAtMs}` },
  });
  expect(
    mergeProblems([
      { node: 'a', answer: [of(2, 5, 9), { ...of(1, 1, 1), kind: 'other' }] },
      { node: 'b', answer: [of(3, 6, 12)] },
    ]),
  ).toEqual([
    { ...of(5, 5, 12), server: 'b' },
    { ...of(1, 1, 1), kind: 'other', server: 'a' },
  ]);
});

describe('an endpoint that several servers have tried', () => {
  const endpoint: EndpointOfServer = {
    kind: 'channels',
    ownerId: 'app',
    url: 'https://x.test/',
    endpoint: 'e',
    delivered: 1,
    failed: 2,
    lastAtMs: 10,
    lastOutcome: 'delivered',
    lastStatus: 200,
    lastDeliveredAtMs: 10,
    failingSinceMs: undefined,
    durations: [1, 2],
    waiting: 3,
    oldestWaitingAtMs: undefined,
  };
  const failing = {
    ...endpoint,
    lastAtMs: 20,
    lastOutcome: 'timeout',
    lastDeliveredAtMs: undefined,
    failingSinceMs: 5,
    waiting: 4,
    oldestWaitingAtMs: 8,
  } as const;
  const of = (sharesStore: boolean, ...all: readonly EndpointOfServer[]) =>
    mergeEndpoints(
      all.map((one, n) => ({ node: `n${n}`, answer: [one] })),
      { sharesStore },
    );

  it('is shown once, with the sums and the last attempt', () => {
    expect(of(false, endpoint, failing)).toEqual([
      {
        ...failing,
        delivered: 2,
        failed: 4,
        lastDeliveredAtMs: 10,
        // It worked in between for the other server.
        failingSinceMs: 10,
        durations: [2, 4],
        waiting: 7,
        servers: ['n0', 'n1'],
      },
    ]);
  });

  it('works if the last attempt of any server did', () => {
    expect(of(false, failing, { ...endpoint, lastAtMs: 30 })).toMatchObject([
      { lastOutcome: 'delivered', failingSinceMs: undefined },
    ]);
  });

  it('counts what waits in a shared store once', () => {
    expect(of(true, endpoint, failing)).toMatchObject([{ waiting: 4, oldestWaitingAtMs: 8 }]);
  });
});

describe('gateways of an instance', () => {
  const pause = (more: Partial<PausedRoute> = {}): PausedRoute => {
    const why = { why: 'gateway', reason: 'http-503', words: 'busy' } as const;
    return { platform: 'fcm', origin: undefined, ...why, sinceMs: 5, ...more };
  };
  const known = (more: Partial<GatewaysOfServer> = {}): GatewaysOfServer => {
    const silent = { acceptedAtMs: undefined, refusal: undefined };
    const said = { apns: silent, fcm: silent, web: silent };
    return { pauses: [], morePauses: { apns: 0, fcm: 0, web: 0 }, said, ...more };
  };

  it('are paused by several servers once, since the first of them', () => {
    const other = pause({ origin: 'https://push.example', platform: 'web', sinceMs: 9 });
    const merged = mergeGateways([
      { node: 'a', answer: known({ pauses: [pause({ sinceMs: 8 }), other] }) },
      { node: 'b', answer: known({ pauses: [pause({ sinceMs: 3 })] }) },
      { node: 'c', answer: known({ pauses: [pause({ reason: 'timeout', sinceMs: 4 })] }) },
    ]);
    expect(merged.pauses).toEqual([
      { ...pause({ sinceMs: 3 }), servers: ['a', 'b'] },
      { ...pause({ reason: 'timeout', sinceMs: 4 }), servers: ['c'] },
      { ...other, servers: ['a'] },
    ]);
  });

  it('show the last answers that any server got', () => {
    const said = (acceptedAtMs: number | undefined, atMs: number) => ({
      ...known().said,
      fcm: { acceptedAtMs, refusal: { atMs, reason: `at-${atMs}`, words: '' } },
    });
    const merged = mergeGateways([
      { node: 'a', answer: known({ said: said(7, 4), morePauses: { apns: 0, fcm: 0, web: 3 } }) },
      { node: 'b', answer: known({ said: said(undefined, 6) }) },
    ]);
    expect(merged.said.fcm).toEqual({
      acceptedAtMs: 7,
      refusal: { atMs: 6, reason: 'at-6', words: '' },
    });
    expect(merged.morePauses.web).toBe(3);
  });
});

describe('lines of logs', () => {
  const page = (times: readonly number[], more = false) => ({
    lines: times.map((atMs, n) => {
      return { n, atMs, level: 'info', message: `${atMs}`, fields: {} } as const;
    }),
    more,
  });
  const merged = (a: ReturnType<typeof page>, b: ReturnType<typeof page>, limit: number) => {
    const all = [
      { node: 'a', answer: a },
      { node: 'b', answer: b },
    ];
    const { lines, more } = mergeLines(all, { query: { limit } });
    return [lines.map(({ server, message }) => `${server} ${message}`), more];
  };

  it('are in the order of their times, and a page begins with a whole millisecond', () => {
    const [a, b] = [page([1, 3, 3, 5]), page([2, 3, 4])];
    expect(merged(a, b, 100)).toEqual([['a 1', 'b 2', 'a 3', 'a 3', 'b 3', 'b 4', 'a 5'], false]);
    expect(merged(a, b, 3)).toEqual([['a 3', 'a 3', 'b 3', 'b 4', 'a 5'], true]);
  });

  it('are left out where another log has lines that were left out', () => {
    expect(merged(page([5, 6], true), page([1, 2, 7]), 100)).toEqual([['a 5', 'a 6', 'b 7'], true]);
  });
});

it('adds up the figures of all loops, app by app and server by server', () => {
  const activity = { appId: 'a', connections: 2, channels: 1, messages: 10, clientMessages: 3 };
  const other = { ...activity, appId: 'b' };
  const serverOf = (appId: string, connections: number) => ({
    name: 'one:6001',
    apps: [{ appId, connections }],
  });
  expect(
    addFigures([
      { apps: [activity, other], servers: [serverOf('a', 2)] },
      { apps: [{ ...activity, messages: 12 }], servers: [serverOf('a', 3)] },
      { apps: [], servers: [serverOf('b', 1), { name: 'two:6001', apps: [] }] },
    ]),
  ).toEqual({
    apps: [{ appId: 'a', connections: 4, channels: 2, messages: 22, clientMessages: 6 }, other],
    servers: [
      {
        name: 'one:6001',
        apps: [
          { appId: 'a', connections: 5 },
          { appId: 'b', connections: 1 },
        ],
      },
      { name: 'two:6001', apps: [] },
    ],
  });
});
