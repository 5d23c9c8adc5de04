import { expect, it } from 'bun:test';
import { newStorePostgres } from '../../testing/databases/postgres.ts';
import { testSeed } from '../../testing/long-run.ts';
import { Random } from '../../testing/random.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { LiveCrowd } from '../failure/push/live-crowd.ts';

const PUBLISHES = 10;

/** This many things happen to each publish before its answers are in: some users never answer. */
const HAPPENS_BEFORE = 8;

interface Scene {
  readonly crowd: LiveCrowd;
  /** Takes the publishes and asks the users. */
  readonly one: Fanfare;
  /** Has half of the users. */
  readonly two: Fanfare;
  readonly redis: OwnRedis;
}

async function killed(server: Fanfare, crowd: LiveCrowd): Promise<void> {
  crowd.breaks('kill');
  await server.stop('SIGKILL');
}

/** What breaks, and which server is there after it. */
const breaks: readonly (readonly [
  what: string,
  act: (scene: Scene) => Promise<unknown>,
  left: 'one' | 'two',
])[] = [
  ['the server that asks is killed', ({ one, crowd }) => killed(one, crowd), 'two'],
  ['the server with half of the users is killed', ({ two, crowd }) => killed(two, crowd), 'one'],
  [
    'Redis hangs, and comes back',
    async ({ redis, crowd }) => {
      crowd.breaks('redis-away');
      redis.signal('SIGSTOP');
      await crowd.site.apns.arrivals.reaches(1);
      redis.signal('SIGCONT');
    },
    'one',
  ],
];

it.each(breaks)(
  'every user gets a publish in the app, by push or both, when %s',
  async (_, act, left) => {
    const random = new Random(testSeed());
    await using store = await newStorePostgres();
    await using redis = await startRedis();
    await using crowd = await LiveCrowd.start({
      storeUrl: store.url,
      config: { engine: { type: 'redis', url: redis.url } },
    });
    const one = crowd.site.server;
    const two = await crowd.site.another();
    await crowd.connect([one, two]);
    const scene = { crowd, one, two, redis };
    let happens = Math.ceil(random.next() * PUBLISHES * HAPPENS_BEFORE);
    const { promise: broken, resolve, reject } = Promise.withResolvers<void>();
    crowd.happened = () => {
      if (--happens === 0) act(scene).then(() => resolve(), reject);
    };
    await crowd.publish(PUBLISHES, one);
    await broken;
    expect(crowd.accepted.size).toBeGreaterThan(0);
    expect(await crowd.problems(scene[left])).toEqual([]);
  },
  90_000,
);
