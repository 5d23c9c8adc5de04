import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeviceId } from '../model/device.ts';
import type { PublishId } from '../model/publish.ts';
import type { Pipeline } from './pipeline.ts';
import { accepted, PipelineScene, type SceneSend, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
let instance: number;
/** Fails, at first. Three others are accepted. */
let device: DeviceId;
let pipeline: Pipeline;

beforeEach(async () => {
  scene = new PipelineScene();
  instance = scene.newInstance();
  [device] = (await scene.registerMany(instance, 'web', 4)) as [DeviceId];
  pipeline = scene.start();
});

const seconds = (count: number) => scene.time.advance(count * 1000);
const sends = (): readonly SceneSend[] => scene.sends.filter((send) => send.device === device);

/** Makes what the gateway says about the device. */
function says(answer: (send: SceneSend) => ReturnType<PipelineScene['answer']>): void {
  scene.answer = (send) => (send.device === device ? answer(send) : accepted);
}

async function publish(count: number, everyMs = 100, payloads?: object): Promise<PublishId[]> {
  const ids: PublishId[] = [];
  for (let index = 0; index < count; index++) {
    ids.push(await scene.publish(instance, payloads));
    pipeline.wake();
    await scene.time.advance(everyMs);
  }
  return ids;
}

async function expectAllAccepted(ids: readonly PublishId[], planned = 4): Promise<void> {
  for (const id of ids) await scene.expectAccepted(id, planned, 'web');
}

describe('a device that asked for a pause', () => {
  it('gets no request until then, then one publish per second in order; others get theirs at once', async () => {
    says(({ atMs }) => (atMs < 12_000 ? tryAgain('device', 12_000) : accepted));
    const ids = await publish(8);
    expect(scene.sends).toHaveLength(1 + 8 * 3);
    await seconds(30);
    expect(sends().map((send) => send.publish)).toEqual([ids[0] as PublishId, ...ids]);
    const [first, ...others] = sends().slice(1);
    expect(first?.atMs).toBeWithin(12_000, 12_300);
    others.forEach(({ atMs }, index) => {
      expect(atMs - (first?.atMs ?? 0)).toBeWithin(
        (index + 1) * 1000 - 100,
        (index + 1) * 1000 + 300,
      );
    });
    await expectAllAccepted(ids);
  });

  it('gets it also from a gateway that answers for all with trouble, as long as others are accepted', async () => {
    await publish(1);
    says(({ atMs }) => (atMs < 12_000 ? tryAgain('gateway', 12_000) : accepted));
    const ids = await publish(8);
    expect(sends()).toHaveLength(2);
    await seconds(30);
    expect(sends()).toHaveLength(2 + 8);
    await expectAllAccepted(ids);
  });

  it('keeps it over a crash, and another server keeps it, too', async () => {
    says(({ atMs }) => (atMs < 60_000 ? tryAgain('device', 60_000) : accepted));
    const ids = await publish(2, 1_000);
    scene.kill();
    pipeline = scene.start();
    scene.start();
    ids.push(...(await publish(2, 1_000)));
    await seconds(50);
    expect(sends()).toHaveLength(1);
    await seconds(20);
    expect(sends()).toHaveLength(5);
    await expectAllAccepted(ids);
  });

  it('gets at most a day', async () => {
    says(({ atMs }) => (atMs < 3_000 ? tryAgain('device', 1e9) : accepted));
    const [id] = await publish(1);
    const waiting = scene.publishes.find(instance, id as PublishId)?.pages[0]?.fates;
    await seconds(1);
    const [fate] = [...(waiting?.values() ?? [])].filter(({ state }) => state === 'retrying');
    expect(fate?.dueAtMs).toBeWithin(scene.time.now() + 86_300_000, scene.time.now() + 86_400_001);
    expect(fate).toMatchObject({ reason: 'device-paused', words: 'trouble', attempts: 1 });
  });

  it('gets what waits at once when it has a new token', async () => {
    says(({ token }) => (token === 'new' ? accepted : tryAgain('device', 3_600_000)));
    const ids = await publish(3);
    await seconds(5);
    expect(sends()).toHaveLength(1);
    const nowMs = scene.time.now();
    await scene.devices.setToken({ instance, id: device, token: 'new', identity: 'new', nowMs });
    await seconds(10);
    expect(sends().filter(({ token }) => token === 'new')).toHaveLength(3);
    await expectAllAccepted(ids);
  });

  it('does not wait for longer if the clock is set back', async () => {
    says(({ atMs }) => (atMs < 12_000 ? tryAgain('device', 12_000) : accepted));
    const ids = await publish(2, 1_000);
    scene.time.setClock(-3_600_000);
    says(() => accepted);
    await seconds(20);
    expect(sends()).toHaveLength(3);
    await expectAllAccepted(ids);
  });
});

describe('a device that alone fails for good', () => {
  it('gets few requests, however many publishes there are', async () => {
    says(() => tryAgain('gateway'));
    const ids = await publish(12, 400);
    expect(sends().length).toBeLessThanOrEqual(6);
    expect(scene.sends).toHaveLength(sends().length + 12 * 3);
    await seconds(3_600);
    // 1, 2, 4 … 1,024 s and 1 h.
    expect(sends().length).toBeLessThan(16);
    for (const id of ids) expect((await scene.counts(id, 'web'))['retrying']).toBe(1);
  });

  it('is forgiven when it is accepted', async () => {
    let fails = true;
    says(() => (fails ? tryAgain('device') : accepted));
    const ids = await publish(5, 10_000);
    fails = false;
    await seconds(60);
    await expectAllAccepted(ids);
    const before = sends().length;
    await publish(3);
    expect(sends()).toHaveLength(before + 3);
    fails = true;
    const again = await publish(1, 500);
    fails = false;
    await seconds(1);
    await expectAllAccepted(again);
  });

  it('gets one probe at a time', async () => {
    says(({ atMs }) =>
      atMs < 1_000 ? tryAgain('device', 20_000) : { outcome: accepted, afterMs: 8_000 },
    );
    const ids = await publish(5);
    await seconds(27);
    expect(sends()).toHaveLength(2);
    await seconds(30);
    await expectAllAccepted(ids);
    expect(sends()).toHaveLength(6);
  });

  it('lets at most 100 publishes wait: the oldest expires', async () => {
    says(({ atMs }) => (atMs < 600_000 ? tryAgain('device', 3_600_000) : accepted));
    const ids = await publish(102, 20);
    await seconds(20);
    const states = await Promise.all(ids.map((id) => scene.counts(id, 'web')));
    expect(states.filter(({ state }) => state === 'finished')).toHaveLength(2);
    for (const id of ids.slice(0, 2)) {
      expect(await scene.reasons(id)).toEqual([
        { platform: 'web', reason: 'too-many-for-device', devices: 1 },
      ]);
    }
    expect(sends()).toHaveLength(1);
    expect(pipeline.figures()).toMatchObject({
      pausedDevices: 1,
      leftOut: { 'too-many-for-device': 2, 'retries-ended': 0 },
    });
    await seconds(3_600 + 120);
    expect(sends()).toHaveLength(101);
    await expectAllAccepted(ids.slice(2));
    expect(pipeline.figures().pausedDevices).toBe(0);
  });

  it('keeps a publish waiting only for as long as its time to live', async () => {
    says(() => tryAgain('device', 600_000));
    const short = { web: { time_to_live: 60 } };
    const ids = [
      ...(await publish(2, 100, short)),
      ...(await publish(1, 100, { web: { time_to_live: 0 } })),
    ];
    await seconds(2);
    for (const id of ids) {
      expect(await scene.counts(id, 'web')).toEqual({
        state: 'finished',
        planned: 4,
        accepted: 3,
        expired: 1,
      });
    }
    expect(sends()).toHaveLength(1);
  });

  it('leaves no publish unfinished for long if it was never accepted', async () => {
    const fake = await scene.register(instance, 'web', { isNew: true });
    scene.answer = (send) => (send.device === fake ? tryAgain('device') : accepted);
    await publish(1, 2_000_000);
    const ids = await publish(20, 10_000);
    for (const id of ids) {
      expect(await scene.counts(id, 'web')).toMatchObject({ state: 'finished', failed: 1 });
    }
  });
});

describe('a gateway in trouble', () => {
  it('pauses no device on its own', async () => {
    const many = await scene.registerMany(instance, 'web', 200);
    scene.answer = () => tryAgain('gateway');
    const [id] = await publish(1);
    await seconds(300);
    expect(scene.devices.of(instance).filter(({ pause }) => pause !== undefined)).toEqual([]);
    const fates = scene.publishes
      .find(instance, id as PublishId)
      ?.pages.flatMap((page) => [...page.fates.values()]);
    expect(fates?.filter(({ reason }) => reason === 'device-paused')).toEqual([]);
    scene.answer = () => accepted;
    await seconds(120);
    await scene.expectAccepted(id as PublishId, many.length + 4, 'web');
  });

  it('pauses no device if it breaks the connection', async () => {
    await publish(1);
    scene.answer = () => ({
      result: 'try-again',
      reason: 'broken',
      afterMs: undefined,
      scope: 'connection',
    });
    await publish(3);
    await seconds(120);
    expect(scene.devices.of(instance).filter(({ pause }) => pause !== undefined)).toEqual([]);
  });
});
