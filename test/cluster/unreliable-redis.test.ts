import { expect, it } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { Random } from '../../testing/random.ts';
import type { TestApp } from '../../testing/servers/test-app.ts';
import { ROOM, startCluster, usersAt } from './cluster.ts';
import { View } from './view.ts';

const CHANNELS = [ROOM, 'private-orders', 'prices', 'cache-score'];
const SUBSCRIBERS = 8;

/** Triggers one event after the other until it is stopped. */
class Publisher {
  readonly accepted: string[] = [];
  readonly statuses = new Map<number, number>();
  private readonly app: TestApp;
  private readonly name: string;
  private isOver = false;
  private readonly ended: Promise<void>;

  constructor(app: TestApp, name: string) {
    this.app = app;
    this.name = name;
    this.ended = this.run();
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.ended;
  }

  private async run(): Promise<void> {
    for (let n = 0; !this.isOver; n++) {
      const name = `${this.name}-${n}`;
      const channel = CHANNELS[n % CHANNELS.length] ?? ROOM;
      const { status } = await this.app.post('/events', { name, channel, data: 'x' });
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (status === 200) this.accepted.push(`${channel} ${name}`);
    }
  }
}

/** Lets a user come and go until it is stopped. */
async function comeAndGo(app: TestApp, userId: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await using view = await View.open(app);
    await view.enters(ROOM, userId).catch(() => undefined);
  }
}

it('what was answered 200 is received by all, once and in one order, while one server loses Redis again and again', async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using cluster = await startCluster(2, {
    threads: 2,
    // Otherwise several changes of one user are sent as the last one.
    app: { limits: { memberChangesPerSecond: 0 } },
  });
  const [one, two] = cluster.apps as [TestApp, TestApp];
  const proxy = cluster.proxies[1];
  if (proxy === undefined) throw new Error('There is no second server');
  await using views = new AsyncDisposableStack();
  const subscribers: View[] = [];
  for (let n = 0; n < SUBSCRIBERS; n++) {
    const view = views.use(await View.open(n % 2 === 0 ? one : two));
    for (const channel of CHANNELS) {
      await view.enters(channel, channel === ROOM ? `user-${n}` : undefined);
    }
    subscribers.push(view);
  }
  let isOver = false;
  const churn = [one, two, one, two].map((app, n) =>
    comeAndGo(app, `guest-${n % 3}`, () => isOver),
  );
  const publishers = [one, two, one, two].map((app, n) => new Publisher(app, `p${n}`));

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
  await Promise.all([...churn, ...publishers.map((publisher) => publisher.stop())]);
  for (const app of [one, two]) {
    for (const channel of CHANNELS) {
      await eventually(
        async () => (await app.post('/events', { name: 'end', channel, data: 'x' })).status,
        (status) => status === 200,
      );
    }
  }
  for (const view of subscribers) {
    for (const channel of CHANNELS) {
      await eventually(
        () => view.eventsOf(channel).filter((name) => name === 'end').length,
        (ends) => ends >= 2,
      );
    }
  }

  const hint = `TEST_SEED=${seed}`;
  const received = CHANNELS.flatMap((channel) => {
    const names = subscribers[0]?.eventsOf(channel).filter((name) => name !== 'end') ?? [];
    return names.map((name) => `${channel} ${name}`);
  });
  const known = new Set(received);
  expect(known.size, `${hint}: an event came twice`).toBe(received.length);
  for (const { accepted } of publishers) {
    expect(accepted.length, hint).toBeGreaterThan(10);
    expect(
      accepted.filter((event) => !known.has(event)),
      hint,
    ).toEqual([]);
  }
  for (const view of subscribers) {
    for (const channel of CHANNELS) {
      expect(view.eventsOf(channel), hint).toEqual(subscribers[0]?.eventsOf(channel) ?? []);
    }
    expect(view.problems, hint).toEqual([]);
  }
  const users = subscribers.map((_, n) => `user-${n}`);
  for (const app of [one, two]) {
    await eventually(
      async () => (await usersAt(app)).toSorted(),
      (found) => JSON.stringify(found) === JSON.stringify(users),
    );
  }
  for (const view of subscribers) {
    await eventually(
      () => view.membersOf(ROOM),
      (found) => JSON.stringify(found) === JSON.stringify(users),
    );
  }
}, 300_000);
