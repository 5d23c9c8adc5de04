import { beforeEach, describe, expect, it } from 'bun:test';
import { deliveryLimits } from './limits.ts';
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
    await scene.expectAccepted(id, 1);
    expect(scene.log).toEqual([`started ${id}`, `finished ${id}`]);
  });

  it('reaches only the platforms that it has a payload for', async () => {
    const instance = scene.newInstance();
    for (const platform of ['apns', 'fcm', 'web'] as const)
      await scene.register(instance, platform);
    const id = await scene.publish(instance, { web: {} });
    scene.start();
    await seconds(1);
    expect(scene.timesSent()).toEqual({ 'web-3': 1 });
    expect(await scene.counts(id, 'apns')).toEqual({ state: 'finished' });
  });

  it('is finished at once if it has no audience', async () => {
    const id = await scene.publish(scene.newInstance());
    scene.start();
    await seconds(1);
    expect(await scene.counts(id)).toEqual({ state: 'finished' });
    expect(scene.log).toEqual([`started ${id}`, `finished ${id}`]);
  });

  it('goes out when the pipeline is woken, and when it is due', async () => {
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

  it('goes out within 5 s if another server has accepted it', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    scene.start();
    await seconds(100);
    await scene.publish(instance);
    await seconds(5);
    expect(scene.sends).toHaveLength(1);
  });

  it('reaches every device of a large audience once', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 35);
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 10 };
    const id = await scene.publish(instance);
    scene.start();
    await seconds(30);
    await scene.expectAccepted(id, 35);
    expect(Object.values(scene.timesSent())).toEqual(Array(35).fill(1));
  });

  it('fails for devices of a platform without a gateway, with the reason', async () => {
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

  it('is left to other servers while this one does not know its instance', async () => {
    const { instance, id } = await scene.publishTo(1);
    scene.loseInstance(instance);
    const pipeline = scene.start();
    await seconds(30);
    expect(await scene.counts(id)).toEqual({ state: 'planning' });
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(60);
    await scene.expectAccepted(id, 1);
  });

  it('that cannot be read is reported, and finished', async () => {
    const { id } = await scene.publishTo(1, 'fcm', { fcm: { to: 'somebody' } });
    scene.start();
    await seconds(1);
    expect(await scene.counts(id)).toEqual({ state: 'finished' });
    expect(scene.log[0]).toContain('cannot be read');
  });
});

describe('a device', () => {
  it('is retried until it is accepted', async () => {
    const { id } = await scene.publishTo(1);
    const outcomes = [tryAgain('device'), tryAgain('device', 20_000), accepted];
    scene.answer = () => outcomes.shift() ?? accepted;
    scene.start();
    await seconds(60);
    const times = scene.sends.map(({ atMs }) => Math.floor(atMs / 1000));
    expect(times).toEqual([0, 1, 21]);
    await scene.expectAccepted(id, 1);
  });

  it.each([
    ['is not retried after the time to live', 10, 0, [4, 100]],
    ['is not sent to if the time to live ran out before', 10, 10, [0, 0]],
    ['is sent to once if the time to live is 0', 0, 3, [1, 1]],
  ] as const)('%s', async (_, timeToLive, waitSeconds, [sendsMin, sendsMax]) => {
    const { id } = await scene.publishTo(1, 'fcm', { fcm: { time_to_live: timeToLive } });
    await seconds(waitSeconds);
    scene.answer = () => tryAgain('device');
    scene.start();
    await seconds(60);
    expect(scene.sends.length).toBeGreaterThanOrEqual(sendsMin);
    expect(scene.sends.length).toBeLessThanOrEqual(sendsMax);
    expect(scene.sends.at(-1)?.atMs ?? 0).toBeLessThan(10_000);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, expired: 1 });
  });

  it('is pruned if its token is dead, unless it has registered since', async () => {
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
    expect(await scene.devices.get({ instance, id: gone })).toBeUndefined();
    expect(await scene.devices.get({ instance, id: back })).toBeDefined();
  });

  it('that was deleted before its retry counts as failed, and the others are reached', async () => {
    const instance = scene.newInstance();
    const gone = await scene.register(instance, 'fcm');
    await scene.register(instance, 'fcm');
    const id = await scene.publish(instance);
    scene.answer = ({ device }) => (device === gone ? tryAgain('device', 5_000) : accepted);
    scene.start();
    await seconds(1);
    await scene.devices.delete({ instance, id: gone });
    await seconds(10);
    expect(await scene.counts(id)).toEqual({
      state: 'finished',
      planned: 2,
      failed: 1,
      accepted: 1,
    });
  });
});

describe('figures', () => {
  it('count what waits, and for how long', async () => {
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
    // Two failed before the circuit opened.
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
