import { beforeEach, describe, expect, it } from 'bun:test';
import type { PublishId } from '../model/publish.ts';
import { deliveryLimits } from './limits.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

describe('devices do not wait for others', () => {
  it('when the gateway of another instance hangs', async () => {
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
    await scene.expectAccepted(id, 100);
  });

  it('when many instances hang at once, and memory is full', async () => {
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
    await scene.expectAccepted(id, 30);
  });

  it('when another instance has many large publishes to plan', async () => {
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
    // No plan of the instance continues, and no other is begun.
    expect(pipeline.figures().planning).toBe(4);
    await scene.register(quiet, 'fcm');
    const ids: PublishId[] = [];
    for (let count = 0; count < 5; count++) ids.push(await scene.publish(quiet));
    pipeline.wake();
    await seconds(1);
    expect(scene.sends.filter(({ instance }) => instance === quiet).length).toBeGreaterThan(0);
    expect(pipeline.figures().planning).toBeLessThanOrEqual(6);
  });

  it('when more publishes are accepted than can be planned at once', async () => {
    const instance = scene.newInstance();
    await scene.register(instance, 'fcm');
    const pipeline = scene.start();
    for (let count = 0; count < 100; count++) {
      for (let publish = 0; publish < 10; publish++) await scene.publish(instance);
      pipeline.wake(50);
      await seconds(0.01);
    }
    // Planning continues all the while, some publishes at a time.
    expect(scene.sends.length).toBeGreaterThan(200);
    expect(scene.sends.length).toBeLessThan(600);
    await seconds(2);
    expect(scene.sends).toHaveLength(1_000);
  });

  it('when another instance has planned as far ahead as it may', async () => {
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
    await scene.expectAccepted(id, 20);
  });

  it('when another push service hangs', async () => {
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
    await scene.expectAccepted(id, 20, 'web');
  });

  it('when push services share a route, and others of them fail or refuse our key', async () => {
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
      // The first publish gives the only route of its own to `own.example`, which is not part of this.
      const vip = await scene.publish(instance, { web: {} }, { kind: 'interests', names: ['vip'] });
      pipeline.wake();
      await seconds(0.5);
      await scene.expectAccepted(vip, 21, 'web');
      attacks.push(await scene.publish(instance));
      pipeline.wake();
      await seconds(0.5);
    }
    expect(pipeline.figures().openCircuits).toEqual([]);
    // An acceptance at the good service is no reason to remove a browser of another.
    expect(Math.max(...[...hostile].map((id) => scene.timesSent()[id] ?? 0))).toBeGreaterThan(30);
    for (const id of attacks) expect(await scene.counts(id, 'web')).not.toHaveProperty('pruned');
  });

  it('when another platform of the publish hangs', async () => {
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
    expect(scene.inFlightMax.get(`${instance} fcm`)).toBe(10);
    await seconds(3_600);
    await scene.expectAccepted(id, 200);
    expect(Object.values(scene.timesSent())).toEqual(Array(400).fill(1));
  });

  it('when a campaign to another platform of the instance hangs', async () => {
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
    await scene.expectAccepted(id, 100, 'apns');
  });

  it('when push services that anybody may have made up are down', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 20 };
    scene.atOnce = 10;
    const instance = scene.newInstance();
    for (let count = 0; count < 20; count++) {
      const origin = `https://made-up-${count}.example`;
      scene.openOrigins.add(origin);
      await scene.register(instance, 'web', { origin });
    }
    scene.openOrigins.add('https://new.example');
    await scene.register(instance, 'web', { origin: 'https://new.example' });
    const id = await scene.publish(instance);
    let isMended = false;
    scene.answer = ({ token }) =>
      token.includes('new.example') === isMended ? tryAgain('gateway') : accepted;
    const pipeline = scene.start();
    await seconds(30);
    expect(await scene.counts(id, 'web')).toMatchObject({ accepted: 1 });
    // They share a route, which says nothing about any of them.
    expect(pipeline.figures().openCircuits).toEqual([]);

    // The one that has accepted something has a route of its own.
    isMended = true;
    await scene.publish(instance);
    pipeline.wake();
    await seconds(5);
    expect(pipeline.figures().openCircuits).toMatchObject([{ origin: 'https://new.example' }]);
  });

  it('when another push service is down', async () => {
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
    // Each device once, and four probes after each pause.
    expect(scene.sends.length).toBeLessThan(200 + 5 * 4);
    expect(pipeline.figures().openCircuits).toMatchObject([{ origin: 'https://down.example' }]);
    isMended = true;
    await seconds(1_000);
    await scene.expectAccepted(id, 200, 'web');
  });

  it('when the instance has a large publish in flight', async () => {
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
