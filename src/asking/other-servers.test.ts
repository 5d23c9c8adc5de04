import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import { CLUSTER_FORMAT, stoppingNotice } from './cluster-format.ts';
import { OtherServers } from './other-servers.ts';
import type { SentQuestion } from './own-answers.ts';

/** Servers that reach each other. */
function stage() {
  const time = new FakeTime();
  const servers = new Map<string, OtherServers>();
  const seen = { asked: [] as string[], silent: new Set<string>(), isRedisAway: false };
  const log: unknown[] = [];
  const open = (node: string, answer?: (question: SentQuestion) => Promise<unknown>) => {
    const others = new OtherServers({
      node,
      timers: time,
      log: {
        info: (message, fields) => void log.push([message, fields]),
        warn: (message, fields) => void log.push([message, fields]),
      },
      async send(to, text) {
        if (seen.isRedisAway) return undefined;
        const receivers = [...servers].filter(([name]) =>
          to === undefined ? name !== node : `loop-${name}` === to,
        );
        for (const [name, other] of receivers) {
          if (!seen.silent.has(name)) other.receive(`loop-${node}`, text);
        }
        return receivers.length;
      },
      answer:
        answer ??
        (async ({ what }) => {
          seen.asked.push(`${node} ${what}`);
          return [node];
        }),
    });
    servers.set(node, others);
    return others;
  };
  return { time, servers, seen, open, log };
}

const problems = ['problems', { appId: 'x' }] as const;

/** Lets a question that nobody answers run out of time. */
async function patiently<Answer>(time: FakeTime, asked: Promise<Answer>): Promise<Answer> {
  await time.advance(1_000);
  return await asked;
}

describe('the other servers of a cluster', () => {
  it('answer as soon as they have received the question', async () => {
    const { open, time } = stage();
    const a = open('a');
    open('b');
    open('c');
    const { answers, away } = await a.ask(...problems);
    expect(answers.map(({ node }) => node)).toEqual(['b', 'c']);
    expect(away).toEqual([]);
    expect(a.list()).toEqual(
      ['b', 'c'].map((name) => ({ name, heardAtMs: time.now(), silentSinceMs: undefined })),
    );
    expect((await a.askOne('c', ...problems)) as unknown).toEqual(['c']);
    expect(await a.askOne('nobody', ...problems)).toBeUndefined();
  });

  it('are named when they do not answer within a second, and forgotten after ten minutes', async () => {
    const { open, time, seen } = stage();
    const a = open('a');
    open('b');
    open('c');
    await a.ask(...problems);
    seen.silent.add('c');
    const { answers, away } = await patiently(time, a.ask(...problems));
    expect([answers.map(({ node }) => node), away]).toEqual([['b'], ['c']]);
    const silentSinceMs = time.now();
    await time.advance(60_000);
    await patiently(time, a.ask(...problems));
    expect(a.list()[1]).toMatchObject({ name: 'c', silentSinceMs });
    seen.silent.clear();
    await a.ask(...problems);
    expect(a.list()[1]).toMatchObject({ name: 'c', silentSinceMs: undefined });
    seen.silent.add('c');
    await patiently(time, a.ask(...problems));
    await time.advance(600_000);
    expect(a.list().map(({ name }) => name)).toEqual(['b']);
  });

  it('are noticed when they fail, without a question, and logged once until they answer again', async () => {
    const { open, time, seen, log } = stage();
    using a = open('a');
    const b = open('b');
    await a.ask(...problems);
    for (const one of [a, b]) one.watch();
    await time.advance(60_000);
    seen.silent.add('b');
    b[Symbol.dispose]();
    const failedAtMs = time.now();
    const lastHeard = new Date(failedAtMs).toISOString();
    await time.advance(60_000);
    const [{ silentSinceMs = 0 } = {}] = a.list();
    expect(silentSinceMs - failedAtMs).toBeWithin(1, 11_001);
    expect(log).toEqual([['Another server does not answer', { server: 'b', lastHeard }]]);
    seen.silent.clear();
    await time.advance(20_000);
    expect(log.slice(1)).toEqual([['Another server answers again', { server: 'b' }]]);
    expect(a.list()).toMatchObject([{ name: 'b', silentSinceMs: undefined }]);
  });

  it('are not logged as silent while Redis is away', async () => {
    const { open, time, seen, log } = stage();
    using a = open('a');
    using b = open('b');
    await a.ask(...problems);
    for (const one of [a, b]) one.watch();
    await time.advance(20_000);
    seen.isRedisAway = true;
    await time.advance(60_000);
    seen.isRedisAway = false;
    await time.advance(20_000);
    expect(log).toEqual([]);
  });

  it('are not missed after they have stopped as they should', async () => {
    const { open, servers } = stage();
    const a = open('a');
    open('b');
    await a.ask(...problems);
    a.receive('loop-b', stoppingNotice('b'));
    // It still answers while its connections end.
    expect((await a.ask(...problems)).answers).toHaveLength(1);
    servers.delete('b');
    expect(await a.ask(...problems)).toEqual({ answers: [], away: [] });
    expect(a.list()).toEqual([]);
  });

  it('are away while Redis is, and nobody waits for them', async () => {
    const { open, seen } = stage();
    const a = open('a');
    open('b');
    await a.ask(...problems);
    seen.isRedisAway = true;
    expect(await a.ask(...problems)).toEqual({ answers: [], away: ['b'] });
  });

  it('have no answer if something fails there, and nobody waits for it', async () => {
    const { open } = stage();
    const a = open('a');
    open('b', () => Promise.reject(new Error('A realtime loop did not answer')));
    open('c', async () => 'x'.repeat(5_000_000));
    expect(await a.ask(...problems)).toEqual({ answers: [], away: ['b', 'c'] });
  });

  it('are asked once by all who ask the same at the same time, and refuse more than 32 questions', async () => {
    const { open, seen, time } = stage();
    const a = open('a');
    open('b');
    await Promise.all([a.ask(...problems), a.ask(...problems)]);
    expect(seen.asked).toEqual(['b problems']);
    seen.silent.add('b');
    const waiting = Array.from({ length: 32 }, (_, n) => a.ask('problems', { appId: String(n) }));
    await expect(a.ask(...problems)).rejects.toThrow('Too many questions');
    await time.advance(1_000);
    await Promise.all(waiting);
    seen.silent.clear();
    expect((await a.ask(...problems)).answers).toHaveLength(1);
  });

  it('answer at most 32 questions at the same time', async () => {
    const { open, time } = stage();
    const a = open('a');
    const asked: unknown[] = [];
    const b = open('b', (question) => new Promise(() => asked.push(question)));
    await b.ask('here', {});
    const askMany = (from: number) =>
      Promise.all(
        Array.from({ length: 32 }, (_, n) =>
          a.askOne('b', 'problems', { appId: String(from + n) }),
        ),
      );
    await patiently(time, askMany(0));
    await patiently(time, askMany(32));
    expect(asked).toHaveLength(32);
  });

  it('ignore what they do not understand', async () => {
    const { open, seen } = stage();
    const a = open('a');
    const question = { what: 'problems', appId: 'x' };
    const message = { type: 'ask', number: 1, question, node: 'b', form: CLUSTER_FORMAT };
    for (const text of [
      'x',
      'null',
      '[]',
      JSON.stringify({ ...message, form: CLUSTER_FORMAT + 1 }),
      JSON.stringify({ ...message, question: null }),
      JSON.stringify({ ...message, number: 'x' }),
      JSON.stringify({ ...message, node: 1 }),
      JSON.stringify({ ...message, type: 'watch' }),
    ]) {
      a.receive('loop-b', text);
    }
    a.receive('loop-b', JSON.stringify({ ...message, type: 'answer', answer: 1 }));
    expect(seen.asked).toEqual([]);
    a.receive('loop-b', JSON.stringify(message));
    expect(seen.asked).toEqual(['a problems']);
  });
});
