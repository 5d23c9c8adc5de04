import { beforeEach, describe, expect, it } from 'bun:test';
import type { JobResults } from '../../model/delivery.ts';
import { deliveryLimits } from '../limits.ts';
import { accepted, PipelineScene } from '../pipeline-scene.fixture.ts';
import type { DeliveryStore } from '../ports.ts';

let scene: PipelineScene;
let instance: number;
beforeEach(() => {
  scene = new PipelineScene();
  scene.atOnce = 10;
  instance = scene.newInstance();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

/** A store that records when results were stored, and how many. */
function watchedStore(): { readonly store: DeliveryStore; readonly kept: [string, number][] } {
  const kept: [string, number][] = [];
  const store = new Proxy<DeliveryStore>(scene.deliveries(), {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        if (name === 'settlePart' || name === 'settle') {
          const [{ results }] = args as [JobResults];
          kept.push([`${name} ${scene.passedMs}`, results.length]);
        }
        return await Reflect.apply(method, target, args);
      };
    },
  });
  return { store, kept };
}

describe('the results of a page', () => {
  it('are stored 90 ms after the first of them, and then with the page', async () => {
    await scene.registerMany(instance, 'fcm', 20);
    const id = await scene.publish(instance, { fcm: {} });
    scene.answer = () => ({ outcome: accepted, afterMs: 200 });
    const { store, kept } = watchedStore();
    scene.start({ store });
    await seconds(1);
    expect(kept).toEqual([
      ['settlePart 290', 10],
      ['settle 400', 10],
    ]);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 20, accepted: 20 });
  });

  it('are stored once if all come at the same time', async () => {
    await scene.registerMany(instance, 'fcm', 20);
    await scene.publish(instance, { fcm: {} });
    scene.answer = () => ({ outcome: accepted, afterMs: 40 });
    const { store, kept } = watchedStore();
    scene.start({ store });
    await seconds(1);
    expect(kept).toEqual([['settle 80', 20]]);
  });

  it('are stored along with those of another page that is done', async () => {
    await scene.registerMany(instance, 'fcm', 2);
    const slow = await scene.register(instance, 'apns');
    await scene.register(instance, 'apns');
    await scene.publish(instance, { apns: { aps: {} } });
    await scene.publish(instance, { fcm: {} });
    scene.answer = ({ platform, device }) => {
      if (device === slow) return { outcome: accepted, afterMs: 500 };
      return { outcome: accepted, afterMs: platform === 'fcm' ? 60 : 10 };
    };
    const { store, kept } = watchedStore();
    scene.start({ store });
    await seconds(1);
    expect(kept).toEqual([
      ['settlePart 60', 1],
      ['settle 60', 2],
      ['settle 500', 1],
    ]);
  });

  it('are stored later if the store fails, and no device is sent to twice', async () => {
    await scene.registerMany(instance, 'fcm', 20);
    const id = await scene.publish(instance, { fcm: {} });
    scene.answer = ({ atMs }) => ({ outcome: accepted, afterMs: atMs === 0 ? 10 : 5_000 });
    scene.start();
    await scene.time.advance(50);
    scene.isStoreAway = true;
    await seconds(2);
    scene.isStoreAway = false;
    await seconds(2);
    expect(await scene.counts(id)).toEqual({ state: 'delivering', planned: 20, accepted: 10 });
    await seconds(5);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 20, accepted: 20 });
    expect(scene.sends).toHaveLength(20);
  });

  it('make room for other pages before the last of them', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 10, platformDevices: 10, jobsAtOnce: 1 };
    const [slow] = [await scene.register(instance, 'fcm')];
    await scene.registerMany(instance, 'fcm', 49);
    const id = await scene.publish(instance, { fcm: {} });
    scene.answer = ({ device }) => ({ outcome: accepted, afterMs: device === slow ? 60_000 : 10 });
    scene.start();
    await seconds(5);
    expect(await scene.counts(id)).toEqual({ state: 'delivering', planned: 50, accepted: 49 });
  });

  it('show that the publish was cancelled, and nothing more of the page is sent', async () => {
    await scene.registerMany(instance, 'fcm', 100);
    const id = await scene.publish(instance, { fcm: {} });
    scene.answer = () => ({ outcome: accepted, afterMs: 200 });
    scene.start();
    await seconds(0.5);
    await scene.publishes.cancel({ instance, id, nowMs: scene.time.now() });
    await seconds(5);
    expect(scene.sends.length).toBeLessThanOrEqual(50);
    const { accepted: sent, cancelled } = await scene.counts(id);
    expect([sent, cancelled]).toEqual([scene.sends.length, 100 - scene.sends.length]);
  });
});
