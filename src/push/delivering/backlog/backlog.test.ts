import { beforeEach, describe, expect, it } from 'bun:test';
import { GAVE_WAY } from '../../backlog-store.ts';
import type { Outcome } from '../../gateway.ts';
import type { PublishId } from '../../model/publish.ts';
import { GIVE_WAY_WAIT_MS } from '../limits.ts';
import type { Pipeline } from '../pipeline.ts';
import { accepted, PipelineScene, type SceneSend, tryAgain } from '../pipeline-scene.fixture.ts';

const refusedKey: Outcome = {
  result: 'not-authorised',
  reason: 'InvalidProviderToken',
  words: '',
};

let scene: PipelineScene;
let pipeline: Pipeline;
/** Another server that plans the publishes, if there is one. */
let planning: Pipeline | undefined;
let instance: number;
let isRoomLimited = true;
beforeEach(() => {
  isRoomLimited = true;
  planning = undefined;
  scene = new PipelineScene();
  // Room for 30 publishes of this size.
  scene.pendingBytesMax = 30 * bodyBytes(['aaa']);
  instance = scene.newInstance();
});

function bodyBytes(names: readonly string[]): number {
  return Buffer.byteLength(
    JSON.stringify({ interests: names, apns: { aps: {} }, fcm: {}, web: {} }),
  );
}

/** Publishes as the push API does. `undefined`: there was no room. */
async function publish(name: string): Promise<PublishId | undefined> {
  const target = { kind: 'interests', names: [name] } as const;
  const payloads = { apns: { aps: {} }, fcm: {}, web: {} };
  const before = scene.publishes.all().length;
  let id = await scene.publish(instance, payloads, target);
  const pending = scene.publishes.pendingBytes(instance);
  if (scene.publishes.all().length > before) {
    if (isRoomLimited && pending >= scene.pendingBytesMax * 0.8) void pipeline.makeRoom(instance);
    (planning ?? pipeline).wake(1);
    return id;
  }
  const room = pipeline.makeRoom(instance, bodyBytes([name]));
  await scene.time.advance(GIVE_WAY_WAIT_MS);
  await room;
  id = await scene.publish(instance, payloads, target);
  return scene.publishes.all().length > before ? id : undefined;
}

/** Publishes again and again, every 20 ms. Each name has its devices. */
async function publishEach(times: number, ...names: readonly string[]) {
  const ids: Record<string, PublishId[]> = {};
  let refused = 0;
  for (let done = 0; done < times; done++) {
    for (const name of names) {
      const id = await publish(name);
      if (id === undefined) refused++;
      else ids[name] = [...(ids[name] ?? []), id];
      await scene.time.advance(20);
    }
  }
  await scene.time.advance(1_000);
  return { ids, refused };
}

const sendsTo = (device: string) => scene.sends.filter((send: SceneSend) => send.device === device);

describe('a full backlog', () => {
  it('of a dead browser refuses nothing, and all publishes to others are delivered', async () => {
    const dead = await scene.register(instance, 'web', { interests: ['bad'] });
    const good = await scene.register(instance, 'web', { interests: ['fin'] });
    scene.answer = ({ device }) => (device === dead ? tryAgain('device') : accepted);
    pipeline = scene.start();
    const { ids, refused } = await publishEach(80, 'bad', 'fin');
    expect(refused).toBe(0);
    expect(sendsTo(good)).toHaveLength(80);
    expect(scene.log.filter((line) => line.startsWith('fault'))).toEqual([]);

    const [oldest, newest] = [ids['bad']?.[0], ids['bad']?.at(-1)];
    expect(await scene.counts(oldest as PublishId, 'web')).toEqual({
      state: 'finished',
      planned: 1,
      expired: 1,
    });
    expect(await scene.reasons(oldest as PublishId)).toEqual([
      { platform: 'web', reason: GAVE_WAY, devices: 1 },
    ]);
    expect(await scene.counts(newest as PublishId, 'web')).toMatchObject({ retrying: 1 });
    // From 80 % of the room on, until 70 %.
    const gone = pipeline.figures().gaveWay.web;
    expect(gone).toBeGreaterThan(80 - 30 * 0.8);
    expect(gone).toBeLessThanOrEqual(80 - 30 * 0.7 + 1);
  });

  it('of a refused key refuses nothing, and what is left is delivered once the key works', async () => {
    const phone = await scene.register(instance, 'apns', { interests: ['bad'] });
    const good = await scene.register(instance, 'fcm', { interests: ['fin'] });
    let works = false;
    scene.answer = ({ platform }) => (platform === 'apns' && !works ? refusedKey : accepted);
    pipeline = scene.start();
    const { ids, refused } = await publishEach(80, 'bad', 'fin');
    expect(refused).toBe(0);
    expect(sendsTo(good)).toHaveLength(80);
    expect(pipeline.figures().gaveWay).toMatchObject({ fcm: 0, web: 0 });

    works = true;
    scene.useGateways(instance);
    pipeline.wake();
    await scene.time.advance(30_000);
    const delivered = (ids['bad'] ?? []).slice(-20);
    for (const id of delivered) await scene.expectAccepted(id, 1, 'apns');
    expect(sendsTo(phone).length).toBeGreaterThan(20);
  });

  it('takes the room of the platform that has most of it', async () => {
    await scene.register(instance, 'web', { interests: ['aaa'] });
    await scene.register(instance, 'fcm', { interests: ['bbb'] });
    scene.answer = () => tryAgain('device');
    pipeline = scene.start();
    isRoomLimited = false;
    await publishEach(5, 'bbb');
    isRoomLimited = true;
    await publishEach(60, 'aaa');
    expect(pipeline.figures().gaveWay).toMatchObject({ fcm: 0 });
  });

  it('of publishes that were not tried yet refuses more, after waiting for at most 2 s', async () => {
    await scene.register(instance, 'web', { interests: ['bad'] });
    scene.answer = () => ({ outcome: accepted, afterMs: 60_000 });
    pipeline = scene.start();
    const { refused } = await publishEach(32, 'bad');
    expect(refused).toBeGreaterThan(0);
    expect(pipeline.figures().gaveWay.web).toBe(0);
  });

  it('lets a publish wait for room also right after a look that found none', async () => {
    await scene.register(instance, 'web', { interests: ['bad'] });
    let works = false;
    scene.answer = () => ({ outcome: accepted, afterMs: works ? 0 : 1_000 });
    pipeline = scene.start();
    isRoomLimited = false;
    for (let done = 0; done < 30; done++) await publish('bad');
    await scene.time.advance(100);
    expect(await pipeline.makeRoom(instance, 0)).toBe(false);
    works = true;
    const room = pipeline.makeRoom(instance, bodyBytes(['bad']));
    await scene.time.advance(1_500);
    expect(await room).toBe(true);
  });

  it('is seen by other servers, whose jobs then give way too instead of waiting in memory', async () => {
    await scene.register(instance, 'apns', { interests: ['bad'] });
    scene.answer = () => refusedKey;
    planning = scene.start();
    await scene.time.advance(1_000);
    pipeline = scene.start();
    const { refused } = await publishEach(80, 'bad');
    expect(refused).toBe(0);
  });
});
