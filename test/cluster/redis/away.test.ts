import { expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { appWith, channelName, FakeClock, socketId } from '../../../src/channels/hub.fixture.ts';
import { partitionOf } from '../../../src/engines/partition.ts';
import { RedisEngine } from '../../../src/engines/redis/engine.ts';
import { RECENT_OF_APPS } from '../../../src/engines/redis/scripts/recent-events.ts';
import { TICK } from '../../../src/engines/redis/scripts/upkeep.ts';
import { FakeLink } from '../../contracts/fake-link.ts';
import { partsOfLoop, silent } from '../../contracts/loop-parts.ts';
import { counted } from './link.fixture.ts';

/** What the engine does while Redis is away. */

const app = appWith({ watchlists: true });

async function stage() {
  const clock = new FakeClock();
  const link = new FakeLink();
  const parts = partsOfLoop(clock, []);
  const engine = await RedisEngine.open({
    ...parts,
    apps: { byId: () => app, byKey: () => undefined },
    timers: clock,
    log: silent,
    keyPrefix: '',
    servers: [link],
  });
  const { meter, ended } = parts;
  return { clock, link, engine, meter, ended };
}

const waits = {
  'a subscription': (engine: RedisEngine, n: number) =>
    engine.join(
      {
        app,
        channel: channelName(`room-${n}`),
        held: 1,
        member: undefined,
        newcomer: { socketId: socketId(`1.${n}`) },
      },
      () => undefined,
    ),
  'a sign-in': (engine: RedisEngine, n: number) => engine.signIn(app, `user-${n}`, 1),
  'a watch list': (engine: RedisEngine, n: number) => engine.watch(app, [`user-${n}`]),
};

it.each(Object.entries(waits))(
  '%s waits 30 s for Redis, and those of the same moment give up one after the other within 10 s',
  async (_, wait) => {
    const { clock, link, engine, meter } = await stage();
    link.goAway();
    let failed = 0;
    for (let n = 0; n < 200; n++) {
      wait(engine, n).catch(() => {
        failed++;
      });
    }
    const advance = async (ms: number) => {
      clock.advance(ms);
      await nextTurn();
    };
    await advance(29_999);
    expect(failed).toBe(0);
    for (let second = 1; second <= 10; second++) {
      const before = failed;
      await advance(1000);
      expect(failed - before).toBeGreaterThan(0);
      expect(failed - before).toBeLessThan(60);
    }
    await advance(1);
    expect(failed).toBe(200);
    expect(counted(meter, 'engineWaitsGivenUp')).toBe(200);
  },
);

it('what waits is answered when Redis is back', async () => {
  const { clock, link, engine } = await stage();
  link.goAway();
  const signedIn = engine.signIn(app, 'ann', 1);
  clock.advance(20_000);
  link.comeBack();
  expect(await signedIn).toBe(true);
});

it('a message that is missing among those of a channel is noticed and counted', async () => {
  const { link, engine, meter } = await stage();
  const channel = channelName('presence-room');
  const member = { userId: 'ann', userInfo: undefined };
  const entry = { app, channel, held: 1, member, newcomer: { socketId: socketId('1.1') } };
  await engine.join(entry, () => undefined);
  const stream = `{${partitionOf(app, channel.text)}}t:app/presence-room`;
  link.receive(stream, '1-bob');
  expect(counted(meter, 'engineGaps')).toBe(0);
  link.receive(stream, '3-eve');
  expect(counted(meter, 'engineGaps')).toBe(1);
});

it('what was missed and cannot be read again is counted, and the clients of its channel are told', async () => {
  const { link, engine, meter, ended } = await stage();
  const entry = { app, channel: channelName('room'), held: 1, member: undefined };
  await engine.join({ ...entry, newcomer: { socketId: socketId('1.1') } }, () => undefined);
  const loseFor = async (keptMs: number) => {
    link.answers.set(RECENT_OF_APPS, ['ok', 0, [['0', '', String(keptMs)]], []]);
    link.goAway();
    link.comeBack();
    await nextTurn();
  };
  await loseFor(60_000);
  expect(counted(meter, 'engineGaps')).toBe(1);
  expect([counted(meter, 'engineLosses'), ended]).toEqual([0, []]);
  await loseFor(0);
  expect([counted(meter, 'engineLosses'), ended]).toEqual([1, ['all of room']]);
  // Another Redis process may lack what was published last, however far back its events reach. That has another metric.
  link.serverId = 'another';
  await loseFor(60_000);
  expect([counted(meter, 'engineLosses'), ended]).toEqual([1, ['all of room', 'all of room']]);
});

it('when Redis forgets everything, but has been connected all the time, nobody has missed an event', async () => {
  const { clock, link, engine, ended } = await stage();
  const entry = { app, held: 1, member: undefined, newcomer: { socketId: socketId('1.1') } };
  const place = { place: { after: 'none' as const, socketIds: [] }, roomBytes: 1000 };
  await engine.join({ ...entry, channel: channelName('plain') }, () => undefined);
  await engine.join({ ...entry, channel: channelName('kept'), history: place }, () => undefined);
  link.answers.set(TICK, ['lost']);
  clock.advance(2000);
  await nextTurn();
  link.answers.delete(TICK);
  clock.advance(2000);
  await nextTurn();
  expect(ended).toEqual(['resuming of kept']);
});

it('how long it has been away is reported in seconds, until it is back', async () => {
  const { clock, link, engine } = await stage();
  expect(engine.figures()).toMatchObject({ waiting: 0, awaySeconds: 0 });
  link.commands.waiting = 3;
  link.goAway(clock.now());
  clock.advance(12_500);
  expect(engine.figures()).toMatchObject({ waiting: 3, awaySeconds: 12.5 });
  link.comeBack();
  expect(engine.figures().awaySeconds).toBe(0);
});

it('channels and users that were left while Redis was away are forgotten when it is back', async () => {
  const { link, engine } = await stage();
  const topics = () => {
    const { channels, users } = Reflect.get(engine, 'topics');
    return channels.size + users.size;
  };
  await waits['a subscription'](engine, 1);
  await waits['a sign-in'](engine, 1);
  expect(topics()).toBe(2);
  link.goAway();
  await engine.leave({ app, channel: channelName('room-1'), held: 0, userId: undefined });
  await engine.signOut(app, 'user-1', 0);
  expect(topics()).toBe(2);

  link.comeBack();
  for (let turn = 0; turn < 10; turn++) await nextTurn();

  expect(topics()).toBe(0);
  await engine.close();
});
