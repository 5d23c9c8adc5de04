import { beforeEach, describe, expect, it } from 'bun:test';
import { Random } from '../../../testing/random.ts';
import type { Outcome } from '../gateway.ts';
import type { DeviceId, Platform } from '../model/device.ts';
import { deliveryLimits } from './limits.ts';
import { type Answer, accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
let instance: number;
beforeEach(() => {
  scene = new PipelineScene();
  instance = scene.newInstance();
});

/** Starts a pipeline with seeded randomness. */
const start = () => scene.start({ random: new Random(1).next });

const seconds = (count: number) => scene.time.advance(count * 1000);

const refused: Outcome = { result: 'not-authorised', reason: 'http-403', words: '' };
const hangs: Answer = { outcome: tryAgain('device'), afterMs: 15_000 };
const isNew = { isNew: true };

/** Registers fakes: untrusted devices for which the gateway gives the attacker's answer. */
async function fakes(
  platform: Platform,
  count: number,
  answer: Answer | Outcome,
  more: { readonly origin?: (index: number) => string } = {},
): Promise<ReadonlySet<string>> {
  const ids: DeviceId[] = [];
  for (let index = 0; index < count; index++) {
    const origin = more.origin === undefined ? {} : { origin: more.origin(index) };
    ids.push(await scene.register(instance, platform, { ...isNew, ...origin }));
  }
  const hostile = new Set<string>(ids);
  const before = scene.answer;
  scene.answer = (send) => (hostile.has(send.device) ? answer : before(send));
  return hostile;
}

/** When each device was first sent to after `sinceMs`. */
function reachedAtMs(ids: readonly DeviceId[], sinceMs = 0): readonly (number | undefined)[] {
  return ids.map(
    (id) => scene.sends.find(({ device, atMs }) => device === id && atMs >= sinceMs)?.atMs,
  );
}

async function publish(payloads: object = { apns: { aps: {} }, fcm: {}, web: {} }): Promise<void> {
  await scene.publish(instance, payloads);
}

// The notifications of APNs and of FCM have one route each, and those of browsers one for each host.
describe.each<Platform>(['apns', 'web'])('devices of %s that were accepted', (platform) => {
  it.each<[string, Outcome]>([
    ['are refused', refused],
    ['answer 503', tryAgain('gateway')],
    ['answer 503 and want to be left alone', tryAgain('gateway', 900_000)],
    ['answer 429', tryAgain('device', 900_000)],
    ['are gone', { result: 'token-gone', reason: 'gone', sinceMs: undefined }],
  ])('are reached at once beside fakes that %s', async (_, outcome) => {
    const first = await scene.registerMany(instance, platform, 3);
    const hostile = await fakes(platform, 300, outcome);
    const last = await scene.registerMany(instance, platform, 3);
    const pipeline = start();
    for (let round = 0; round < 3; round++) {
      const sinceMs = scene.passedMs;
      await publish();
      pipeline.wake();
      await seconds(1);
      for (const atMs of reachedAtMs([...first, ...last], sinceMs)) {
        expect(atMs).toBeLessThan(sinceMs + 500);
      }
    }
    expect(scene.openCircuits).toEqual([]);
    expect(hostile.size).toBe(300);
  });

  it('are reached at once while fakes let their sends hang', async () => {
    const first = await scene.registerMany(instance, platform, 3);
    await fakes(platform, 600, hangs);
    const last = await scene.registerMany(instance, platform, 3);
    scene.atOnce = 100;
    scene.useGateways(instance);
    const pipeline = start();
    const lateMs: number[] = [];
    for (let round = 0; round < 6; round++) {
      const sinceMs = scene.passedMs;
      await publish();
      pipeline.wake();
      await seconds(4);
      for (const atMs of reachedAtMs([...first, ...last], sinceMs)) {
        lateMs.push((atMs ?? Number.POSITIVE_INFINITY) - sinceMs);
      }
    }
    expect(lateMs).toHaveLength(36);
    expect(Math.max(...lateMs)).toBeLessThan(500);
    expect(scene.openCircuits).toEqual([]);
    const most = scene.inFlightMax.get(`${instance} ${platform}`) ?? 0;
    expect(most).toBeLessThanOrEqual(75 + 6);
  });
});

describe('a device of a push service that nobody used before', () => {
  it('is reached at once while fakes hang at 60 others', async () => {
    await fakes('web', 1_200, hangs, { origin: (index) => `https://bad-${index % 60}.example` });
    scene.atOnce = 400;
    scene.useGateways(instance);
    const pipeline = start();
    for (let round = 0; round < 5; round++) {
      const origin = `https://good-${round}.example`;
      const honest = await scene.register(instance, 'web', { ...isNew, origin });
      const sinceMs = scene.passedMs;
      await publish();
      pipeline.wake();
      await seconds(4);
      const [atMs] = reachedAtMs([honest], sinceMs);
      expect(atMs).toBeLessThan(sinceMs + 500);
    }
  });
});

describe('devices of one push service that were accepted', () => {
  it('are reached at once while fakes hang at many others', async () => {
    // More routes than places: one untrusted device on each would take all places.
    scene.limits = { ...deliveryLimits, routes: 60 };
    const origin = 'https://good.example';
    await fakes('web', 500, hangs, { origin: (index) => `https://bad-${index % 50}.example` });
    const honest = await scene.registerMany(instance, 'web', 10, { origin });
    scene.atOnce = 40;
    scene.useGateways(instance);
    const pipeline = start();
    for (let round = 0; round < 5; round++) {
      const sinceMs = scene.passedMs;
      await publish();
      pipeline.wake();
      await seconds(4);
      for (const atMs of reachedAtMs(honest, sinceMs)) expect(atMs).toBeLessThan(sinceMs + 500);
    }
  });

  it('are reached at once while many others hang whose devices were accepted once', async () => {
    const origin = 'https://good.example';
    const honest = await scene.registerMany(instance, 'web', 10, { origin });
    const hostile = new Set<string>();
    for (let index = 0; index < 300; index++) {
      const at = { origin: `https://bad-${index % 5}.example` };
      hostile.add(await scene.register(instance, 'web', at));
    }
    scene.answer = ({ device }) => (hostile.has(device) ? hangs : accepted);
    scene.atOnce = 60;
    scene.useGateways(instance);
    const pipeline = start();
    for (let round = 0; round < 5; round++) {
      const sinceMs = scene.passedMs;
      await publish();
      pipeline.wake();
      await seconds(4);
      for (const atMs of reachedAtMs(honest, sinceMs)) expect(atMs).toBeLessThan(sinceMs + 500);
    }
  });

  it('do not wait for memory that fakes hold', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 100, platformDevices: 400 };
    await fakes('web', 2_500, hangs);
    const honest = await scene.registerMany(instance, 'web', 5, { interests: ['hello', 'vip'] });
    scene.atOnce = 40;
    scene.useGateways(instance);
    const pipeline = start();
    await publish({ web: {} });
    pipeline.wake();
    await seconds(10);
    for (let round = 0; round < 10; round++) {
      const sinceMs = scene.passedMs;
      await scene.publish(instance, { web: {} }, { kind: 'interests', names: ['vip'] });
      pipeline.wake();
      await seconds(3);
      for (const atMs of reachedAtMs(honest, sinceMs)) expect(atMs).toBeLessThan(sinceMs + 1_500);
      const { devices } = pipeline.figures();
      expect(devices).toBeLessThan(1_500);
    }
  });
});

describe.each<Platform>(['apns', 'fcm', 'web'])(
  'jobs of %s that have only fakes left',
  (platform) => {
    it('do not keep further publishes from honest devices', async () => {
      scene.limits = { ...deliveryLimits, instanceJobs: 3 };
      await fakes(platform, 5, hangs);
      const honest = await scene.registerMany(instance, platform, 5);
      const pipeline = start();
      for (let round = 0; round < 15; round++) {
        const sinceMs = scene.passedMs;
        await publish();
        pipeline.wake();
        await seconds(1);
        for (const atMs of reachedAtMs(honest, sinceMs)) expect(atMs).toBeLessThan(sinceMs + 500);
      }
    });
  },
);

describe('a fake', () => {
  it('is removed after three attempts while others are accepted', async () => {
    const honest = await scene.registerMany(instance, 'web', 5);
    const hostile = await fakes('web', 50, refused);
    const id = await scene.publish(instance, { web: {} });
    start();
    await seconds(60);
    expect(await scene.counts(id, 'web')).toEqual({
      state: 'finished',
      planned: 55,
      accepted: 5,
      pruned: 50,
    });
    expect(new Set([...hostile].map((device) => scene.timesSent()[device]))).toEqual(new Set([3]));
    expect(reachedAtMs(honest)).not.toContain(undefined);
  });

  it.each<Platform>(['apns', 'fcm', 'web'])(
    'of %s is given up but stays registered if others were accepted only long ago',
    async (platform) => {
      await scene.register(instance, platform, { interests: ['vip'] });
      await fakes(platform, 20, refused);
      const pipeline = start();
      await scene.publish(instance, undefined, { kind: 'interests', names: ['vip'] });
      pipeline.wake();
      await seconds(600);
      const id = await scene.publish(instance);
      pipeline.wake();
      await seconds(60);
      expect(await scene.counts(id, platform)).toEqual({
        state: 'finished',
        planned: 20,
        failed: 20,
      });
      expect(scene.devices.of(instance)).toHaveLength(21);
    },
  );

  it('whose gateway fails for it alone is given up within hours after the last acceptance of others', async () => {
    const vip = { kind: 'interests', names: ['vip'] } as const;
    await scene.register(instance, 'web', { interests: vip.names });
    await fakes('web', 20, tryAgain('gateway'));
    const pipeline = start();
    await scene.publish(instance, { web: {} }, vip);
    pipeline.wake();
    await seconds(10);
    const id = await scene.publish(instance, { web: {} });
    pipeline.wake();
    await seconds(5 * 3_600);
    expect(await scene.counts(id, 'web')).toEqual({ state: 'finished', planned: 20, failed: 20 });
  });

  it('whose gateway fails for it alone is given up after some minutes', async () => {
    await scene.register(instance, 'web', { interests: ['vip'] });
    await fakes('web', 5, tryAgain('gateway'));
    const pipeline = start();
    const id = await scene.publish(instance, { web: {} });
    for (let minutes = 0; minutes < 180; minutes++) {
      await scene.publish(instance, { web: {} }, { kind: 'interests', names: ['vip'] });
      pipeline.wake();
      await seconds(60);
    }
    expect(await scene.counts(id, 'web')).toEqual({ state: 'finished', planned: 5, failed: 5 });
    expect(scene.sends.length).toBeLessThan(180 + 5 * 11);
  });

  it('that refuses the whole publish does not keep it from other devices', async () => {
    scene.atOnce = 8;
    scene.useGateways(instance);
    // Three fakes in a row are answered before any honest device.
    scene.answer = () => ({ outcome: accepted, afterMs: 100 });
    await fakes('fcm', 10, { ...refused, result: 'refused', scope: 'publish' });
    await scene.registerMany(instance, 'fcm', 10);
    const warm = await scene.publish(instance, { fcm: {} });
    const pipeline = start();
    await seconds(5);
    expect(await scene.counts(warm)).toMatchObject({ accepted: 10, failed: 10 });
    const id = await scene.publish(instance, { fcm: {} });
    pipeline.wake();
    await seconds(5);
    expect(await scene.counts(id)).toMatchObject({ accepted: 10, failed: 10 });
  });
});

describe('an instance of which no device was ever accepted', () => {
  it.each<[string, Outcome]>([
    ['are refused', refused],
    ['answer 503', tryAgain('gateway')],
    ['answer 503 and want to be left alone', tryAgain('gateway', 900_000)],
  ])('reaches its devices within a minute behind fakes that %s', async (_, outcome) => {
    scene.atOnce = 20;
    scene.useGateways(instance);
    await fakes('web', 400, outcome);
    const honest = await scene.registerMany(instance, 'web', 10, isNew);
    await publish();
    start();
    await seconds(60);
    for (const atMs of reachedAtMs(honest)) expect(atMs).toBeLessThan(60_000);
    // The first accepted device closes the circuit.
    expect(scene.log.at(-1)).not.toContain('paused');
  });

  it('reaches all of its devices at once beside few fakes', async () => {
    const first = await scene.registerMany(instance, 'web', 5, isNew);
    await fakes('web', 40, refused);
    const last = await scene.registerMany(instance, 'web', 5, isNew);
    await publish();
    const pipeline = start();
    await seconds(1);
    for (const atMs of reachedAtMs([...first, ...last])) expect(atMs).toBeLessThan(500);
    await seconds(9);
    await publish();
    pipeline.wake();
    await seconds(1);
    for (const atMs of reachedAtMs([...first, ...last], 9_999)) expect(atMs).toBeLessThan(10_500);
  });

  it.each<[Platform, number]>([
    ['apns', 1],
    ['fcm', 1],
    ['web', 1],
    ['web', 200],
  ])(
    'reports within seconds that the credential of %s is wrong, with %i devices',
    async (platform, count) => {
      await scene.registerMany(instance, platform, count, isNew);
      let isMended = false;
      scene.answer = () => (isMended ? accepted : refused);
      const id = await scene.publish(instance);
      const pipeline = start();
      await seconds(10);
      expect(scene.openCircuits).toMatchObject([{ platform, why: 'credential', isUnproven: true }]);
      await seconds(300);
      expect(await scene.counts(id, platform)).not.toHaveProperty('failed');
      isMended = true;
      scene.useGateways(instance);
      pipeline.wake();
      await seconds(30);
      expect(await scene.counts(id, platform)).toEqual({
        state: 'finished',
        planned: count,
        accepted: count,
      });
    },
  );

  it('sends ten a second at most with a credential that is wrong', async () => {
    await scene.registerMany(instance, 'web', 1_500, isNew);
    scene.answer = () => refused;
    scene.atOnce = 20;
    scene.useGateways(instance);
    await publish();
    start();
    await seconds(60);
    const before = scene.sends.length;
    await seconds(60);
    expect(scene.sends.length - before).toBeLessThanOrEqual(610);
    // Only probed devices have rows.
    expect(scene.rowsWaiting()).toBeLessThan(1_300);
  });
});

describe('an instance whose devices were accepted', () => {
  it.each<Platform>(['apns', 'fcm', 'web'])(
    'reports within seconds that the credential of %s is not accepted any more, and delivers within a minute once it is',
    async (platform) => {
      const honest = await scene.registerMany(instance, platform, 30);
      await fakes(platform, 100, refused);
      let isMended = false;
      const before = scene.answer;
      scene.answer = (send) =>
        isMended || !honest.includes(send.device as DeviceId) ? before(send) : refused;
      const id = await scene.publish(instance);
      start();
      await seconds(3);
      expect(scene.openCircuits).toMatchObject([{ platform, why: 'credential' }]);
      expect(scene.openCircuits[0]?.isUnproven).toBeUndefined();
      await seconds(600);
      isMended = true;
      const mendedAtMs = scene.passedMs;
      await seconds(70);
      expect(scene.log).toContain(`closed ${platform}`);
      for (const atMs of reachedAtMs(honest, mendedAtMs)) {
        expect(atMs).toBeLessThan(mendedAtMs + 65_000);
      }
      expect(await scene.counts(id, platform)).toMatchObject({ accepted: 30 });
    },
  );

  it('reports it with one such device among fakes too', async () => {
    await scene.register(instance, 'web');
    await fakes('web', 50, { result: 'token-gone', reason: 'gone', sinceMs: undefined });
    let isMended = false;
    const before = scene.answer;
    scene.answer = (send) => {
      const answer = before(send);
      return answer === accepted && !isMended ? refused : answer;
    };
    const id = await scene.publish(instance, { web: {} });
    start();
    await seconds(10);
    expect(scene.openCircuits).toMatchObject([{ why: 'credential' }]);
    isMended = true;
    await seconds(60);
    expect(await scene.counts(id, 'web')).toMatchObject({ state: 'finished', accepted: 1 });
  });

  it('finds out within a minute that a gateway is back, although fakes wait in front', async () => {
    scene.limits = { ...deliveryLimits, pageDevices: 50, platformDevices: 200 };
    let isDown = true;
    const honest = await scene.registerMany(instance, 'fcm', 5, { interests: ['vip'] });
    scene.answer = () => (isDown ? tryAgain('gateway') : accepted);
    const pipeline = start();
    await scene.publish(instance, { fcm: {} }, { kind: 'interests', names: ['vip'] });
    pipeline.wake();
    await seconds(2);
    await fakes('fcm', 250, tryAgain('gateway'));
    await scene.publish(instance, { fcm: {} });
    pipeline.wake();
    await seconds(300);
    isDown = false;
    const backAtMs = scene.passedMs;
    await seconds(65);
    for (const atMs of reachedAtMs(honest, backAtMs)) expect(atMs).toBeLessThan(backAtMs + 65_000);
    expect(scene.log).toContain('closed fcm');
  });

  it('probes trusted devices to find out whether a gateway is back, however many fakes wait', async () => {
    await fakes('fcm', 250, tryAgain('gateway'));
    const honest = await scene.registerMany(instance, 'fcm', 20);
    let isDown = true;
    const before = scene.answer;
    scene.answer = (send) => (isDown ? tryAgain('gateway') : before(send));
    scene.atOnce = 20;
    scene.useGateways(instance);
    await publish();
    start();
    await seconds(120);
    const sinceMs = scene.passedMs;
    await seconds(120);
    const probes = scene.sends.filter(({ atMs }) => atMs >= sinceMs);
    const devices = new Set<string>(honest);
    expect(probes.filter(({ device }) => devices.has(device)).length).toBeGreaterThanOrEqual(4);
    isDown = false;
    await seconds(65);
    expect(scene.log).toContain('closed fcm');
  });

  it('pauses for as long as the gateway asks three of them to', async () => {
    const honest = new Set<string>(await scene.registerMany(instance, 'fcm', 10));
    await fakes('fcm', 10, tryAgain('gateway', 1_000));
    const before = scene.answer;
    scene.answer = (send) => {
      const answer = before(send);
      return answer === accepted && send.atMs < 1_000 ? tryAgain('gateway', 120_000) : answer;
    };
    const id = await scene.publish(instance, { fcm: {} });
    start();
    await seconds(1);
    const sent = scene.sends.length;
    await seconds(118);
    const after = scene.sends.slice(sent);
    expect(after.filter(({ device }) => honest.has(device))).toEqual([]);
    // Some untrusted devices at a time may still find that the gateway has recovered.
    expect(after.length).toBeLessThanOrEqual(10);
    await seconds(60);
    expect(await scene.counts(id)).toMatchObject({ accepted: 10 });
  });
});
