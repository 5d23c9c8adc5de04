import { beforeEach, describe, expect, it } from 'bun:test';
import { Random } from '../../../testing/random.ts';
import type { Outcome } from '../gateway.ts';
import type { DeviceId, Platform } from '../model/device.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

/** Hostile devices: accepted once, and from then on their gateway gives the attacker's answer. */

let scene: PipelineScene;
let instance: number;
beforeEach(() => {
  scene = new PipelineScene();
  instance = scene.newInstance();
});

const start = () => scene.start({ random: new Random(1).next });

const seconds = (count: number) => scene.time.advance(count * 1000);

const HONEST = { kind: 'interests', names: ['honest'] } as const;
const HOSTILE = { kind: 'interests', names: ['hostile'] } as const;

const refused: Outcome = { result: 'not-authorised', reason: 'http-403', words: '' };

const evils: readonly (readonly [string, Outcome])[] = [
  ['are refused', refused],
  ['answer 503', tryAgain('gateway')],
  ['answer 503 and want to be left alone', tryAgain('gateway', 900_000)],
  ['answer 429 and want to be left alone', tryAgain('device', 900_000)],
];

async function hostileDevices(platform: Platform, count: number, outcome: Outcome): Promise<void> {
  const ids = await scene.registerMany(instance, platform, count, {
    interests: ['hello', 'hostile'],
  });
  const hostile = new Set<string>(ids);
  scene.answer = ({ device }) => ({
    outcome: hostile.has(device) ? outcome : accepted,
    afterMs: 20,
  });
}

async function honest(platform: Platform): Promise<readonly DeviceId[]> {
  return await scene.registerMany(instance, platform, 10, { interests: ['hello', 'honest'] });
}

/** The longest time from `sinceMs` until a device is sent to. */
function latestMs(ids: readonly DeviceId[], sinceMs: number): number {
  return Math.max(
    ...ids.map((id) => {
      const sent = scene.sends.find(({ device, atMs }) => device === id && atMs >= sinceMs);
      return (sent?.atMs ?? Number.POSITIVE_INFINITY) - sinceMs;
    }),
  );
}

// The notifications of APNs and of FCM have one route each, and those of browsers one for each host.
describe.each<Platform>(['fcm', 'web'])('devices of %s', (platform) => {
  // More than are counted, 100, only once.
  const counts = platform === 'web' ? [3, 60, 110] : [3, 60];

  it.each(
    evils.flatMap(([what, outcome]) => counts.map((count) => [count, what, outcome] as const)),
  )('are reached at once beside %i hostile devices that %s', async (count, _, outcome) => {
    await hostileDevices(platform, count, outcome);
    const ids = await honest(platform);
    const pipeline = start();
    for (let round = 0; round < 3; round++) {
      const sinceMs = scene.passedMs;
      await scene.publish(instance);
      pipeline.wake();
      await seconds(70);
      expect(latestMs(ids, sinceMs)).toBeLessThan(500);
    }
    expect(scene.openCircuits).toEqual([]);
  });

  it.each(evils)('are reached soon behind 200 hostile devices that %s', async (_, outcome) => {
    scene.atOnce = 60;
    scene.useGateways(instance);
    await hostileDevices(platform, 200, outcome);
    const ids = await honest(platform);
    const pipeline = start();
    await scene.publish(instance);
    await seconds(70);
    expect(latestMs(ids, 0)).toBeLessThan(60_000);
    // They are known by now.
    const sinceMs = scene.passedMs;
    await scene.publish(instance);
    pipeline.wake();
    await seconds(70);
    expect(latestMs(ids, sinceMs)).toBeLessThan(3_000);
  });

  it.each(evils)(
    'are no longer kept waiting by others that %s on their own',
    async (_, outcome) => {
      await hostileDevices(platform, 60, outcome);
      const ids = await honest(platform);
      const pipeline = start();
      await scene.publish(instance, undefined, HOSTILE);
      for (let minutes = 0; minutes < 18; minutes += 3) {
        await seconds(180);
        const sinceMs = scene.passedMs;
        await scene.publish(instance, undefined, HONEST);
        pipeline.wake();
        await seconds(5);
        expect(latestMs(ids, sinceMs)).toBeLessThan(2_000);
      }
    },
  );

  it.each(evils)(
    'are reached soon beside 120 that turn back again and again and %s',
    async (_, outcome) => {
      await hostileDevices(platform, 120, outcome);
      const answer = scene.answer;
      let isHostile = false;
      scene.answer = (send) => (isHostile ? answer(send) : accepted);
      const ids = await honest(platform);
      const pipeline = start();
      for (let round = 0; round < 4; round++) {
        const sinceMs = scene.passedMs;
        await scene.publish(instance);
        pipeline.wake();
        await seconds(70);
        expect(latestMs(ids, sinceMs)).toBeLessThan(500);
        isHostile = !isHostile;
      }
      expect(scene.openCircuits).toEqual([]);
    },
  );

  it('keep their subscriptions when the credential is refused in the middle of a publish', async () => {
    const ids = await scene.registerMany(instance, platform, 10);
    const good = new Set<string>(ids.slice(0, 4));
    scene.answer = ({ device }) => (good.has(device) ? accepted : refused);
    const pipeline = start();
    await scene.publish(instance);
    await seconds(300);
    expect(scene.devices.of(instance)).toHaveLength(10);
    // The next publish shows that all devices are refused.
    scene.answer = () => refused;
    await scene.publish(instance);
    pipeline.wake();
    await seconds(5);
    expect(scene.openCircuits).toMatchObject([{ platform, why: 'credential' }]);
  });
});

describe('a hostile device', () => {
  it('gets only the connection share of untrusted devices once it is known', async () => {
    await hostileDevices('web', 20, tryAgain('device'));
    await honest('web');
    start();
    await scene.publish(instance);
    await seconds(60);
    const later = scene.sends.filter(({ atMs }) => atMs > 5_000);
    expect(later.length).toBeGreaterThanOrEqual(20);
    expect(later.filter(({ isTrusted }) => isTrusted)).toEqual([]);
  });
});

describe('a circuit that is closed within a second', () => {
  it('is not reported', async () => {
    await hostileDevices('web', 60, refused);
    await honest('web');
    const pipeline = start();
    await scene.publish(instance);
    await scene.time.advance(20);
    expect(pipeline.figures().openCircuits).toEqual([]);
    await seconds(10);
    expect(scene.log.filter((what) => /paused|resumed/.test(what))).toEqual([]);
  });

  it('is reported if it stays open for longer', async () => {
    await scene.registerMany(instance, 'web', 10);
    let isMended = false;
    scene.answer = () => (isMended ? accepted : refused);
    const pipeline = start();
    await scene.time.advance(900);
    await scene.publish(instance);
    pipeline.wake();
    await scene.time.advance(500);
    expect(pipeline.figures().openCircuits).toHaveLength(1);
    expect(scene.openCircuits).toEqual([]);
    await scene.time.advance(2_000);
    expect(scene.log).toContain('opened web for credential: http-403');
    isMended = true;
    await seconds(60);
    expect(scene.log).toContain('closed web');
  });
});
