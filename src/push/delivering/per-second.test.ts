import { beforeEach, describe, expect, it } from 'bun:test';
import { MemoryPreferences } from '../../../testing/memory-stores/devices.ts';
import type { Platform } from '../model/device.ts';
import type { Preferences } from '../model/preferences.ts';
import type { PublishId } from '../model/publish.ts';
import { deliveryLimits } from './limits.ts';
import { PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** The scene begins at 08:00 UTC. */
let scene: PipelineScene;
let instance: number;
beforeEach(() => {
  scene = new PipelineScene();
  instance = scene.newInstance();
});

const seconds = (count: number) => scene.time.advance(count * SECOND_MS);

async function devices(count: number, preferences?: Preferences): Promise<void> {
  const some: readonly Platform[] = ['apns', 'fcm', 'web'];
  for (let made = 0; made < count; made++) {
    const platform = some[made % some.length] ?? 'fcm';
    const id = await scene.register(instance, platform);
    if (preferences === undefined) continue;
    const store = new MemoryPreferences(scene.devices);
    await store.setOfDevice({ instance, id, changes: preferences });
  }
}

const publish = (perSecond: number, fields: object = {}) =>
  scene.publish(instance, {
    apns: { aps: { alert: 'Hi' } },
    fcm: { notification: { title: 'Hi' } },
    web: { notification: { title: 'Hi' } },
    perSecond,
    ...fields,
  });

/** How many were sent in each second from one on, without those in which none was. */
function sentBySecond(fromMs = 0): Readonly<Record<number, number>> {
  const bySecond = Map.groupBy(scene.sends, ({ atMs }) => Math.floor((atMs - fromMs) / SECOND_MS));
  return Object.fromEntries([...bySecond].map(([second, sends]) => [second, sends.length]));
}

async function expectFinished(id: PublishId, count: number): Promise<void> {
  expect(scene.sends).toHaveLength(count);
  expect(Math.max(...Object.values(scene.timesSent()))).toBe(1);
  expect(scene.log).toContain(`finished ${id}`);
}

describe('a publish with perSecond', () => {
  it('sends 5,000 each second, all platforms together', async () => {
    await devices(20_000);
    const id = await publish(5_000);
    scene.start();
    await seconds(10);
    expect(sentBySecond()).toEqual({ 0: 5_000, 1: 5_000, 2: 5_000, 3: 5_000 });
    // In pages of 1,000, one each 200 ms and the 50 ms between two polls.
    const tenths = Map.groupBy(scene.sends, ({ atMs }) => Math.floor(atMs / 250));
    expect(Math.max(...[...tenths.values()].map((some) => some.length))).toBeLessThanOrEqual(2_000);
    await expectFinished(id, 20_000);
  });

  it('makes pages as small as its number', async () => {
    await devices(45);
    const id = await publish(10);
    scene.start();
    await seconds(10);
    expect(sentBySecond()).toEqual({ 0: 10, 1: 10, 2: 10, 3: 10, 4: 5 });
    await expectFinished(id, 45);
  });

  it('is not slower or faster for devices that are not of its audience', async () => {
    await devices(30);
    await scene.registerMany(instance, 'fcm', 30, { interests: ['other'] });
    await devices(30);
    const id = await scene.publish(instance, { fcm: {}, web: {}, perSecond: 10 });
    scene.start();
    await seconds(10);
    await expectFinished(id, 40);
    expect(scene.sends.at(-1)?.atMs).toBeWithin(3_000, 4_000);
  });

  it('says when the next devices are due, and when all are sent to', async () => {
    await devices(45);
    const id = await publish(10);
    scene.start();
    await seconds(1.5);
    const status = await scene.publishes.status({ instance, id, nowMs: scene.time.now() });
    expect(status?.nextAtMs).toBe(scene.startedAtMs + 2 * SECOND_MS);
    expect(status?.lastAtMs).toBe(scene.startedAtMs + 4.5 * SECOND_MS);
    await seconds(10);
    const after = await scene.publishes.status({ instance, id, nowMs: scene.time.now() });
    expect([after?.nextAtMs, after?.lastAtMs]).toEqual([undefined, undefined]);
  });

  it('neither starts over nor hurries after all servers were killed', async () => {
    await devices(100);
    const id = await publish(10);
    scene.start();
    await seconds(2.5);
    expect(scene.sends).toHaveLength(30);
    scene.kill();
    await seconds(3);
    scene.start({ isAlone: true });
    await seconds(20);
    const { 0: first, 1: second, 2: third, 3: none, ...later } = sentBySecond();
    expect([first, second, third, none]).toEqual([10, 10, 10, undefined]);
    expect(Math.max(...Object.values(later))).toBeLessThanOrEqual(10);
    await expectFinished(id, 100);
  });

  it('continues where it was when its server is killed while it plans', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10 };
    await devices(100);
    const id = await publish(20);
    let pages = 0;
    const store = scene.deliveries();
    const dying = new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          const isPage = name === 'addPage';
          if (isPage) pages++;
          const answer: unknown = await Reflect.apply(method, target, args);
          if (isPage && pages >= 4) await new Promise(() => undefined);
          return answer;
        };
      },
    });
    scene.start({ store: dying });
    await seconds(0.2);
    expect(pages).toBe(4);
    scene.kill();
    scene.start({ isAlone: true });
    await seconds(30);
    expect(Math.max(...Object.values(sentBySecond()))).toBeLessThanOrEqual(20);
    await expectFinished(id, 100);
  });

  it('keeps its pace on two servers', async () => {
    await devices(100);
    const id = await publish(10);
    scene.start();
    scene.start();
    await seconds(20);
    expect(Object.values(sentBySecond())).toEqual(Array<number>(10).fill(10));
    await expectFinished(id, 100);
  });

  it('does not make up for the time in which its store was away', async () => {
    await devices(60);
    const id = await publish(10);
    scene.start();
    await seconds(1.5);
    scene.isStoreAway = true;
    await seconds(3.2);
    scene.isStoreAway = false;
    await seconds(30);
    // Only those that are late by a second at most are sent with the next ones.
    expect(Math.max(...Object.values(sentBySecond()))).toBeLessThanOrEqual(20);
    expect(scene.sends.at(-1)?.atMs).toBe(7_000);
    await expectFinished(id, 60);
  });

  it('sends to each time zone at its time, and no more per second than it says', async () => {
    await devices(30, { timeZone: 'Asia/Shanghai' });
    await devices(30, { timeZone: 'Asia/Tokyo' });
    await devices(30, { timeZone: 'Asia/Shanghai' });
    // At 09:00 and 10:00 UTC.
    const id = await publish(10, { sendAtLocal: '2027-01-15T18:00' });
    scene.start();
    await seconds(3_500);
    expect(scene.sends).toEqual([]);
    await seconds(2 * 3_600);
    const { 0: first, 1: second, 2: third, ...later } = sentBySecond(HOUR_MS);
    expect([first, second, third]).toEqual([10, 10, 10]);
    expect(Object.keys(later).map(Number)).toEqual([3600, 3601, 3602, 3603, 3604, 3605]);
    expect(Object.values(later)).toEqual(Array<number>(6).fill(10));
    await expectFinished(id, 90);
  });

  it('waits for the end of quiet hours that begin before the turn of a device', async () => {
    // They begin before the turn of half of them.
    await devices(600, { quietHours: { from: '08:01', to: '09:00' } });
    const id = await publish(5);
    scene.start();
    await seconds(3_000);
    expect(scene.sends).toHaveLength(300);
    await seconds(2_000);
    expect(Math.max(...Object.keys(sentBySecond(HOUR_MS)).map(Number))).toBe(59);
    expect(Math.max(...Object.values(sentBySecond()))).toBe(5);
    await expectFinished(id, 600);
  });

  it('counts each device towards the cap of its instance', async () => {
    scene.manners = { cap: { notifications: 1, hours: 1 } };
    scene.useGateways(instance);
    await devices(30);
    const first = await publish(10);
    scene.start();
    await seconds(5);
    expect(sentBySecond()).toEqual({ 0: 10, 1: 10, 2: 10 });
    const second = await publish(10);
    await seconds(5);
    await expectFinished(first, 30);
    expect(await scene.counts(second)).toEqual({ state: 'finished', planned: 10, failed: 10 });
  });

  it('does not shorten the time to live of the last devices', async () => {
    await scene.registerMany(instance, 'fcm', 200);
    let failures = 20;
    scene.answer = ({ atMs }) =>
      atMs >= 150 * SECOND_MS && failures-- > 0
        ? tryAgain('device', 5_000)
        : { result: 'accepted' };
    const fcm = { notification: { title: 'Hi' }, time_to_live: 30 };
    const id = await scene.publish(instance, { fcm, perSecond: 1 });
    scene.start();
    await seconds(400);
    await scene.expectAccepted(id, 200);
  });

  it('is planned some time ahead, and its rest later', async () => {
    scene.limits = { ...deliveryLimits, pacedAheadMs: 60_000 };
    await devices(200);
    const id = await publish(1);
    scene.start();
    await seconds(1);
    const kept = scene.publishes.all()[0];
    expect(kept?.pages).toHaveLength(60);
    await seconds(25);
    expect(kept?.pages).toHaveLength(60);
    await seconds(20);
    expect(kept?.pages.length).toBeWithin(90, 125);
    await seconds(200);
    expect(Math.max(...Object.values(sentBySecond()))).toBeLessThanOrEqual(2);
    expect(scene.sends.at(-1)?.atMs).toBeWithin(199_000, 200_000);
    await expectFinished(id, 200);
  });
});
