import { beforeEach, describe, expect, it } from 'bun:test';
import { deliveryLimits, RECOVERY_DEVICES } from './limits.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

describe('a gateway', () => {
  it('never gets more concurrent sends than it accepts', async () => {
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
    expect(scene.inFlightMax.get(`${instance} fcm`)).toBe(7);
  });

  it('that always fails gets only probes, and few devices get a row for that', async () => {
    const { instance, id } = await scene.publishTo(100);
    let isMended = false;
    scene.answer = () => ({ outcome: isMended ? accepted : tryAgain('gateway'), afterMs: 20 });
    scene.atOnce = 10;
    scene.useGateways(instance);
    const pipeline = scene.start();
    await seconds(40);
    // Each device once, and four probes after each pause of 1, 2, 4, 8 and 16 s.
    expect(scene.sends.length).toBeLessThan(100 + 5 * 4);
    expect(scene.rowsWaiting()).toBeLessThan(5);
    expect(scene.log).toContain('opened fcm for gateway: trouble');
    expect(pipeline.figures().openCircuits).toMatchObject([
      { instance, platform: 'fcm', why: 'gateway', reason: 'trouble', origin: undefined },
    ]);
    isMended = true;
    await seconds(60);
    expect(scene.log).toContain('closed fcm');
    await scene.expectAccepted(id, 100);
    expect(pipeline.figures().openCircuits).toEqual([]);
  });

  it('that goes down between two publishes is found out soon, although answers to the first are late', async () => {
    const instance = scene.newInstance();
    const [late] = await scene.registerMany(instance, 'fcm', 10);
    const pipeline = scene.start();
    let isDown = false;
    scene.answer = ({ device }) => {
      if (isDown) return { outcome: tryAgain('gateway'), afterMs: 5 };
      return { outcome: accepted, afterMs: device === late ? 50 : 10 };
    };
    await scene.publish(instance);
    pipeline.wake();
    await scene.time.advance(40);
    isDown = true;
    const id = await scene.publish(instance);
    pipeline.wake();
    await seconds(5);
    expect(scene.log).toContain('opened fcm for gateway: trouble');
    isDown = false;
    await seconds(15);
    await scene.expectAccepted(id, 10);
  });

  it('that asks for a pause gets it', async () => {
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

  it('that refuses our credential is reported, and all devices are reached once it is accepted', async () => {
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
    expect(scene.log).toContain('closed apns');
    await scene.expectAccepted(id, 50, 'apns');
  });

  it('gets the retries that waited for a credential soon after it is accepted', async () => {
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
    // A page of two platforms: the devices of the other route are not held up, so each of these gets a row.
    await seconds(1_000);
    expect(scene.rowsWaiting()).toBeGreaterThan(1_000);
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(2);
    await scene.expectAccepted(id, 1_200, 'apns');
    // A pause that the gateway asked for is kept.
    expect(scene.timesSent()[late]).toBe(2);
  });

  it('that has recovered gets no retry earlier than it asked for', async () => {
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
    expect(scene.log).toContain('closed fcm');
    expect(scene.timesSent()[late]).toBe(1);
  });

  it('that was replaced, and still refuses the credential, does not get all retries again', async () => {
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
    // Sends in flight, four probes after each pause, and ten untried devices a second.
    expect(scene.sends.length - sentBefore).toBeLessThan(25 + 20 * 10);
  });

  it('that refuses the key of one browser only is believed after three attempts', async () => {
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
    'that refuses our credential for a while removes no device of %s',
    async (platform) => {
      const instance = scene.newInstance();
      await scene.registerMany(instance, platform, 20);
      const other = await scene.register(instance, platform);
      const id = await scene.publish(instance);
      // One device had failed by itself before, while the others were accepted.
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

  it('that accepted browsers with the key before says nothing about the new key', async () => {
    scene.atOnce = 2;
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'web', 3);
    await scene.publish(instance);
    const pipeline = scene.start();
    await seconds(1);
    expect(scene.sends).toHaveLength(3);
    // The operator sets another key, with which no browser has subscribed.
    scene.answer = () => ({ result: 'not-authorised', reason: 'http-403', words: '' });
    scene.useGateways(instance);
    const id = await scene.publish(instance);
    pipeline.wake();
    await seconds(50);
    expect(Math.max(...Object.values(scene.timesSent()))).toBeGreaterThanOrEqual(4);
    expect(await scene.counts(id, 'web')).not.toHaveProperty('pruned');
  });

  it('that refuses a publish for every device gets only some of them', async () => {
    scene.atOnce = 2;
    const { instance, id } = await scene.publishTo(50);
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
    await scene.expectAccepted(other, 50);
    expect(scene.log).toContain(`refused ${id} fcm INVALID_ARGUMENT`);
  });

  it('that never answers is given up, and the device is retried', async () => {
    const { id } = await scene.publishTo(2);
    let first = true;
    scene.answer = () => {
      if (!first) return accepted;
      first = false;
      return { outcome: accepted, afterMs: undefined };
    };
    scene.start();
    await seconds(200);
    expect(scene.log).toContain('fault: Error: a gateway gives no outcome');
    await scene.expectAccepted(id, 2);
    expect(Object.values(scene.timesSent()).sort()).toEqual([1, 2]);
  });

  it('that throws is reported, and the device is retried', async () => {
    const { id } = await scene.publishTo(1);
    let times = 0;
    scene.answer = () => {
      times += 1;
      if (times === 1) throw new Error('oh');
      return accepted;
    };
    scene.start();
    await seconds(5);
    expect(scene.log).toContain('fault: Error: oh');
    await scene.expectAccepted(id, 1);
  });

  it('gets no more sends per second than its rate', async () => {
    const instance = scene.newInstance();
    await scene.registerMany(instance, 'fcm', 300);
    await scene.publish(instance);
    const rate = 50;
    scene.start({ rates: { apns: rate, fcm: rate, web: rate } });
    await seconds(4);
    // A burst of one second, and then 50 per second.
    expect(Math.abs(scene.sends.length - 250)).toBeLessThanOrEqual(2);
    await seconds(2);
    expect(scene.sends).toHaveLength(300);
  });
});

describe('cancelling and changed tokens', () => {
  it('cancelling a finished publish changes nothing', async () => {
    const { instance, id } = await scene.publishTo(1);
    const pipeline = scene.start();
    await seconds(1);
    const ended = { state: 'finished', planned: 1, accepted: 1 };
    expect(await scene.counts(id)).toEqual(ended);
    const status = await scene.publishes.status({ instance, id, nowMs: scene.time.now() });
    expect(await scene.publishes.cancel({ instance, id, nowMs: scene.time.now() })).toEqual(status);
    pipeline.wake();
    await seconds(10);
    expect(await scene.counts(id)).toEqual(ended);
    expect(scene.sends).toHaveLength(1);
  });

  it('a publish cancelled while its gateway fails is not sent later', async () => {
    const { instance, id } = await scene.publishTo(10);
    let isMended = false;
    scene.answer = () =>
      isMended ? accepted : { result: 'not-authorised', reason: 'x', words: '' };
    const pipeline = scene.start();
    await seconds(600);
    await scene.publishes.cancel({ instance, id, nowMs: scene.time.now() });
    await seconds(100);
    const sent = scene.sends.length;
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(600);
    expect(scene.sends).toHaveLength(sent);
    expect(await scene.counts(id)).toEqual({ state: 'cancelled', planned: 10, cancelled: 10 });
  });

  it('a publish that waited for its gateway uses the new token of the device', async () => {
    const instance = scene.newInstance();
    const device = await scene.register(instance, 'fcm');
    await scene.publish(instance);
    let isMended = false;
    scene.answer = () =>
      isMended ? accepted : { result: 'not-authorised', reason: 'x', words: '' };
    const pipeline = scene.start();
    await seconds(600);
    const renewed = { token: 'renewed', identity: 'renewed' };
    await scene.devices.setToken({ instance, id: device, ...renewed, nowMs: scene.time.now() });
    await seconds(100);
    isMended = true;
    scene.useGateways(instance);
    pipeline.wake();
    await seconds(60);
    expect(scene.sends.at(-1)?.token).toBe('renewed');
    expect(scene.rowsWaiting()).toBe(0);
  });
});
