import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import type { StoredChannel } from '../../../src/push/broadcast-channels.ts';
import type { DeviceId } from '../../../src/push/model/device.ts';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { StoredChannels } from '../../../src/stores/push/devices/channels.ts';
import { type DeviceFilter, DeviceList } from '../../../src/stores/push/devices/device-list.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { readCounts } from '../../../src/stores/push/devices/instance-counts.ts';
import { GarbageCollector } from '../../../src/stores/push/garbage-collector.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { acceptDevice, makeInstance } from '../../../testing/databases/push-instance.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';

const ALL: DeviceFilter = {
  platform: undefined,
  neverAccepted: false,
  registeredBeforeMs: undefined,
  seenBeforeMs: undefined,
};

/** The row of one of many devices. */
const manyRow = (instance: number, n: number) => ({
  instance,
  id: `fcm-${n}`,
  platform: 'fcm',
  token_identity: `i${n}`,
  registered_at: NOW_MS,
  seen_at: NOW_MS,
  token: `t${n}`,
  metadata: '{}',
  sdk: '',
  accepted_at: null,
});

describe.each(databases)('the list of devices in $name', ({ make }) => {
  let place: Awaited<ReturnType<typeof make>>;
  let database: Database;
  let devices: StoredDevices;
  let list: DeviceList;
  let instance: number;
  beforeEach(async () => {
    place = await make();
    database = await openDatabase(place.url);
    devices = new StoredDevices(database);
    list = new DeviceList(database);
    instance = await makeInstance(database);
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  async function register(more: Parameters<typeof newDevice>[0] = {}, nowMs = NOW_MS) {
    const device = newDevice(more);
    await devices.register({ instance, device, nowMs });
    return device.id;
  }

  /** Registers many at once. */
  async function crowd(count: number): Promise<void> {
    const made = Array.from({ length: count }, () => newDevice());
    await Promise.all(made.map((device) => devices.register({ instance, device, nowMs: NOW_MS })));
  }

  const ids = async (filter: Partial<DeviceFilter> = {}, limit = 100) =>
    (await list.list({ instance, filter: { ...ALL, ...filter }, after: 0, limit })).devices.map(
      ({ id }) => id,
    );

  it('shows all but the token, the oldest first', async () => {
    const first = await register({ platform: 'apns', client: 'push-notifications-swift 4' });
    const second = await register({}, NOW_MS + 5);
    await devices.setUser({
      instance,
      id: first,
      userId: 'ann',
      max: 9,
      replaceOldest: false,
      nowMs: NOW_MS + 9,
    });
    await acceptDevice(database, instance, first);
    const { devices: listed, next } = await list.list({
      instance,
      filter: ALL,
      after: 0,
      limit: 10,
    });
    expect(next).toBeUndefined();
    expect(listed).toEqual([
      {
        number: expect.any(Number),
        id: first,
        platform: 'apns',
        userId: 'ann',
        registeredAtMs: NOW_MS,
        seenAtMs: NOW_MS + 9,
        isAccepted: true,
        acceptedAtMs: expect.any(Number),
        metadata: { sdkVersion: '1.10.0' },
        client: 'push-notifications-swift 4',
        preferences: {},
      },
      expect.objectContaining({ id: second, isAccepted: false, acceptedAtMs: undefined }),
    ]);
    expect(JSON.stringify(listed)).not.toContain('token');
  });

  it('has those in a pause', async () => {
    const [long, over] = [await register(), await register({ platform: 'web' })];
    await register();
    const pause = async (id: DeviceId, untilMs: number) => {
      await database.write(
        (sql) => sql`UPDATE devices SET paused_until = ${untilMs} WHERE id = ${id}`,
      );
    };
    await pause(long, NOW_MS + 60_000);
    await pause(over, NOW_MS);
    expect(await ids({ pausedAtMs: NOW_MS })).toEqual([long]);
    expect(await ids({ pausedAtMs: NOW_MS, platform: 'web' })).toEqual([]);
    expect(await ids({ pausedAtMs: NOW_MS - 1 })).toEqual([long, over]);
  });

  it('is filtered by each condition, and by all together', async () => {
    const elsewhere = await makeInstance(database);
    await devices.register({ instance: elsewhere, device: newDevice(), nowMs: NOW_MS });
    const old = await register({ platform: 'web' }, NOW_MS - 10);
    const seen = await register({}, NOW_MS - 10);
    await devices.setMetadata({ instance, id: seen, metadata: {}, nowMs: NOW_MS + 10 });
    const fresh = await register({}, NOW_MS);
    await acceptDevice(database, instance, old);
    expect(await ids()).toEqual([old, seen, fresh]);
    expect(await ids({ platform: 'fcm' })).toEqual([seen, fresh]);
    expect(await ids({ neverAccepted: true })).toEqual([seen, fresh]);
    expect(await ids({ registeredBeforeMs: NOW_MS })).toEqual([old, seen]);
    expect(await ids({ seenBeforeMs: NOW_MS + 1 })).toEqual([old, fresh]);
    expect(await ids({ platform: 'fcm', neverAccepted: true, registeredBeforeMs: NOW_MS })).toEqual(
      [seen],
    );
    expect(await ids({ platform: 'apns' })).toEqual([]);
  });

  it('finds devices by user, interest and the beginning of an id, alone and together', async () => {
    const elsewhere = await makeInstance(database);
    const key = { max: 9, replaceOldest: false, nowMs: NOW_MS };
    const ofAnn = async (more: Parameters<typeof newDevice>[0], interests: readonly string[]) => {
      const id = await register(more);
      await devices.setUser({ instance, id, userId: 'ann', ...key });
      await devices.setInterests({ instance, id, interests });
      return id;
    };
    const first = await ofAnn({}, ['news', 'sport']);
    const second = await ofAnn({ platform: 'web' }, ['news']);
    const other = await register();
    await devices.setInterests({ instance, id: other, interests: ['sport'] });
    const stranger = newDevice();
    await devices.register({ instance: elsewhere, device: stranger, nowMs: NOW_MS });
    await devices.setUser({ instance: elsewhere, id: stranger.id, userId: 'ann', ...key });
    expect(await ids({ userId: 'ann' })).toEqual([first, second]);
    expect(await ids({ userId: 'Ann' })).toEqual([]);
    expect(await ids({ interest: 'sport' })).toEqual([first, other]);
    expect(await ids({ userId: 'ann', interest: 'sport' })).toEqual([first]);
    expect(await ids({ userId: 'ann', platform: 'web' })).toEqual([second]);
    expect(await ids({ idPrefix: other })).toEqual([other]);
    expect(await ids({ idPrefix: first.slice(0, 14) })).toEqual([first]);
    expect(await ids({ idPrefix: first, userId: 'bob' })).toEqual([]);
    expect(await ids({ idPrefix: stranger.id })).toEqual([]);
  });

  it('finds further tokens by their kind, alone and with other conditions', async () => {
    const [call, widget] = [
      await register({ platform: 'apns', kind: 'voip' }),
      await register({ platform: 'apns', kind: 'widgets' }),
    ];
    await register({ platform: 'apns' });
    const late = await register({ platform: 'apns', kind: 'voip' }, NOW_MS + 5);
    expect(await ids({ kind: 'voip' })).toEqual([call, late]);
    expect(await ids({ kind: 'voip' }, 1)).toEqual([call]);
    expect(await ids({ kind: 'widgets', platform: 'apns' })).toEqual([widget]);
    expect(await ids({ kind: 'widgets', platform: 'fcm' })).toEqual([]);
    expect(await ids({ kind: 'voip', idPrefix: late })).toEqual([late]);
    expect(await ids({ kind: 'voip', pausedAtMs: NOW_MS })).toEqual([]);
    const shown = await list.list({ instance, filter: ALL, after: 0, limit: 9 });
    expect(shown.devices.map(({ kind }) => kind)).toEqual(['voip', 'widgets', undefined, 'voip']);
  });

  it('has the broadcast channels, with their interests', async () => {
    const channels = new StoredChannels(database);
    await register({ platform: 'apns', kind: 'liveactivity' });
    const ofKind = async (kind: 'channel' | 'channel-latest', names: readonly string[]) => {
      const device = newDevice({ platform: 'apns', kind, token: `${kind}:AAB=`, bundleId: 'a.b' });
      await devices.register({ instance, device, nowMs: NOW_MS, interests: { names } });
      return device.id;
    };
    const plain = await ofKind('channel', ['b', 'a']);
    const latest = await ofKind('channel-latest', []);
    const first = { channel: 'AAB=', bundleId: 'a.b', storage: 'none', interests: ['a', 'b'] };
    expect(await channels.list(instance)).toEqual([
      { id: plain, ...first },
      { id: latest, ...first, storage: 'latest', interests: [] },
    ] as unknown as StoredChannel[]);
    expect(await channels.count(instance)).toBe(2);
    expect(await channels.find({ instance, id: plain })).toMatchObject({ id: plain });
    const other = await makeInstance(database);
    expect(await channels.find({ instance: other, id: plain })).toBeUndefined();
    expect(await channels.list(other)).toEqual([]);
  });

  it('comes in pages by an interest that many devices have', async () => {
    await database.write(async (sql) => {
      const numbers = Array.from({ length: 1_200 }, (_, n) => n);
      for (let from = 0; from < 1_200; from += 300) {
        await sql`INSERT INTO devices ${sql(numbers.slice(from, from + 300).map((n) => manyRow(instance, n)))}`;
      }
      await sql`INSERT INTO device_interests (instance, interest, device)
        SELECT instance, 'news', number FROM devices WHERE instance = ${instance}`;
    });
    const found: string[] = [];
    for (let next: number | undefined = 0; next !== undefined; ) {
      const page = await list.list({
        instance,
        filter: { ...ALL, interest: 'news' },
        after: next,
        limit: 501,
      });
      found.push(...page.devices.map(({ id }) => id));
      next = page.next;
    }
    expect([found.length, new Set(found).size]).toEqual([1_200, 1_200]);
  });

  it('comes in pages, each device once', async () => {
    await crowd(1100);
    const all: DeviceId[] = [];
    for (let next: number | undefined = 0; next !== undefined; ) {
      const page = await list.list({ instance, filter: ALL, after: next, limit: 400 });
      all.push(...page.devices.map(({ id }) => id));
      next = page.next;
    }
    expect(new Set(all).size).toBe(1100);
    expect(all).toHaveLength(1100);
  });

  it('can be deleted by a condition, and the counts with it', async () => {
    await crowd(700);
    const kept = await register();
    await acceptDevice(database, instance, kept);
    await devices.setInterests({ instance, id: kept, interests: ['a'] });
    const gone = await register();
    await devices.setInterests({ instance, id: gone, interests: ['a', 'b'] });
    const never = { ...ALL, neverAccepted: true };
    expect(await list.remove({ instance, filter: never, after: 0, isDryRun: true })).toEqual({
      devices: 701,
      next: undefined,
    });
    expect((await readCounts(database.read, instance)).devices).toBe(702);
    expect(await list.remove({ instance, filter: never, after: 0, isDryRun: false })).toEqual({
      devices: 701,
      next: undefined,
    });
    expect(await ids()).toEqual([kept]);
    const garbage = new GarbageCollector(database);
    while (await garbage.collectSome(NOW_MS));
    expect(await readCounts(database.read, instance)).toEqual({
      devices: 1,
      accepted: 1,
      interests: 1,
    });
  });

  it('yields to other work while it scans many devices, and returns where to continue', async () => {
    await database.write(async (sql) => {
      await sql`
        WITH RECURSIVE many (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM many WHERE n < 20999)
        INSERT INTO devices
          (instance, id, platform, token_identity, registered_at, seen_at, token, metadata, sdk)
        SELECT CAST(${instance} AS BIGINT), 'fcm-' || n, CASE n WHEN 20900 THEN 'web' ELSE 'fcm' END, 'i' || n,
          CAST(${NOW_MS} AS BIGINT), CAST(${NOW_MS} AS BIGINT), 't' || n, '{}', '' FROM many`;
      await sql`UPDATE instance_numbers SET devices = 21000 WHERE number = ${instance}`;
    });
    let turns = 0;
    const turning = setInterval(() => turns++, 0);
    const first = await list.list({
      instance,
      filter: { ...ALL, platform: 'web' },
      after: 0,
      limit: 10,
    });
    expect(first.devices).toEqual([]);
    expect(first.next).toBeGreaterThan(0);
    expect(turns).toBeGreaterThan(1);
    const second = await list.list({
      instance,
      filter: { ...ALL, platform: 'web' },
      after: first.next ?? 0,
      limit: 10,
    });
    expect(second).toMatchObject({ devices: [{ id: 'fcm-20900' }], next: undefined });

    // Few are paused, and an index finds them: the first call reaches the end.
    await database.write(
      (sql) => sql`UPDATE devices SET paused_until = ${NOW_MS + 1} WHERE id = 'fcm-20900'`,
    );
    const paused = { ...ALL, pausedAtMs: NOW_MS };
    expect(await list.list({ instance, filter: paused, after: 0, limit: 10 })).toMatchObject({
      devices: [{ id: 'fcm-20900' }],
      next: undefined,
    });

    turns = 0;
    const filter = { ...ALL, platform: 'fcm' } as const;
    const some = await list.remove({ instance, filter, after: 0, isDryRun: false });
    clearInterval(turning);
    expect(some.devices).toBe(20_000);
    expect(turns).toBeGreaterThan(20);
    const rest = await list.remove({ instance, filter, after: some.next ?? 0, isDryRun: false });
    expect(rest).toEqual({ devices: 999, next: undefined });
    expect((await readCounts(database.read, instance)).devices).toBe(1);
  });
});
