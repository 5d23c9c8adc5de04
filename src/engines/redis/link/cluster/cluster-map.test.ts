import { describe, expect, it } from 'bun:test';
import { FakeClock } from '../../../../channels/hub.fixture.ts';
import type { Log } from '../../../../runtime/ports.ts';
import { RedisAway, RedisRefused, RedisUnsuitable, type Reply } from '../reply.ts';
import { ClusterMap } from './cluster-map.ts';

/** What each server answers, by its host; `undefined`: nothing. */
type Answers = Record<string, Reply | Error | undefined>;

const mapOf = (master: string, ...replicas: readonly string[]): Reply => [
  [0, 16_383, ...[master, ...replicas].map((host) => [host, 6379, `id of ${host}`])],
];

function open(answers: Answers, hosts: readonly string[] = ['a', 'b']) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const lines: string[] = [];
  const note = (text: string, fields?: object) =>
    void lines.push(`${text} ${JSON.stringify(fields)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const map = new ClusterMap({
    endpoints: hosts.map((host) => ({ host, port: 6379 })),
    timers: clock,
    log,
    ask: ({ host }) => {
      asked.push(host);
      const answer = answers[host];
      if (answer instanceof Error) return Promise.reject(answer);
      return answer === undefined ? new Promise(() => undefined) : Promise.resolve(answer);
    },
  });
  return { map, clock, asked, lines };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the map of a cluster', () => {
  it('comes from any server that answers', async () => {
    const { map } = open({ a: new RedisAway('closed', false), b: mapOf('m') });
    expect(await map.masterOf(511)).toMatchObject({ host: 'm' });
  });

  it('comes from the next server if one is silent for 250 ms', async () => {
    const { map, clock, asked } = open({ a: undefined, b: undefined, c: mapOf('m') }, [
      'a',
      'b',
      'c',
    ]);
    const found = map.masterOf(511);
    for (let n = 0; n < 2; n++) {
      await turn();
      clock.advance(250);
    }
    await turn();
    expect(asked.length).toBeLessThanOrEqual(3);
    expect(await found).toMatchObject({ host: 'm' });
  });

  it('is shared by all who ask at once, and for as long as they allow', async () => {
    const { map, clock, asked } = open({ a: mapOf('a') }, ['a']);
    await Promise.all([map.masterOf(1), map.masterOf(2)]);
    await map.masterOf(3, 100);
    expect(asked).toEqual(['a']);
    clock.advance(100);
    await map.masterOf(3, 100);
    expect(asked).toEqual(['a', 'a']);
  });

  it('is asked of the server that a refusal names, first', async () => {
    const answers: Answers = { a: mapOf('a'), n: mapOf('n', 'a') };
    const { map, asked, lines } = open(answers, ['a']);
    await map.masterOf(511);
    map.sentTo({ host: 'n', port: 6379 });
    expect(await map.masterOf(511, 10_000)).toMatchObject({ host: 'n' });
    expect(asked).toEqual(['a', 'n']);
    expect(lines).toEqual([
      expect.stringMatching(/^Redis Cluster has changed .*"to":"n:6379","why":"moved"/),
    ]);
  });

  it('is logged when a replica was promoted', async () => {
    const answers: Answers = { a: mapOf('a', 'b') };
    const { map, lines } = open(answers, ['a']);
    await map.newest();
    answers['a'] = mapOf('b', 'a');
    answers['b'] = mapOf('b', 'a');
    await map.newest();
    expect(lines).toEqual([
      expect.stringContaining('"from":"a:6379","to":"b:6379","why":"failover"'),
    ]);
    expect(lines[0]).toContain('"slots":"511, 1518, ');
  });

  it('that makes no sense is refused with one warning, and the former one stays', async () => {
    const answers: Answers = { a: mapOf('a') };
    const { map, lines } = open(answers, ['a']);
    await map.newest();
    answers['a'] = [[0, 99_999, ['a', 6379, 'id']]];
    for (let n = 0; n < 2; n++) {
      expect(await map.newest().catch((error) => error)).toBeInstanceOf(RedisAway);
    }
    expect(lines).toEqual([expect.stringContaining('a map was refused')]);
    expect(await map.masterOf(511, 10_000)).toMatchObject({ host: 'a' });
  });

  it('knows which masters were sent the scripts', () => {
    const { map } = open({});
    expect(['a', 'a', 'b', 'a'].map((master) => map.mustLoad(master))).toEqual([
      ...[true, false, true, false],
    ]);
  });

  it('has no master for a slot that nobody has', async () => {
    const { map } = open({ a: [[0, 99, ['a', 6379, 'id']]] }, ['a']);
    expect(await map.masterOf(511).catch((error) => error)).toMatchObject({
      message: 'slot 511 has no master',
    });
  });

  it.each([
    ['all refuse', new RedisRefused('no right'), RedisRefused],
    ['none answers', new RedisAway('closed', false), RedisAway],
    ['they are no cluster', new RedisUnsuitable('not a cluster'), RedisUnsuitable],
  ])('cannot be had if %s', async (_, failure, kind) => {
    const { map } = open({ a: failure, b: failure });
    expect(await map.newest().catch((error) => error)).toBeInstanceOf(kind);
  });
});
