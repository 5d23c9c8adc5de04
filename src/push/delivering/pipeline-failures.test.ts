import { beforeEach, describe, expect, it } from 'bun:test';
import { deliveryLimits } from './limits.ts';
import { accepted, PipelineScene } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

describe('after a server has crashed', () => {
  it('another continues when its claims have expired, and repeats only what was in flight', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 20 };
    scene.atOnce = 5;
    const { id } = await scene.publishTo(100);
    scene.answer = () => ({ outcome: accepted, afterMs: 300 });
    scene.start();
    await seconds(2);
    scene.kill();
    const before = scene.sends.length;
    scene.start();
    await seconds(80);
    expect(await scene.counts(id)).toMatchObject({ state: 'delivering', planned: 100 });
    await seconds(20);
    await scene.expectAccepted(id, 100);
    const again = Object.values(scene.timesSent()).filter((times) => times > 1);
    expect(again.length).toBeGreaterThan(0);
    // Sends in flight, and those answered in the last 100 ms: none here.
    expect(again.length).toBeLessThanOrEqual(5);
    expect(before).toBeGreaterThan(30);
  });

  it('its claims are released at once if no other server uses the store', async () => {
    const { id } = await scene.publishTo(10);
    const first = scene.deliveries();
    const nowMs = scene.time.now();
    await first.claimPlans({ nowMs, untilMs: nowMs + 3_600_000, limit: 10, except: [] });
    scene.start({ isAlone: true });
    await seconds(1);
    await scene.expectAccepted(id, 10);
  });
});

describe('a server that is stopped', () => {
  it('waits for sends in flight, and leaves the rest to the next server', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 20 };
    scene.atOnce = 5;
    const { instance, id } = await scene.publishTo(100);
    scene.answer = () => ({ outcome: accepted, afterMs: 300 });
    const pipeline = scene.start();
    await seconds(2);
    let isStopped = false;
    void pipeline.stop().then(() => {
      isStopped = true;
    });
    await seconds(1);
    expect(isStopped).toBe(true);
    expect(scene.inFlight.get(`${instance} fcm`)).toBe(0);
    const sent = scene.sends.length;
    await seconds(30);
    expect(scene.sends).toHaveLength(sent);
    scene.start();
    await seconds(10);
    await scene.expectAccepted(id, 100);
    expect(Object.values(scene.timesSent())).toEqual(Array(100).fill(1));
  });

  it('stops within 15 s even if gateway and store hang', async () => {
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

describe('while the store is away', () => {
  it('the failure is reported, and nothing is lost', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 10);
    const pipeline = scene.start();
    await seconds(1);
    scene.isStoreAway = true;
    const id = await scene.publish(instance);
    pipeline.wake();
    await seconds(100);
    expect(scene.sends).toEqual([]);
    expect(scene.log).toContain('store failed: Error: the store is away');
    scene.isStoreAway = false;
    await seconds(2);
    expect(scene.log.at(-1)).toBe(`finished ${id}`);
    await scene.expectAccepted(id, 10);
  });

  it('no device is sent to twice if the store is back before claims expire', async () => {
    const { id } = await scene.publishTo(10);
    scene.answer = () => ({ outcome: accepted, afterMs: 1_000 });
    scene.start();
    await scene.time.advance(500);
    scene.isStoreAway = true;
    await seconds(40);
    scene.isStoreAway = false;
    await seconds(2);
    expect(scene.sends).toHaveLength(10);
    await scene.expectAccepted(id, 10);
  });

  it('no device is sent to twice if claims have expired, and no other server took them', async () => {
    const { id } = await scene.publishTo(10);
    scene.answer = () => ({ outcome: accepted, afterMs: 1_000 });
    const pipeline = scene.start();
    await scene.time.advance(500);
    scene.isStoreAway = true;
    await scene.time.advance(119_400);
    scene.isStoreAway = false;
    // Jobs are claimed before the results are stored.
    pipeline.wake();
    await seconds(3);
    expect(scene.sends).toHaveLength(10);
    await scene.expectAccepted(id, 10);
  });

  it('another server continues, and the first does not continue its job', async () => {
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
    // The claim is extended after 20 s. Later, nothing is sent whose outcome might come too late.
    await seconds(75);
    const { claimMs, extendMs, sendMs } = deliveryLimits;
    const sentByFirst = scene.sends.length;
    expect(sentByFirst).toBeLessThanOrEqual((extendMs + claimMs - sendMs) / 1000 + 1);
    await seconds(45);
    isCutOff = false;
    await seconds(600);
    await scene.expectAccepted(id, 200);
    // The sends of the first server after it was cut off, whose results it could not store.
    expect(scene.sends.length).toBeLessThanOrEqual(200 + sentByFirst - 29);
    for (const pipeline of [first, second]) expect(pipeline.figures().jobs).toBe(0);
  });

  it('nothing is sent whose claim may expire before the outcome is known', async () => {
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

describe('a cancelled publish', () => {
  it('sends nothing but what is in flight', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 40 };
    scene.atOnce = 5;
    const { instance, id } = await scene.publishTo(100);
    scene.answer = () => ({ outcome: accepted, afterMs: 300 });
    scene.start();
    await scene.time.advance(700);
    await scene.publishes.cancel({ instance, id, nowMs: scene.time.now() });
    await seconds(30);
    const sent = scene.sends.length;
    // The page in progress, and the devices of the next that were sent to before the server knew.
    expect(sent).toBeLessThanOrEqual(25);
    const { accepted: count, cancelled } = await scene.counts(id);
    expect(count).toBe(sent);
    expect(cancelled).toBeGreaterThan(0);
  });
});
