import { beforeEach, describe, expect, it } from 'bun:test';
import { deliveryLimits } from './limits.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

const HOUR_MS = 3_600_000;

describe('after the clock was set forward by an hour', () => {
  it.each([1, 2])(
    'does not leave pages whose claims it has reclaimed until those expire, page %i on its route',
    async (begun) => {
      scene.limits = { ...deliveryLimits, pageDevices: 10 };
      const instance = scene.newInstance();
      await scene.registerMany(instance, 'fcm', 30);
      scene.atOnce = 5;
      scene.useGateways(instance);
      scene.answer = () => ({ outcome: accepted, afterMs: 50 });
      const id = await scene.publish(instance, { fcm: {} });
      const pipeline = scene.start();
      while (scene.sends.length <= (begun - 1) * 10) await scene.time.advance(10);
      scene.time.setClock(HOUR_MS);
      // Jobs whose claims seem to have expired are claimed before this server extends them.
      pipeline.wake();
      await seconds(5);
      expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 30, accepted: 30 });
      expect(scene.sends).toHaveLength(30);
    },
  );
});

describe('after the server was paused for 10 seconds', () => {
  /** To the server, a pause looks like a clock that jumps. */
  const pause = () => scene.time.setClock(10_000);

  it('new devices of a quick gateway stay in memory', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 900, { isNew: true });
    scene.atOnce = 40;
    scene.useGateways(instance);
    scene.answer = () => ({ outcome: accepted, afterMs: 100 });
    const id = await scene.publish(instance, { fcm: {} });
    scene.start();
    await scene.time.advance(100);
    pause();
    await seconds(1);
    expect(scene.rowsWaiting()).toBe(0);
    await seconds(3);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 900, accepted: 900 });
  });

  it('jobs that take turns stay in memory', async () => {
    const instance = scene.newInstance();
    for (let pair = 0; pair < 60; pair++) {
      await scene.register(instance, 'fcm');
      await scene.register(instance, 'apns');
    }
    scene.limits = { ...deliveryLimits, pageDevices: 20 };
    scene.atOnce = 2;
    scene.useGateways(instance);
    scene.answer = ({ platform }) =>
      platform === 'apns' ? accepted : { outcome: accepted, afterMs: 50 };
    const id = await scene.publish(instance, { apns: { aps: {} }, fcm: {} });
    scene.start();
    await scene.time.advance(800);
    pause();
    await seconds(1);
    expect(scene.rowsWaiting()).toBe(0);
    await seconds(3);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 60, accepted: 60 });
  });
});

describe('after the clock was set back by an hour', () => {
  let instance: number;
  beforeEach(() => {
    instance = scene.newInstance();
  });
  /** Publishes once more. */
  const finishes = async (pipeline: ReturnType<PipelineScene['start']>, afterSeconds: number) => {
    const id = await scene.publish(instance, { fcm: {} });
    pipeline.wake();
    await seconds(afterSeconds);
    return (await scene.counts(id))['state'] === 'finished';
  };

  it('a circuit stays open no longer than its pause', async () => {
    await scene.registerMany(instance, 'fcm', 100);
    let isDown = true;
    scene.answer = () => (isDown ? tryAgain('gateway') : accepted);
    const id = await scene.publish(instance, { fcm: {} });
    const pipeline = scene.start();
    await seconds(200);
    const sinceMs = scene.startedAtMs;
    expect(pipeline.figures().openCircuits).toMatchObject([{ sinceMs }]);
    isDown = false;
    scene.time.setClock(-HOUR_MS);
    await seconds(125);
    expect(pipeline.figures().openCircuits).toEqual([]);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 100, accepted: 100 });
    expect(await finishes(pipeline, 1)).toBe(true);
  });

  it('an instance whose jobs were given back does not wait longer', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 1, platformDevices: 1, instanceJobs: 1 };
    await scene.registerMany(instance, 'fcm', 20);
    let isDown = true;
    scene.answer = () => (isDown ? tryAgain('gateway', 20_000) : accepted);
    await scene.publish(instance, { fcm: {} });
    const pipeline = scene.start();
    for (let second = 0; second < 100; second++) {
      await seconds(1);
      if (second === 80) scene.time.setClock(-HOUR_MS);
    }
    isDown = false;
    await seconds(40);
    expect(pipeline.figures().openCircuits).toEqual([]);
    expect(await finishes(pipeline, 10)).toBe(true);
  });

  it('a device that hangs does not hold up others of its page', async () => {
    await scene.registerMany(instance, 'fcm', 10);
    await scene.registerMany(instance, 'apns', 10);
    scene.atOnce = 1;
    scene.useGateways(instance);
    scene.answer = ({ platform }) =>
      platform === 'apns' ? { outcome: accepted, afterMs: 20_000 } : accepted;
    const id = await scene.publish(instance, { apns: { aps: {} }, fcm: {} });
    scene.start();
    await seconds(1);
    scene.time.setClock(-HOUR_MS);
    await seconds(45);
    expect(await scene.counts(id)).toMatchObject({ planned: 10, accepted: 10 });
  });

  it('a gateway that returns no outcome is given up as before', async () => {
    await scene.register(instance, 'fcm');
    scene.answer = () => ({ outcome: accepted, afterMs: undefined });
    await scene.publish(instance, { fcm: {} });
    scene.start();
    await seconds(10);
    scene.time.setClock(-HOUR_MS);
    await seconds(130);
    expect(scene.log).toContain('fault: Error: a gateway gives no outcome');
  });
});
