import { beforeEach, describe, expect, it } from 'bun:test';
import type { PublishId } from '../model/publish.ts';
import { deliveryLimits, RECOVERY_DEVICES } from './limits.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

describe('a publish', () => {
  it('reaches each device once, however many of its interests match', async () => {
    const instance = scene.newInstance();
    const interests = ['news', 'sport', 'hello'];
    await scene.register(instance, 'fcm', { interests });
    await scene.register(instance, 'apns', { interests: ['sport'] });
    await scene.register(instance, 'web', { interests: ['other'] });
    const id = await scene.publish(instance, undefined, {
      kind: 'interests',
      names: ['news', 'sport', 'hello'],
    });
    scene.start();
    await seconds(1);
    expect(scene.timesSent()).toEqual({ 'fcm-1': 1, 'apns-2': 1 });
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, accepted: 1 });
    expect(scene.told).toEqual([`started ${id}`, `finished ${id}`]);
  });

  it('reaches only the platforms that it says something to', async () => {
    const instance = scene.newInstance();
    for (const platform of ['apns', 'fcm', 'web'] as const)
      await scene.register(instance, platform);
    const id = await scene.publish(instance, { web: {} });
    scene.start();
    await seconds(1);
    expect(scene.timesSent()).toEqual({ 'web-3': 1 });
    expect(await scene.counts(id, 'apns')).toEqual({ state: 'finished' });
  });

  it('is finished at once where nobody is there', async () => {
    const id = await scene.publish(scene.newInstance());
    scene.start();
    await seconds(1);
    expect(await scene.counts(id)).toEqual({ state: 'finished' });
    expect(scene.told).toEqual([`started ${id}`, `finished ${id}`]);
  });

  it('goes out when somebody says that it is there, and when it is due', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const pipeline = scene.start();
    await seconds(100);
    await scene.publish(instance);
    pipeline.wake();
    await scene.time.advance(1);
    expect(scene.sends).toHaveLength(1);
    await scene.publish(instance, undefined, undefined, scene.time.now() + 7_000);
    pipeline.wake();
    await scene.time.advance(6_999);
    expect(scene.sends).toHaveLength(1);
    await scene.time.advance(60);
    expect(scene.sends).toHaveLength(2);
  });

  it('goes out soon also where another server has accepted it', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    scene.start();
    await seconds(100);
    await scene.publish(instance);
    await seconds(5);
    expect(scene.sends).toHaveLength(1);
  });

  it('goes to all of a large audience, without a page being sent to in pieces', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 35);
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 10 };
    const id = await scene.publish(instance);
    scene.start();
    await seconds(30);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 35, accepted: 35 });
    expect(Object.values(scene.timesSent())).toEqual(Array(35).fill(1));
  });

  it('tells the devices of a platform without a gateway why they do not get it', async () => {
    const instance = scene.newInstance(['fcm']);
    await scene.register(instance, 'fcm');
    const device = await scene.register(instance, 'apns');
    const id = await scene.publish(instance);
    scene.start();
    await seconds(1);
    expect(await scene.counts(id, 'apns')).toEqual({ state: 'finished', planned: 1, failed: 1 });
    const kept = scene.publishes.find(instance, id);
    const fates = kept?.pages.flatMap(({ fates }) => [...fates.values()]);
    expect(fates?.find(({ platform }) => platform === 'apns')).toMatchObject({
      reason: 'no-gateway',
      words: expect.stringContaining('configure'),
    });
    expect(scene.timesSent()).not.toHaveProperty(device);
  });

  it('is left to others where this server does not know its instance', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    scene.loseInstance(instance);
    const pipeline = scene.start();
    await seconds(30);
    expect(await scene.counts(id)).toEqual({ state: 'planning' });
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(60);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, accepted: 1 });
  });

  it('that cannot be read any more is told, and comes to an end', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance, { fcm: { to: 'somebody' } });
    scene.start();
    await seconds(1);
    expect(await scene.counts(id)).toEqual({ state: 'finished' });
    expect(scene.told[0]).toContain('cannot be read');
  });
});

describe('a device', () => {
  it('is tried again until it is accepted', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    const outcomes = [tryAgain('device'), tryAgain('device', 20_000), accepted];
    scene.answer = () => outcomes.shift() ?? accepted;
    scene.start();
    await seconds(60);
    const times = scene.sends.map(({ atMs }) => Math.floor(atMs / 1000));
    expect(times).toEqual([0, 1, 21]);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, accepted: 1 });
  });

  it('is not tried again when the time to live has run out', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance, { fcm: { time_to_live: 10 } });
    scene.answer = () => tryAgain('device');
    scene.start();
    await seconds(60);
    expect(scene.sends.length).toBeGreaterThan(3);
    expect(scene.sends.at(-1)?.atMs).toBeLessThan(10_000);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, expired: 1 });
  });

  it('is not sent to at all when that was before its turn', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance, { fcm: { time_to_live: 10 } });
    await seconds(10);
    scene.start();
    await seconds(1);
    expect(scene.sends).toEqual([]);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, expired: 1 });
  });

  it('is sent to once where it is for now or never', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance, { fcm: { time_to_live: 0 } });
    await seconds(3);
    scene.answer = () => tryAgain('device');
    scene.start();
    await seconds(60);
    expect(scene.sends).toHaveLength(1);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, expired: 1 });
  });

  it('is pruned where its token is dead, and left alone where it has registered since', async () => {
    const instance = scene.newInstance();
    const gone = await scene.register(instance, 'fcm');
    await seconds(10);
    const back = await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    const sinceMs = scene.time.now() - 5_000;
    scene.answer = () => ({ result: 'token-gone', reason: 'Unregistered', sinceMs });
    scene.start();
    await seconds(1);
    expect(await scene.counts(id)).toEqual({
      state: 'finished',
      planned: 2,
      failed: 1,
      pruned: 1,
    });
    expect(await scene.devices.get(instance, gone)).toBeUndefined();
    expect(await scene.devices.get(instance, back)).toBeDefined();
  });

  it('that is gone before its turn counts as failed, and the others are reached', async () => {
    const instance = scene.newInstance();
    const gone = await scene.register(instance, 'fcm');
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    scene.answer = ({ device }) => (device === gone ? tryAgain('device', 5_000) : accepted);
    scene.start();
    await seconds(1);
    await scene.devices.delete(instance, gone);
    await seconds(10);
    expect(await scene.counts(id)).toEqual({
      state: 'finished',
      planned: 2,
      failed: 1,
      accepted: 1,
    });
  });
});

describe('a gateway', () => {
  it('is never used for more at once than it takes', async () => {
    scene.atOnce = 7;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 40);
    scene.limits = { ...deliveryLimits, pageDevices: 10 };
    await scene.publish(instance);
    await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 100 });
    scene.start();
    await seconds(5);
    expect(scene.sends).toHaveLength(80);
    expect(scene.mostUnderWay.get(`${instance} fcm`)).toBe(7);
  });

  it('is left alone when it has nothing but trouble, and hardly a device gets a row for that', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 100);
    const id = await scene.publish(instance);
    let isMended = false;
    scene.answer = () => ({ outcome: isMended ? accepted : tryAgain('gateway'), afterMs: 20 });
    scene.atOnce = 10;
    scene.useGateways(instance);
    const pipeline = scene.start();
    await seconds(40);
    // The first failures, each device once, ten a second, and four probes after each pause of 1, 2, 4, 8 and 16 s.
    expect(scene.sends.length).toBeLessThan(100 + 5 * 4);
    expect(scene.rowsWaiting()).toBeLessThan(5);
    expect(scene.told).toContain('paused fcm for gateway: trouble');
    expect(pipeline.figures().openCircuits).toMatchObject([
      { instance, platform: 'fcm', why: 'gateway', reason: 'trouble', origin: undefined },
    ]);
    isMended = true;
    await seconds(60);
    expect(scene.told).toContain('resumed fcm');
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 100, accepted: 100 });
    expect(pipeline.figures().openCircuits).toEqual([]);
  });

  it('that asks to be left alone is not disturbed before that', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 3);
    await scene.publish(instance);
    scene.atOnce = 1;
    scene.useGateways(instance);
    scene.answer = ({ atMs }) => (atMs < 1_000 ? tryAgain('gateway', 90_000) : accepted);
    scene.start();
    await seconds(200);
    expect(scene.sends).toHaveLength(6);
    expect(scene.sends[3]?.atMs).toBeGreaterThanOrEqual(90_000);
  });

  it('that does not accept our credential is told, nothing is lost, and all goes on when that is mended', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'apns', 50);
    scene.limits = { ...deliveryLimits, pageDevices: 10 };
    scene.atOnce = 4;
    scene.useGateways(instance);
    const id = await scene.publish(instance);
    let isMended = false;
    scene.answer = () => {
      if (isMended) return accepted;
      const outcome = {
        result: 'not-authorised',
        reason: 'InvalidProviderToken',
        words: '',
      } as const;
      return { outcome, afterMs: 10 };
    };
    const pipeline = scene.start();
    await seconds(20);
    // Each device once, and four probes after each pause of 1, 2, 4 and 8 s.
    expect(scene.sends.length).toBeLessThanOrEqual(50 + 4 * 4);
    expect(scene.openCircuits).toMatchObject([
      { instance, platform: 'apns', why: 'credential', reason: 'InvalidProviderToken' },
    ]);
    await seconds(3_600);
    // Four probes a minute.
    expect(scene.sends.length).toBeLessThan(300);
    expect(scene.rowsWaiting()).toBeLessThan(5);
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(20);
    expect(scene.told).toContain('resumed apns');
    expect(await scene.counts(id, 'apns')).toEqual({
      state: 'finished',
      planned: 50,
      accepted: 50,
    });
  });

  it('gets those soon that waited on their own for a credential that was mended', async () => {
    const instance = scene.newInstance();
    for (let count = 0; count < 1_200; count++) {
      await scene.register(instance, 'apns');
      await scene.register(instance, 'fcm');
    }
    let isMended = false;
    const id = await scene.publish(instance);
    const late = await scene.register(instance, 'fcm', { interests: ['late'] });
    await scene.publish(instance, { fcm: {} }, { kind: 'interests', names: ['late'] });
    scene.answer = ({ platform, device }) => {
      if (device === late) return tryAgain('device', 600_000);
      return isMended || platform === 'fcm'
        ? accepted
        : { result: 'not-authorised', reason: 'InvalidProviderToken', words: '' };
    };
    const pipeline = scene.start();
    // Pages of two platforms: what goes the other route does not wait, and each of these has a row of its own.
    await seconds(1_000);
    expect(scene.rowsWaiting()).toBeGreaterThan(1_000);
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(2);
    expect(await scene.counts(id, 'apns')).toEqual({
      state: 'finished',
      planned: 1_200,
      accepted: 1_200,
    });
    // What a gateway asked for is kept, whatever else was mended.
    expect(scene.timesSent()[late]).toBe(2);
  });

  it('that was in trouble gets nobody earlier than it wants, when it is well again', async () => {
    const instance = scene.newInstance();
    const late = await scene.register(instance, 'fcm', { interests: ['late'] });
    await scene.register(instance, 'fcm');
    scene.answer = ({ device, atMs }) => {
      if (device === late) return tryAgain('device', 600_000);
      return atMs < 60_000 ? tryAgain('gateway', 1_000) : accepted;
    };
    await scene.publish(instance, { fcm: {} }, { kind: 'interests', names: ['late'] });
    await scene.publish(instance, { fcm: {} });
    scene.start();
    await seconds(500);
    expect(scene.told).toContain('resumed fcm');
    expect(scene.timesSent()[late]).toBe(1);
  });

  it('is not asked for all that wait where it was replaced and nothing was mended', async () => {
    const instance = scene.newInstance();
    for (let count = 0; count < 1_200; count++) {
      await scene.register(instance, 'apns');
      await scene.register(instance, 'fcm');
    }
    scene.atOnce = 4;
    scene.useGateways(instance);
    scene.answer = ({ platform }) =>
      platform === 'fcm'
        ? accepted
        : { result: 'not-authorised', reason: 'InvalidProviderToken', words: '' };
    await scene.publish(instance);
    const pipeline = scene.start();
    await seconds(400);
    const replacedAtMs = scene.time.now();
    const sentBefore = scene.sends.length;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(20);
    const fates = scene.publishes
      .all()
      .flatMap(({ pages }) => pages.flatMap(({ fates: some }) => [...some.values()]));
    const waiting = fates.filter(({ state }) => state === 'retrying');
    expect(waiting.length).toBeGreaterThan(1_000);
    expect(waiting.filter(({ atMs }) => atMs >= replacedAtMs).length).toBeLessThan(
      RECOVERY_DEVICES + 10,
    );
    // Those in flight, four probes after each pause, and ten a second of those that were not tried yet.
    expect(scene.sends.length - sentBefore).toBeLessThan(25 + 20 * 10);
  });

  it('that is the only one to refuse a device is believed after some time', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'web', 20);
    const other = await scene.register(instance, 'web');
    const id = await scene.publish(instance);
    scene.answer = ({ device }) =>
      device === other ? { result: 'not-authorised', reason: 'http-403', words: '' } : accepted;
    scene.start();
    await seconds(30);
    expect(scene.timesSent()[other]).toBe(3);
    expect(await scene.counts(id, 'web')).toEqual({
      state: 'finished',
      planned: 21,
      accepted: 20,
      pruned: 1,
    });
    expect(scene.openCircuits).toEqual([]);
  });

  it.each(['apns', 'fcm'] as const)(
    'that does not accept our credential any more removes no device of %s',
    async (platform) => {
      const instance = scene.newInstance();
      await scene.registerMany(instance, platform, 20);
      const other = await scene.register(instance, platform);
      const id = await scene.publish(instance);
      // One device has had trouble of its own before, while the others were accepted.
      let times = 0;
      scene.answer = ({ device }) => {
        if (device !== other) return accepted;
        times++;
        if (times < 3) return tryAgain('device');
        return times < 6 ? { result: 'not-authorised', reason: 'http-403', words: '' } : accepted;
      };
      scene.start();
      await seconds(600);
      expect(times).toBe(6);
      expect(await scene.counts(id, platform)).toEqual({
        state: 'finished',
        planned: 21,
        accepted: 21,
      });
    },
  );

  it('that accepted browsers with another key than ours is now says nothing of this one', async () => {
    scene.atOnce = 2;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'web', 3);
    await scene.publish(instance);
    const pipeline = scene.start();
    await seconds(1);
    expect(scene.sends).toHaveLength(3);
    // The operator has put in another key: no browser has subscribed with it.
    scene.answer = () => ({ result: 'not-authorised', reason: 'http-403', words: '' });
    scene.useGateways(instance);
    const id = await scene.publish(instance);
    pipeline.wake();
    await seconds(50);
    expect(Math.max(...Object.values(scene.timesSent()))).toBeGreaterThanOrEqual(4);
    expect(await scene.counts(id, 'web')).not.toHaveProperty('pruned');
  });

  it('that refuses a publish for every device is not asked for all of them', async () => {
    scene.atOnce = 2;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 50);
    const id = await scene.publish(instance);
    const other = await scene.publish(instance);
    scene.answer = ({ publish }) =>
      publish === id
        ? { result: 'refused', reason: 'INVALID_ARGUMENT', words: 'Bad', scope: 'publish' }
        : accepted;
    scene.start();
    await seconds(5);
    const sent = scene.sends.filter(({ publish }) => publish === id);
    expect(sent.length).toBeLessThan(6);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 50, failed: 50 });
    expect(await scene.counts(other)).toEqual({ state: 'finished', planned: 50, accepted: 50 });
    expect(scene.told).toContain(`refused ${id} fcm INVALID_ARGUMENT`);
  });

  it('that never answers is given up, and the device is tried again', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 2);
    const id = await scene.publish(instance);
    let first = true;
    scene.answer = () => {
      if (!first) return accepted;
      first = false;
      return { outcome: accepted, afterMs: undefined };
    };
    scene.start();
    await seconds(200);
    expect(scene.told).toContain('fault: Error: a gateway gives no outcome');
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 2, accepted: 2 });
    expect(Object.values(scene.timesSent()).sort()).toEqual([1, 2]);
  });

  it('that throws has told us nothing of the device', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    let times = 0;
    scene.answer = () => {
      times += 1;
      if (times === 1) throw new Error('oh');
      return accepted;
    };
    scene.start();
    await seconds(5);
    expect(scene.told).toContain('fault: Error: oh');
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, accepted: 1 });
  });

  it('is not used faster than it should be', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 300);
    await scene.publish(instance);
    const rate = 50;
    scene.start({ rates: { apns: rate, fcm: rate, web: rate } });
    await seconds(4);
    // One second's worth at once, and then fifty each second.
    expect(Math.abs(scene.sends.length - 250)).toBeLessThanOrEqual(2);
    await seconds(2);
    expect(scene.sends).toHaveLength(300);
  });
});

describe('nobody waits for others', () => {
  it('where the gateway of an instance hangs', async () => {
    scene.atOnce = 10;
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 40, sharedDevices: 100 };
    const slow = scene.newInstance();
    const quick = scene.newInstance();
    await scene.registerMany(slow, 'fcm', 500);
    await scene.registerMany(quick, 'fcm', 100);
    scene.answer = ({ instance }) => ({
      outcome: accepted,
      afterMs: instance === slow ? 25_000 : 10,
    });
    for (let count = 0; count < 20; count++) await scene.publish(slow);
    const pipeline = scene.start();
    await seconds(10);
    const id = await scene.publish(quick);
    pipeline.wake();
    await seconds(2);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 100, accepted: 100 });
  });

  it('where many instances hang at once, and memory is full', async () => {
    scene.atOnce = 10;
    scene.limits = {
      ...deliveryLimits,
      pageDevices: 10,
      platformDevices: 20,
      sharedDevices: 50,
      plans: 8,
      plansOfInstance: 2,
      plansOfAny: 2,
    };
    const quick = scene.newInstance();
    await scene.registerMany(quick, 'fcm', 30);
    for (let count = 0; count < 12; count++) {
      const slow = scene.newInstance();
      await scene.registerMany(slow, 'fcm', 100);
      for (let publishes = 0; publishes < 3; publishes++) await scene.publish(slow);
    }
    scene.answer = ({ instance }) => ({
      outcome: accepted,
      afterMs: instance === quick ? 10 : 25_000,
    });
    const pipeline = scene.start();
    await seconds(10);
    const id = await scene.publish(quick);
    pipeline.wake();
    await seconds(5);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 30, accepted: 30 });
  });

  it('where an instance has many large publishes to plan, which have all of the room but for the others', async () => {
    scene.limits = {
      ...deliveryLimits,
      plans: 6,
      plansOfInstance: 2,
      plansOfAny: 4,
      pagesAhead: 1,
      pageDevices: 1,
      platformDevices: 1,
    };
    scene.answer = () => ({ outcome: accepted, afterMs: 20_000 });
    const [busy, quiet] = [scene.newInstance(), scene.newInstance()];
    await scene.registerMany(busy, 'fcm', 50);
    for (let count = 0; count < 10; count++) await scene.publish(busy);
    const pipeline = scene.start();
    await seconds(10);
    // None of the instance's gets any further, and no other one is begun.
    expect(pipeline.figures().planning).toBe(4);
    await scene.register(quiet, 'fcm');
    const ids: PublishId[] = [];
    for (let count = 0; count < 5; count++) ids.push(await scene.publish(quiet));
    pipeline.wake();
    await seconds(1);
    expect(scene.sends.filter(({ instance }) => instance === quiet).length).toBeGreaterThan(0);
    expect(pipeline.figures().planning).toBeLessThanOrEqual(6);
  });

  it('where more is accepted than can be planned at the same time', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const pipeline = scene.start();
    for (let count = 0; count < 100; count++) {
      for (let publish = 0; publish < 10; publish++) await scene.publish(instance);
      pipeline.wake(50);
      await seconds(0.01);
    }
    // It is planned all the while, some at a time.
    expect(scene.sends.length).toBeGreaterThan(200);
    expect(scene.sends.length).toBeLessThan(600);
    await seconds(2);
    expect(scene.sends).toHaveLength(1_000);
  });

  it('where an instance has planned as far ahead as it may', async () => {
    scene.atOnce = 10;
    scene.limits = {
      ...deliveryLimits,
      pageDevices: 10,
      platformDevices: 10,
      pagesAhead: 1,
      plans: 4,
      plansOfInstance: 2,
      plansOfAny: 2,
    };
    const slow = scene.newInstance();
    const quick = scene.newInstance();
    await scene.registerMany(slow, 'fcm', 100);
    await scene.registerMany(quick, 'fcm', 20);
    for (let count = 0; count < 10; count++) await scene.publish(slow);
    scene.answer = ({ instance }) => ({
      outcome: accepted,
      afterMs: instance === slow ? 25_000 : 10,
    });
    const pipeline = scene.start();
    await seconds(10);
    expect(pipeline.figures().planning).toBe(2);
    const id = await scene.publish(quick);
    pipeline.wake();
    await seconds(2);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 20, accepted: 20 });
  });

  it('where one push service hangs', async () => {
    scene.atOnce = 10;
    const instance = scene.newInstance();
    for (let count = 0; count < 100; count++) {
      await scene.register(instance, 'web', { origin: 'https://slow.example' });
    }
    for (let count = 0; count < 20; count++) {
      await scene.register(instance, 'web', {
        origin: 'https://quick.example',
        interests: ['vip'],
      });
    }
    await scene.publish(instance);
    scene.answer = ({ token }) => ({
      outcome: accepted,
      afterMs: token.includes('slow.example') ? 25_000 : 10,
    });
    const pipeline = scene.start();
    await seconds(2);
    const id = await scene.publish(instance, { web: {} }, { kind: 'interests', names: ['vip'] });
    pipeline.wake();
    await seconds(1);
    expect(await scene.counts(id, 'web')).toEqual({ state: 'finished', planned: 20, accepted: 20 });
  });

  it('where push services share a route, and others of them are in trouble or know no key of ours', async () => {
    scene.limits = { ...deliveryLimits, routes: 1 };
    const instance = scene.newInstance();
    await scene.register(instance, 'web', { origin: 'https://own.example', interests: ['vip'] });
    const hostile = new Set<string>();
    for (let count = 0; count < 60; count++) {
      const origin = `https://${count % 2 === 0 ? 'down' : 'strange'}-${count}.example`;
      hostile.add(await scene.register(instance, 'web', { origin }));
    }
    for (let count = 0; count < 20; count++) {
      const origin = 'https://good.example';
      await scene.register(instance, 'web', { origin, interests: ['vip'] });
    }
    scene.answer = ({ token }) => {
      if (token.includes('down-')) return tryAgain('gateway', 600_000);
      return token.includes('strange-')
        ? { result: 'not-authorised', reason: 'http-403', words: '' }
        : accepted;
    };
    const pipeline = scene.start();
    const attacks: PublishId[] = [];
    for (let round = 0; round < 30; round++) {
      // The first one gives the only route of its own to a service that has nothing to do with it.
      const vip = await scene.publish(instance, { web: {} }, { kind: 'interests', names: ['vip'] });
      pipeline.wake();
      await seconds(0.5);
      expect(await scene.counts(vip, 'web')).toEqual({
        state: 'finished',
        planned: 21,
        accepted: 21,
      });
      attacks.push(await scene.publish(instance));
      pipeline.wake();
      await seconds(0.5);
    }
    expect(pipeline.figures().openCircuits).toEqual([]);
    // What the good one accepts is no reason to remove a browser of another.
    expect(Math.max(...[...hostile].map((id) => scene.timesSent()[id] ?? 0))).toBeGreaterThan(30);
    for (const id of attacks) expect(await scene.counts(id, 'web')).not.toHaveProperty('pruned');
  });

  it('where one platform of a publish hangs', async () => {
    scene.atOnce = 10;
    scene.limits = { ...deliveryLimits, pageDevices: 20, platformDevices: 40 };
    const instance = scene.newInstance();
    for (let count = 0; count < 200; count++) {
      await scene.register(instance, 'fcm');
      await scene.register(instance, 'apns');
    }
    const id = await scene.publish(instance);
    scene.answer = ({ platform }) => ({
      outcome: accepted,
      afterMs: platform === 'fcm' ? 25_000 : 10,
    });
    scene.start();
    await seconds(20);
    expect(scene.sends.filter(({ platform }) => platform === 'apns')).toHaveLength(200);
    expect(scene.mostUnderWay.get(`${instance} fcm`)).toBe(10);
    await seconds(3_600);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 200, accepted: 200 });
    expect(Object.values(scene.timesSent())).toEqual(Array(400).fill(1));
  });

  it('where a campaign to another platform of the instance hangs', async () => {
    scene.atOnce = 10;
    scene.limits = { ...deliveryLimits, pageDevices: 20, platformDevices: 40 };
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 300);
    await scene.registerMany(instance, 'apns', 100);
    scene.answer = ({ platform }) => ({
      outcome: accepted,
      afterMs: platform === 'fcm' ? 25_000 : 10,
    });
    for (let count = 0; count < 5; count++) await scene.publish(instance, { fcm: {} });
    const pipeline = scene.start();
    await seconds(10);
    const id = await scene.publish(instance, { apns: { aps: {} } });
    pipeline.wake();
    await seconds(5);
    expect(await scene.counts(id, 'apns')).toEqual({
      state: 'finished',
      planned: 100,
      accepted: 100,
    });
  });

  it('where one push service of several is down', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 20 };
    scene.atOnce = 10;
    const instance = scene.newInstance();
    for (let count = 0; count < 100; count++) {
      await scene.register(instance, 'web', { origin: 'https://up.example' });
      await scene.register(instance, 'web', { origin: 'https://down.example' });
    }
    const id = await scene.publish(instance);
    let isMended = false;
    scene.answer = ({ token }) => ({
      outcome: isMended || token.includes('up.example') ? accepted : tryAgain('gateway'),
      afterMs: 10,
    });
    const pipeline = scene.start();
    await seconds(30);
    expect(await scene.counts(id, 'web')).toMatchObject({ accepted: 100, state: 'delivering' });
    // Each of them once, and four probes after each pause.
    expect(scene.sends.length).toBeLessThan(200 + 5 * 4);
    expect(pipeline.figures().openCircuits).toMatchObject([{ origin: 'https://down.example' }]);
    isMended = true;
    await seconds(1_000);
    expect(await scene.counts(id, 'web')).toEqual({
      state: 'finished',
      planned: 200,
      accepted: 200,
    });
  });

  it('where an instance has a large publish in flight, and then a small one', async () => {
    scene.atOnce = 10;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 1_000);
    const vip = await scene.register(instance, 'fcm', { interests: ['vip'] });
    await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 100 });
    const pipeline = scene.start();
    await seconds(2);
    await scene.publish(instance, { fcm: {} }, { kind: 'interests', names: ['vip'] });
    pipeline.wake();
    await scene.time.advance(150);
    expect(scene.timesSent()[vip]).toBe(1);
    expect(scene.sends.length).toBeLessThan(300);
  });
});

describe('a server that dies', () => {
  it('is missed when its claims end, and only what was in flight is sent again', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 20 };
    scene.atOnce = 5;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 100);
    const id = await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 300 });
    scene.start();
    await seconds(2);
    scene.kill();
    const before = scene.sends.length;
    scene.start();
    await seconds(80);
    expect(await scene.counts(id)).toMatchObject({ state: 'delivering', planned: 100 });
    await seconds(20);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 100, accepted: 100 });
    const again = Object.values(scene.timesSent()).filter((times) => times > 1);
    expect(again.length).toBeGreaterThan(0);
    // Those in flight, and those that were answered in the last 100 ms: none here.
    expect(again.length).toBeLessThanOrEqual(5);
    expect(before).toBeGreaterThan(30);
  });

  it('is not waited for where no other one uses the store', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    const id = await scene.publish(instance);
    const first = scene.deliveries();
    const nowMs = scene.time.now();
    await first.claimPlans({ nowMs, untilMs: nowMs + 3_600_000, limit: 10, except: [] });
    scene.start({ isAlone: true });
    await seconds(1);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 10, accepted: 10 });
  });
});

describe('a server that is stopped', () => {
  it('waits for what is in flight, and leaves the rest to the next', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 20 };
    scene.atOnce = 5;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 100);
    const id = await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 300 });
    const pipeline = scene.start();
    await seconds(2);
    let isStopped = false;
    void pipeline.stop().then(() => {
      isStopped = true;
    });
    await seconds(1);
    expect(isStopped).toBe(true);
    expect(scene.underWay.get(`${instance} fcm`)).toBe(0);
    const sent = scene.sends.length;
    await seconds(30);
    expect(scene.sends).toHaveLength(sent);
    scene.start();
    await seconds(10);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 100, accepted: 100 });
    expect(Object.values(scene.timesSent())).toEqual(Array(100).fill(1));
  });

  it('does not wait for ever for a gateway or a store', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: undefined });
    const pipeline = scene.start();
    await seconds(2);
    scene.isStoreAway = true;
    let isStopped = false;
    void pipeline.stop().then(() => {
      isStopped = true;
    });
    await seconds(15);
    expect(isStopped).toBe(true);
  });
});

describe('a store that is away', () => {
  it('is told once it fails and once it works, and nothing is lost', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    const pipeline = scene.start();
    await seconds(1);
    scene.isStoreAway = true;
    const id = await scene.publish(instance);
    pipeline.wake();
    await seconds(100);
    expect(scene.sends).toEqual([]);
    scene.isStoreAway = false;
    await seconds(2);
    expect(scene.told.at(-1)).toBe(`finished ${id}`);
    expect(scene.told).toContain('store worked');
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 10, accepted: 10 });
  });

  it('does not make anybody be sent to again where it comes back before claims end', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    const id = await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 1_000 });
    scene.start();
    await scene.time.advance(500);
    scene.isStoreAway = true;
    await seconds(40);
    scene.isStoreAway = false;
    await seconds(2);
    expect(scene.sends).toHaveLength(10);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 10, accepted: 10 });
  });

  it('does not make anybody be sent to again where claims have ended, and nobody else was there', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    const id = await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 1_000 });
    const pipeline = scene.start();
    await scene.time.advance(500);
    scene.isStoreAway = true;
    await scene.time.advance(119_400);
    scene.isStoreAway = false;
    // What waits to be claimed is asked for before what is known is kept.
    pipeline.wake();
    await seconds(3);
    expect(scene.sends).toHaveLength(10);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 10, accepted: 10 });
  });

  it('lets another server go on, and the first does not come back to it', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 200);
    scene.atOnce = 1;
    scene.useGateways(instance);
    const id = await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 1_000 });
    let isCutOff = false;
    const store = new Proxy(scene.deliveries(), {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          if (isCutOff) throw new Error('cut off');
          return await Reflect.apply(method, target, args);
        };
      },
    });
    const first = scene.start({ store });
    await seconds(30);
    isCutOff = true;
    const second = scene.start();
    // Renewed after 20 seconds, and then nothing is sent whose outcome might come too late.
    await seconds(75);
    const { claimMs, extendMs, sendMs } = deliveryLimits;
    const sentByFirst = scene.sends.length;
    expect(sentByFirst).toBeLessThanOrEqual((extendMs + claimMs - sendMs) / 1000 + 1);
    await seconds(45);
    isCutOff = false;
    await seconds(600);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 200, accepted: 200 });
    // What the first has sent after it was cut off, which it could tell nobody.
    expect(scene.sends.length).toBeLessThanOrEqual(200 + sentByFirst - 29);
    for (const pipeline of [first, second]) expect(pipeline.figures().jobs).toBe(0);
  });

  it('lets nothing be sent whose claim may end before the outcome is known', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 100);
    scene.atOnce = 1;
    scene.useGateways(instance);
    await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 1_000 });
    scene.start();
    await seconds(1);
    scene.isStoreAway = true;
    await seconds(100);
    const { claimMs, sendMs } = deliveryLimits;
    expect(scene.sends.length).toBeLessThanOrEqual((claimMs - sendMs) / 1000 + 1);
  });
});

describe('a publish that is cancelled', () => {
  it('goes out no further than what is in flight', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 40 };
    scene.atOnce = 5;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 100);
    const id = await scene.publish(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 300 });
    scene.start();
    await scene.time.advance(700);
    await scene.publishes.cancel(instance, id, scene.time.now());
    await seconds(30);
    const sent = scene.sends.length;
    // The page that was being sent, and what was taken of the next before this was heard of.
    expect(sent).toBeLessThanOrEqual(25);
    const { accepted: count, cancelled } = await scene.counts(id);
    expect(count).toBe(sent);
    expect(cancelled).toBeGreaterThan(0);
  });
});

describe('what waits for a gateway', () => {
  it('stays as it is where it was over', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    const pipeline = scene.start();
    await seconds(1);
    const ended = { state: 'finished', planned: 1, accepted: 1 };
    expect(await scene.counts(id)).toEqual(ended);
    const status = await scene.publishes.status(instance, id, scene.time.now());
    expect(await scene.publishes.cancel(instance, id, scene.time.now())).toEqual(status);
    pipeline.wake();
    await seconds(10);
    expect(await scene.counts(id)).toEqual(ended);
    expect(scene.sends).toHaveLength(1);
  });

  it('does not go out where it was cancelled meanwhile', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    const id = await scene.publish(instance);
    let isMended = false;
    scene.answer = () =>
      isMended ? accepted : { result: 'not-authorised', reason: 'x', words: '' };
    const pipeline = scene.start();
    await seconds(600);
    await scene.publishes.cancel(instance, id, scene.time.now());
    await seconds(100);
    const sent = scene.sends.length;
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(600);
    expect(scene.sends).toHaveLength(sent);
    expect(await scene.counts(id)).toEqual({ state: 'cancelled', planned: 10, cancelled: 10 });
  });

  it('goes out with the token that the device has then', async () => {
    const instance = scene.newInstance();
    const device = await scene.register(instance, 'fcm');
    await scene.publish(instance);
    let isMended = false;
    scene.answer = () =>
      isMended ? accepted : { result: 'not-authorised', reason: 'x', words: '' };
    const pipeline = scene.start();
    await seconds(600);
    const renewed = { token: 'renewed', identity: 'renewed' };
    await scene.devices.setToken(instance, device, renewed, scene.time.now());
    await seconds(100);
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(60);
    expect(scene.sends.at(-1)?.token).toBe('renewed');
    expect(scene.rowsWaiting()).toBe(0);
  });
});

describe('figures', () => {
  it('say what waits, and for how long', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 5);
    scene.answer = () => ({
      outcome: { result: 'not-authorised', reason: 'x', words: '' },
      afterMs: 1,
    });
    const pipeline = scene.start();
    await scene.publish(instance);
    pipeline.wake();
    await seconds(100);
    const { lagMs, backlog, jobs, devices, planning, sending, outcomes } = pipeline.figures();
    // Two failed before it was clear that the others need not be tried.
    expect({ jobs, devices, planning, sending }).toEqual({
      jobs: 1,
      devices: 3,
      planning: 0,
      sending: 0,
    });
    expect(backlog).toEqual({ pages: 1, retries: 2 });
    expect(outcomes.fcm.accepted).toBe(0);
    expect(lagMs).toBeGreaterThanOrEqual(0);
  });
});
