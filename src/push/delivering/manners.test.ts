import { beforeEach, describe, expect, it } from 'bun:test';
import { MemoryPreferences } from '../../../testing/memory-stores/devices.ts';
import type { DeviceId } from '../model/device.ts';
import type { Preferences } from '../model/preferences.ts';
import type { PublishId } from '../model/publish.ts';
import { PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

const HOUR_MS = 3_600_000;
const SHOWN = { fcm: { notification: { title: 'Hi' } } };

/** The scene begins at 08:00 UTC: 17:00 in Tokyo, 16:00 in Shanghai, 15:00 in Bangkok. */
let scene: PipelineScene;
let instance: number;
beforeEach(() => {
  scene = new PipelineScene();
  instance = scene.newInstance();
});

/** Alone, a server polls the store less often, which is most of the work of hours. */
const start = () => scene.start({ isAlone: true });

const hours = (count: number) => scene.time.advance(count * HOUR_MS);

async function device(preferences: Preferences = {}): Promise<DeviceId> {
  const id = await scene.register(instance, 'fcm');
  const changes = preferences;
  await new MemoryPreferences(scene.devices).setOfDevice({ instance, id, changes });
  return id;
}

/** Gives the instance other settings. */
function set(manners: PipelineScene['manners']): void {
  scene.manners = manners;
  scene.useGateways(instance);
}

const publish = (fields: object = {}, sendAtMs?: number) =>
  scene.publish(instance, { ...SHOWN, ...fields }, undefined, sendAtMs);

/** How many hours after the beginning each device was sent to, rounded down. */
const sentAfter = () =>
  scene.sends.map(({ device: id, atMs }) => [id, Math.floor(atMs / HOUR_MS)] as const);

const nextAt = async (id: PublishId) =>
  (await scene.publishes.status({ instance, id, nowMs: scene.time.now() }))?.nextAtMs;

describe('a publish at a local time', () => {
  it('reaches each zone at its time, each device once', async () => {
    const shanghai = await device({ timeZone: 'Asia/Shanghai' });
    const tokyo = await device({ timeZone: 'Asia/Tokyo' });
    const bangkok = await device({ timeZone: 'Asia/Bangkok' });
    // It is 18:00 in Tokyo at 09:00 UTC.
    const id = await publish({ sendAtLocal: '2027-01-15T18:00' });
    start();
    await hours(0.5);
    expect(scene.sends).toEqual([]);
    expect(await nextAt(id)).toBe(scene.startedAtMs + HOUR_MS);
    await hours(4);
    expect(sentAfter()).toEqual([
      [tokyo, 1],
      [shanghai, 2],
      [bangkok, 3],
    ]);
    await scene.expectAccepted(id, 3);
    expect(await nextAt(id)).toBeUndefined();
  });

  it('is sent at once where that time has passed', async () => {
    const tokyo = await device({ timeZone: 'Asia/Tokyo' });
    const berlin = await device({ timeZone: 'Europe/Berlin' });
    // It is 10:00 in Berlin at 09:00 UTC.
    await publish({ sendAtLocal: '2027-01-15T10:00' });
    start();
    await hours(0.5);
    expect(sentAfter()).toEqual([[tokyo, 0]]);
    await hours(1);
    expect(sentAfter()).toEqual([
      [tokyo, 0],
      [berlin, 1],
    ]);
  });

  it('uses the zone of the instance for a device whose zone is unknown, and UTC without one', async () => {
    await device();
    await device({ timeZone: 'Mars/Olympus' });
    await publish({ sendAtLocal: '2027-01-15T10:00' });
    start();
    await hours(3);
    expect(sentAfter().map(([, after]) => after)).toEqual([2, 2]);
    scene.sends.length = 0;
    set({ timeZone: 'Asia/Bangkok' });
    await publish({ sendAtLocal: '2027-01-15T19:00' });
    await hours(2);
    // 19:00 in Bangkok is 12:00 UTC.
    expect(sentAfter().map(([, after]) => after)).toEqual([4, 4]);
  });

  it('can be cancelled until a device is due', async () => {
    const tokyo = await device({ timeZone: 'Asia/Tokyo' });
    await device({ timeZone: 'Asia/Bangkok' });
    const id = await publish({ sendAtLocal: '2027-01-15T18:00' });
    start();
    await hours(1.5);
    await scene.publishes.cancel({ instance, id, nowMs: scene.time.now() });
    await hours(2);
    expect(sentAfter()).toEqual([[tokyo, 1]]);
    expect(await scene.counts(id)).toEqual({
      state: 'cancelled',
      planned: 2,
      accepted: 1,
      cancelled: 1,
    });
  });

  it('goes on after all servers crashed in between', async () => {
    const tokyo = await device({ timeZone: 'Asia/Tokyo' });
    const bangkok = await device({ timeZone: 'Asia/Bangkok' });
    const id = await publish({ sendAtLocal: '2027-01-15T18:00' });
    scene.start();
    await hours(1.5);
    scene.kill();
    scene.start();
    await hours(2);
    expect(sentAfter()).toEqual([
      [tokyo, 1],
      [bangkok, 3],
    ]);
    await scene.expectAccepted(id, 2);
  });

  it('has its time to live from when each device is due', async () => {
    await device({ timeZone: 'Asia/Tokyo' });
    await device({ timeZone: 'Asia/Bangkok' });
    const fcm = { notification: { title: 'Hi' }, time_to_live: 600 };
    const id = await publish({ fcm, sendAtLocal: '2027-01-15T18:00' });
    start();
    await hours(4);
    await scene.expectAccepted(id, 2);
    scene.answer = () => tryAgain('device');
    const second = await publish(
      { fcm, sendAtLocal: '2027-01-15T23:00' },
      Date.UTC(2027, 0, 15, 13),
    );
    // It is 23:00 in Bangkok at 16:00 UTC.
    await hours(4.5);
    expect(await scene.counts(second)).toMatchObject({ state: 'finished', expired: 2 });
  });

  it('is sent at most once to a device that fails and is retried', async () => {
    const shanghai = await device({ timeZone: 'Asia/Shanghai' });
    await device({ timeZone: 'Asia/Bangkok' });
    let failures = 1;
    scene.answer = ({ device: id }) =>
      id === shanghai && failures-- > 0 ? tryAgain('device') : { result: 'accepted' };
    const id = await publish({ sendAtLocal: '2027-01-15T17:30' });
    start();
    await hours(3);
    expect(await scene.counts(id)).toMatchObject({ state: 'finished', accepted: 2 });
    expect(scene.timesSent()[shanghai]).toBe(2);
  });
});

describe('quiet hours', () => {
  const NIGHT = { from: '22:00', to: '07:30' };
  /** Now, in UTC, for two hours. */
  const NOW = { from: '07:00', to: '10:00' };

  it('delay what would be shown until their end, and five minutes at most', async () => {
    const quiet = await device({ quietHours: NOW });
    const other = await device({ quietHours: NIGHT });
    const id = await publish();
    start();
    await hours(1);
    expect(sentAfter()).toEqual([[other, 0]]);
    await hours(1.1);
    const [, { atMs, device: late } = { atMs: 0, device: '' }] = scene.sends;
    expect(late).toBe(quiet);
    expect(atMs).toBeWithin(2 * HOUR_MS, 2 * HOUR_MS + 301_000);
    await scene.expectAccepted(id, 2);
  });

  it('are those of the device, else of its user, else of the instance', async () => {
    set({ timeZone: 'UTC', quietHours: NOW });
    const none = await device({ quietHours: 'none' });
    const ownZone = await device({ timeZone: 'Asia/Tokyo' });
    await device();
    const ofUser = await device();
    await scene.devices.setUser({
      instance,
      id: ofUser,
      userId: 'ann',
      max: 9,
      replaceOldest: false,
      nowMs: 0,
    });
    await new MemoryPreferences(scene.devices).setOfUser({
      instance,
      userId: 'ann',
      changes: { quietHours: NIGHT },
    });
    await publish();
    start();
    await hours(0.1);
    expect(scene.sends.map(({ device: id }): string => id).toSorted()).toEqual(
      [none, ownZone, ofUser].toSorted(),
    );
  });

  it('let urgent publishes pass, and what shows nothing', async () => {
    await device({ quietHours: NOW });
    await publish({ urgent: true });
    await publish({ fcm: { data: { a: 1 } } });
    start();
    await hours(0.1);
    expect(scene.sends).toHaveLength(2);
  });

  it('end a notification whose time to live is over before', async () => {
    await device({ quietHours: NOW });
    await device();
    const id = await publish({ fcm: { notification: { title: 'Hi' }, time_to_live: 3600 } });
    const pipeline = start();
    await hours(0.1);
    expect(await scene.counts(id)).toEqual({
      state: 'finished',
      planned: 2,
      accepted: 1,
      expired: 1,
    });
    expect(await scene.reasons(id)).toEqual([
      { platform: 'fcm', reason: 'quiet-hours', devices: 1 },
    ]);
    expect(pipeline.figures().leftOut['quiet-hours']).toBe(1);
  });

  it('count from the local time of a publish', async () => {
    const tokyo = await device({
      timeZone: 'Asia/Tokyo',
      quietHours: { from: '17:30', to: '19:30' },
    });
    await publish({ sendAtLocal: '2027-01-15T18:00' });
    start();
    await hours(2);
    expect(scene.sends).toEqual([]);
    await hours(1);
    expect(sentAfter()).toEqual([[tokyo, 2]]);
  });

  it('lengthen the time for retries of an instance that is shorter', async () => {
    scene.retryMs = HOUR_MS;
    scene.useGateways(instance);
    await device({ quietHours: NOW });
    const id = await publish();
    start();
    await hours(2.2);
    await scene.expectAccepted(id, 1);
  });
});

describe('the cap of an instance', () => {
  beforeEach(() => set({ cap: { notifications: 2, hours: 3 } }));

  /** How many of some publishes the only device got. */
  const got = async () => {
    await hours(0.01);
    return scene.sends.length;
  };

  it('leaves out what is shown beyond it, with the reason', async () => {
    await device();
    start();
    await publish();
    await publish();
    expect(await got()).toBe(2);
    const id = await publish();
    expect(await got()).toBe(2);
    expect(await scene.counts(id)).toEqual({ state: 'finished', planned: 1, failed: 1 });
    expect(await scene.reasons(id)).toEqual([{ platform: 'fcm', reason: 'over-cap', devices: 1 }]);
  });

  it('ends some hours after the first notification of the device', async () => {
    await device();
    const pipeline = start();
    await publish();
    expect(await got()).toBe(1);
    await hours(2.5);
    await publish();
    await publish();
    expect(await got()).toBe(2);
    expect(pipeline.figures().leftOut['over-cap']).toBe(1);
    await hours(0.5);
    await publish();
    await publish();
    await publish();
    expect(await got()).toBe(4);
  });

  it('is neither asked nor counted for what is urgent or shows nothing', async () => {
    await device();
    start();
    for (const fields of [{ urgent: true }, { fcm: { data: { a: 1 } } }]) {
      await publish(fields);
      await publish(fields);
    }
    await publish();
    await publish();
    expect(await got()).toBe(6);
    await publish({ urgent: true });
    expect(await got()).toBe(7);
  });

  it('does not count what comes too late for the quiet hours of a device', async () => {
    await device({ quietHours: { from: '07:00', to: '10:00' } });
    start();
    const late = { notification: { title: 'Hi' }, time_to_live: 60 };
    await publish({ fcm: late });
    await publish({ fcm: late });
    await publish({ fcm: late });
    await hours(2.1);
    await publish();
    await publish();
    expect(await got()).toBe(2);
  });
});
