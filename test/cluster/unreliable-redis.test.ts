import { expect, it } from 'bun:test';
import { ruleNames } from '../../src/verify/check/verdict.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { Random } from '../../testing/random.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';
import { ROOM, startCluster } from './cluster.ts';

const CHANNELS = [ROOM, 'private-orders', 'prices', 'cache-score'];
const SUBSCRIBERS = 8;
const GUESTS = 4;

/** The users of the guests: two have the same. */
const GUEST_USERS = 3;

/** No client resumes here, and nobody listens for webhooks. */
const TRIED = ruleNames.filter((name) => !['resumes', 'webhooks', 'pushes', 'live'].includes(name));

/** More than this many triggers of each backend must be answered with 200. */
const ACCEPTED_MIN = 10;

it('what was answered 200 is received by all, once and in one order, while one server loses Redis again and again', async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using cluster = await startCluster(2, {
    threads: 2,
    app: { subscriptionCounts: true },
  });
  const ports = cluster.servers.map(({ port }) => port);
  const portOf = (n: number) => ports[n % ports.length] ?? 0;
  const [, proxy] = cluster.proxies;
  if (proxy === undefined) throw new Error('There is no second server');
  using history = new TestHistory();
  for (let n = 0; n < SUBSCRIBERS; n++) history.connect(portOf(n), { channels: CHANNELS });
  const guests = Array.from({ length: GUESTS }, (_, n) =>
    history.connect(portOf(n), { channels: [ROOM], user: `guest-${n % GUEST_USERS}` }),
  );
  await history.allAreThere();

  let isOver = false;
  const visiting = guests.map(async (guest) => {
    while (!isOver) {
      await history.until(() => guest.isReady, 'a guest');
      guest.cut(random.chance(0.5));
    }
  });
  const triggering = [0, 1, 2, 3].map(async (n) => {
    const backend = history.backend(portOf(n));
    for (let number = 0; !isOver; number++) {
      const channel = CHANNELS[number % CHANNELS.length] ?? ROOM;
      await backend.trigger({ e: `${n}-${number}`, channels: [channel] });
    }
  });
  const mend = () => {
    proxy.doesSwallowReplies = false;
    proxy.resume();
  };
  const faults: readonly (() => void)[] = [
    () => {
      proxy.doesSwallowReplies = true;
    },
    () => proxy.cut(),
    () => proxy.stallThoseThatSent('SUBSCRIBE'),
    () => proxy.stall(),
  ];
  for (let n = 0; n < runs(faults.length, 60); n++) {
    (n < faults.length ? faults[n] : random.pick(faults))?.();
    await Bun.sleep(random.between(100, runs(1000, 3000)));
    mend();
    await Bun.sleep(random.between(100, runs(500, 2000)));
  }
  isOver = true;
  await Promise.all([...visiting, ...triggering]);
  await history.settle(history.backend(...ports), ...CHANNELS);

  const hint = `TEST_SEED=${seed}`;
  expect(history.accepted, hint).toBeGreaterThan(4 * ACCEPTED_MIN);
  expect(history.problems(...TRIED), hint).toEqual([]);
}, 300_000);
