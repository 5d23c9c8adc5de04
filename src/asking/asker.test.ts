import { describe, expect, it } from 'bun:test';
import { ClusterAsker } from './asker.ts';
import { bySeries } from './facts/servers.ts';
import type { AnswersOfOthers } from './other-servers.ts';
import { type AskLoops, OwnAnswers } from './own-answers.ts';
import type { ServerAnswers } from './questions.ts';

const NOW_MS = Date.UTC(2026, 10, 24, 12, 30);
const HOUR_MS = 3_600_000;

const group = { source: 'client', kind: 'k', text: 't', advice: '' } as const;
const problem = (count: number) => ({
  ...group,
  count,
  firstAtMs: count,
  lastAtMs: count,
  example: { text: 'x' },
});

/**
 * The server `a`, its loops and the servers `b` and `c`. A question is answered by what `loops`, `answers` and `others` have
 * under its name.
 */
function stage({
  loops = {},
  answers = {},
  others = {},
}: {
  readonly loops?: Readonly<Record<string, readonly unknown[]>>;
  readonly answers?: Partial<ServerAnswers>;
  readonly others?: Readonly<Record<string, AnswersOfOthers<unknown>>>;
}) {
  const clock = { ms: NOW_MS, now: () => clock.ms };
  const asked: [string, object][] = [];
  const ofLoops: AskLoops = {
    count: 2,
    ask: async (what) => loops[what]?.[0] as never,
    askAll: async (what) => loops[what] as never,
  };
  const own = new OwnAnswers(ofLoops, answers as ServerAnswers);
  const listed = { heardAtMs: 0, silentSinceMs: undefined };
  const asker = new ClusterAsker({
    node: 'a',
    loops: ofLoops,
    own,
    others: {
      async ask(what, query) {
        asked.push([what, query]);
        return (others[what] ?? { answers: [], away: ['b', 'c'] }) as never;
      },
      askOne: async (name, what) =>
        others[what]?.answers.find(({ node }) => node === name)?.answer as never,
      list: () => ['b', 'c'].map((name) => ({ ...listed, name })),
    },
    sharesStore: false,
    clock,
  });
  return { asker, own, asked, clock };
}

const servers = (...away: readonly string[]) =>
  ['a', 'b', 'c'].map((name) => ({ name, away: away.includes(name) }));

describe('a question to all servers', () => {
  it('is answered by all loops of each, and names the servers that are away', async () => {
    const { asker } = stage({
      loops: { problems: [[problem(1)], [problem(2)]] },
      others: { problems: { answers: [{ node: 'b', answer: [problem(4)] }], away: ['c'] } },
    });
    expect(await asker.everywhere('problems', { appId: 'x' })).toEqual({
      servers: servers('c'),
      answer: [{ ...problem(4), count: 7, firstAtMs: 1, server: 'b' }],
    });
  });

  it('has no answer of an older server, which does not know the question', async () => {
    const own = { sinceMs: 5, keys: [{ key: 'k', lastAtMs: { request: 7 }, connections: 0 }] };
    const newer = { sinceMs: 6, keys: [{ key: 'k', lastAtMs: { request: 9 }, connections: 2 }] };
    const { asker } = stage({
      answers: { 'key-uses': () => own },
      others: { 'key-uses': { answers: [{ node: 'b', answer: newer }], away: ['c'] } },
    });
    const tenant = { kind: 'app', id: '1' } as const;
    expect(await asker.everywhere('key-uses', { tenant })).toEqual({
      servers: servers('c'),
      answer: newer,
    });
  });

  it('is not asked of the others if the answer of this one is enough', async () => {
    const { asker, asked } = stage({ loops: { end: [false, true] } });
    const { answer } = await asker.everywhere('end', { appId: 'x', socketId: '1.2' });
    expect([answer, asked]).toEqual([true, []]);
  });

  it('of which half an answer is none is not answered while a server is away, unless one has enough', async () => {
    const query = { appId: 'x', socketId: '1.2' };
    const found = { socketId: '1.2' };
    const answerOf = async (ofB: unknown, away: readonly string[]) => {
      const answers = [{ node: 'b', answer: ofB }];
      const loops = { connection: ['none', 'none'], end: [false, false] };
      const others = { connection: { answers, away }, end: { answers, away } };
      const { asker } = stage({ loops, others });
      return [
        (await asker.everywhere('connection', query)).answer,
        await asker.everywhere('end', query),
      ];
    };
    expect((await answerOf(found, ['c']))[0]).toEqual({ ...found, server: 'b' } as never);
    expect((await answerOf(false, ['c']))[1]).toEqual({ servers: servers('c'), answer: undefined });
    expect((await answerOf(false, []))[1]).toEqual({ servers: servers(), answer: false });
    expect((await answerOf(true, ['c']))[1]).toEqual({ servers: servers('c'), answer: true });
    expect((await answerOf('none', []))[0]).toBeUndefined();
  });

  it('fails if a loop of this server does not answer', async () => {
    const { asker } = stage({ answers: { log: () => Promise.reject(new Error('late')) } });
    const query = { level: 'info', showsAddresses: true, limit: 1 } as const;
    await expect(asker.everywhere('log', query)).rejects.toThrow('late');
  });

  it('for a day of figures is asked of others at most 25 times in a second, for all callers together', async () => {
    const figures = {
      nowMs: NOW_MS,
      stepMs: 10_000,
      fromMs: NOW_MS,
      series: bySeries(() => [1]),
    };
    const { asker, asked, clock } = stage({
      answers: { figures: () => figures },
      others: { figures: { answers: [{ node: 'b', answer: figures }], away: [] } },
    });
    for (let n = 0; n < 1_000; n++) {
      const { answer } = await asker.everywhere('figures', { sinceMs: NOW_MS - n * 100_000 });
      expect(answer.series.connections).toEqual([2]);
    }
    const times = () => asked.map(([, query]) => Object(query).sinceMs);
    expect(times()).toHaveLength(25);
    expect(times().every((sinceMs) => sinceMs % HOUR_MS === 0)).toBe(true);
    clock.ms += 1_000;
    await asker.everywhere('figures', { sinceMs: NOW_MS - HOUR_MS });
    expect(times()).toHaveLength(26);
    expect(times().at(-1)).toBe(NOW_MS - 1.5 * HOUR_MS);
  });
});

describe('another server', () => {
  it('may ask only what servers ask each other, whatever its question is called', async () => {
    const { own } = stage({ loops: { metrics: ['m'], send: ['s'], problems: [[], []] } });
    for (const what of ['metrics', 'send', 'notify-servers', 'next', '__proto__', 'toString']) {
      expect(await own.toServer({ what }, 'b')).toBeUndefined();
    }
    expect(await own.toServer({ what: 'problems' }, 'b')).toEqual([]);
  });

  it('is named to what answers it', async () => {
    const { own } = stage({
      answers: { here: (_, from) => ({ installation: { database: from ?? '' } }) },
    });
    expect(await own.toServer({ what: 'here' }, 'b')).toEqual({ installation: { database: 'b' } });
    expect(await own.of('here', {})).toEqual({ installation: { database: '' } });
  });
});
