import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import type { DeviceId } from '../../../src/push/model/device.ts';
import { newPublishId } from '../../../src/push/model/publish-id.ts';
import type { TokenKind } from '../../../src/push/model/token-kind.ts';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { countForCaps } from '../../../src/stores/push/devices/device-caps.ts';
import { DeviceList } from '../../../src/stores/push/devices/device-list.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { readCounts } from '../../../src/stores/push/devices/instance-counts.ts';
import { StoredPreferences } from '../../../src/stores/push/devices/preferences.ts';
import { GarbageCollector } from '../../../src/stores/push/garbage-collector.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { makeInstance } from '../../../testing/databases/push-instance.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Rows that one piece deletes at most, including those of a few publishes. */
const PIECE_ROWS_MAX = 700;

const tables = [
  'instance_numbers',
  'devices',
  'device_interests',
  'removed_devices',
  'device_caps',
  'user_preferences',
  'publishes',
  'publish_keys',
  'publish_outcomes',
  'publish_reasons',
  'publish_reports',
  'publish_feedback',
  'publish_plans',
  'publish_pages',
  'publish_devices',
  'publish_users',
  'publish_live',
  'publish_live_asks',
  'untold_ends',
  'device_tombstones',
] as const;
/** Tables of the server, of apps, and of instances as long as they are stored. */
const OTHER_TABLES = [
  'app_keys',
  'apps',
  'audit_entries',
  'certificates',
  'compatibility',
  'instance_keys',
  'instances',
  'migrations',
  'outbox_attempts',
  'outbox_event_ids',
  'outbox_requests',
  'rate_uses',
  'revisions',
  'revocations',
  'saved_histories',
  'usage_days',
  'usage_hours',
  'usage_samples',
] as const;

const EVERY_DEVICE = {
  platform: undefined,
  neverAccepted: false,
  registeredBeforeMs: undefined,
  seenBeforeMs: undefined,
};

type Rows = Record<(typeof tables)[number], number>;

describe.each(databases)('garbage in $name', ({ make }) => {
  let place: Awaited<ReturnType<typeof make>>;
  let database: Database;
  let devices: StoredDevices;
  let garbage: GarbageCollector;
  let instance: number;
  beforeEach(async () => {
    place = await make();
    database = await openDatabase(place.url);
    devices = new StoredDevices(database);
    garbage = new GarbageCollector(database);
    instance = await makeInstance(database);
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  async function rows(): Promise<Rows> {
    const counted = {} as Rows;
    for (const table of tables) {
      const [row]: { held: number | string }[] = await database.read`
        SELECT COUNT(*) AS held FROM ${database.read(table)}`;
      counted[table] = Number(row?.held);
    }
    return counted;
  }
  const total = (counted: Rows) => Object.values(counted).reduce((sum, held) => sum + held, 0);

  /** Collects all garbage, and returns the number of pieces. */
  async function sweepAll(nowMs = NOW_MS): Promise<number> {
    for (let pieces = 0; ; pieces += 1) {
      const before = total(await rows());
      if (!(await garbage.collectSome(nowMs))) return pieces;
      expect(before - total(await rows())).toBeLessThanOrEqual(PIECE_ROWS_MAX);
      expect(pieces).toBeLessThan(100);
    }
  }

  async function device(interests: number, where = instance): Promise<DeviceId> {
    const made = newDevice();
    await devices.register({ instance: where, device: made, nowMs: NOW_MS });
    await show(where, [made.id]);
    const names = Array.from({ length: interests }, (_, index) => `i-${index}`);
    await devices.setInterests({ instance: where, id: made.id, interests: names });
    return made.id;
  }

  /** Counts a notification towards the caps of devices. */
  async function show(where: number, ids: readonly DeviceId[]): Promise<void> {
    const rows: { number: number | string }[] = await database.read`
      SELECT number FROM devices WHERE id IN ${database.read(ids)}`;
    await count(
      where,
      rows.map(({ number }) => Number(number)),
    );
  }

  const numberOf = async (id: DeviceId): Promise<number> => {
    const [row]: { number: number | string }[] = await database.read`
      SELECT number FROM devices WHERE id = ${id}`;
    return Number(row?.number);
  };

  const count = (where: number, numbers: readonly number[]) => {
    const cap = { notifications: 9, hours: 24, nowMs: NOW_MS, devices: numbers };
    return database.write((sql) => countForCaps(sql, [{ instance: where, cap }]));
  };

  async function users(where: number, count: number): Promise<void> {
    const preferences = new StoredPreferences(database);
    const changes = { language: 'de', timeZone: undefined, quietHours: undefined };
    const made = Array.from({ length: count }, (_, index) =>
      preferences.setOfUser({ instance: where, userId: `user-${index}`, changes }),
    );
    await Promise.all(made);
  }

  /** A publish with a row of each kind, and any number of reports and failed devices. */
  async function publish(
    where: number,
    finishedAtMs: number | null,
    reports = 1,
    troubles = 1,
  ): Promise<void> {
    await database.write(async (sql) => {
      const [made]: { number: number | string }[] = await sql`
        INSERT INTO publishes (id, instance, state, target, created_at, due_at, finished_at, body)
        VALUES (${newPublishId(NOW_MS)}, ${where}, 'delivering', 'interests', ${NOW_MS}, ${NOW_MS},
          ${finishedAtMs}, '{}')
        RETURNING number`;
      const number = Number(made?.number);
      const counts = { accepted: 0, retrying: 0, failed: 0, pruned: 0, expired: 0, cancelled: 0 };
      for (const platform of ['apns', 'fcm', 'web']) {
        const outcome = { publish: number, platform, planned: 1, ...counts };
        await sql`INSERT INTO publish_outcomes ${sql(outcome)}`;
        const reason = { publish: number, platform, reason: 'gone', devices: 1 };
        await sql`INSERT INTO publish_reasons ${sql(reason)}`;
      }
      await sql`INSERT INTO publish_feedback ${sql({ publish: number, delivered: 1, opened: 1 })}`;
      const row = { publish: number, instance: where, due_at: NOW_MS };
      await sql`INSERT INTO publish_plans ${sql({ ...row, planned_to: 9, ended: 1 })}`;
      await sql`INSERT INTO publish_users ${sql({ publish: number, user_id: 'ann', reached: 1 })}`;
      const ask = { publish: number, phase: 'over', push: 'absent', wait_ms: 1, users: 1 };
      await sql`INSERT INTO publish_live_asks ${sql(ask)}`;
      const live = { publish: number, user_id: 'ann', live_state: 'reached', connections: 1 };
      await sql`INSERT INTO publish_live ${sql({ ...live, at: NOW_MS })}`;
      const end = { publish: number, finished_at: NOW_MS, ready_at: NOW_MS };
      await sql`INSERT INTO untold_ends ${sql(end)}`;
      const page = { ...row, state: 'delivered', apns: 0, fcm: 1, web: 0, devices: 'B' };
      for (const device of [1, 2]) {
        await sql`INSERT INTO publish_pages
          ${sql({ ...page, first_device: device, last_device: device })}`;
      }
      const trouble = {
        ...row,
        state: 'failed',
        attempts: 1,
        changed_at: 1,
        reason: '',
        words: '',
      };
      for (let from = 0; from < troubles; from += 400) {
        const some = Array.from({ length: Math.min(400, troubles - from) }, (_, index) => ({
          ...trouble,
          device: from + index,
        }));
        await sql`INSERT INTO publish_devices ${sql(some)}`;
      }
      for (let from = 0; from < reports; from += 400) {
        const some = Array.from({ length: Math.min(400, reports - from) }, (_, index) => ({
          publish: number,
          device: (from + index) >> 1,
          event: index % 2 === 0 ? 'delivery' : 'open',
          reported_at: NOW_MS,
          device_time: 1,
        }));
        await sql`INSERT INTO publish_reports ${sql(some)}`;
      }
    });
  }

  async function keys(where: number, expiresAtMs: number, count: number): Promise<void> {
    await database.write(async (sql) => {
      const some = Array.from({ length: count }, (_, index) => ({
        instance: where,
        idempotency_key: `${expiresAtMs} ${index}`,
        fingerprint: 'f',
        publish_id: newPublishId(NOW_MS),
        expires_at: expiresAtMs,
      }));
      for (let from = 0; from < count; from += 400) {
        await sql`INSERT INTO publish_keys ${sql(some.slice(from, from + 400))}`;
      }
    });
  }

  async function tombstones(where: number, removedAtMs: number, count: number): Promise<void> {
    const kept = { instance: where, platform: 'fcm', registered_at: 1, reason: '', words: '' };
    const rows = Array.from({ length: count }, (_, number) => ({
      ...kept,
      id: `${removedAtMs} ${number}`,
      number,
      removed_at: removedAtMs,
    }));
    await database.write(async (sql) => {
      for (let from = 0; from < count; from += 400) {
        await sql`INSERT INTO device_tombstones ${sql(rows.slice(from, from + 400))}`;
      }
    });
  }

  const deleteInstance = (number: number) =>
    database.write((sql) => sql`UPDATE instance_numbers SET id = NULL WHERE number = ${number}`);

  it('is not found if nothing was deleted', async () => {
    await device(3);
    await publish(instance, null);
    await publish(instance, NOW_MS - DAY_MS);
    await keys(instance, NOW_MS + 1, 3);
    const before = await rows();
    expect(await garbage.collectSome(NOW_MS)).toBe(false);
    expect(await rows()).toEqual(before);
  });

  it('includes the interests of deleted devices, and of no others', async () => {
    const left = await device(40);
    for (const interests of [1200, 0, 10, 500, 499, 501, 3]) {
      await devices.delete({ instance, id: await device(interests) });
    }
    for (let index = 0; index < 120; index += 1) {
      await devices.delete({ instance, id: await device(index % 3) });
    }
    expect(await rows()).toMatchObject({ devices: 1, removed_devices: 127 });
    expect(await sweepAll()).toBeGreaterThan(4);
    expect(await rows()).toMatchObject({ devices: 1, device_interests: 40, removed_devices: 0 });
    expect(
      (await devices.interests({ instance, id: left, after: '', limit: 100 }))?.interests,
    ).toHaveLength(40);
  });

  it('includes all rows of a deleted instance, then its number, and nothing of another', async () => {
    const deleted = await makeInstance(database);
    for (const where of [instance, deleted]) {
      for (let index = 0; index < 60; index += 1) await device(10, where);
      await device(1100, where);
      await devices.delete({ instance: where, id: await device(5, where) });
      await keys(where, NOW_MS + DAY_MS, 600);
      for (let index = 0; index < 25; index += 1) await publish(where, index % 2 ? NOW_MS : null);
      await publish(where, null, 1300, 900);
      await tombstones(where, NOW_MS, 700);
      await users(where, 600);
    }
    await deleteInstance(deleted);
    await sweepAll();
    expect(await rows()).toEqual({
      instance_numbers: 1,
      devices: 61,
      device_interests: 1700,
      removed_devices: 0,
      device_caps: 61,
      user_preferences: 600,
      publishes: 26,
      publish_keys: 600,
      publish_outcomes: 78,
      publish_reasons: 78,
      publish_reports: 1325,
      publish_feedback: 26,
      publish_plans: 26,
      publish_pages: 52,
      publish_devices: 925,
      publish_users: 26,
      publish_live: 26,
      publish_live_asks: 26,
      untold_ends: 26,
      device_tombstones: 700,
    });
    expect(await garbage.collectSome(NOW_MS)).toBe(false);
  });

  it('includes what devices were shown of their cap once they are gone, however they went', async () => {
    const left = await device(0);
    const gone = [await device(1), await device(0), await device(0)] as const;
    const after = await numberOf(gone[1]);
    await devices.delete({ instance, id: gone[0] });
    const user = { userId: 'ann', max: 9, replaceOldest: false, nowMs: NOW_MS };
    await devices.setUser({ instance, id: gone[1], ...user });
    await new StoredPreferences(database).setOfUser({
      instance,
      userId: 'ann',
      changes: { language: 'de', timeZone: undefined, quietHours: undefined },
    });
    await devices.deleteUser(instance, 'ann');
    await new DeviceList(database).remove({
      instance,
      filter: { ...EVERY_DEVICE, platform: 'fcm' },
      after,
      isDryRun: false,
    });
    expect(await rows()).toMatchObject({ devices: 1, device_caps: 4, user_preferences: 0 });
    await sweepAll();
    expect(await rows()).toMatchObject({ devices: 1, device_caps: 1 });
    expect(await devices.get({ instance, id: left })).toBeDefined();
  });

  it('never includes a count for a device that was collected while a page was planned', async () => {
    const id = await device(0);
    const number = await numberOf(id);
    await devices.delete({ instance, id });
    await sweepAll();
    await count(instance, [number]);
    expect(await rows()).toMatchObject({ devices: 0, device_caps: 0 });
  });

  it('may be in each table that belongs to instances, of all that the store has', async () => {
    const { read } = database;
    const all: { name: string }[] = await (database.dialect === 'postgres'
      ? read`SELECT table_name AS name FROM information_schema.tables
          WHERE table_schema = current_schema()`
      : read`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`);
    const others = all
      .map(({ name }) => name)
      .filter((name) => !tables.some((one) => one === name));
    expect(others.sort()).toEqual([...OTHER_TABLES].sort());
  });

  it('includes the tokens of live activities a day after they came, and no other', async () => {
    const other = await makeInstance(database);
    const register = async (kind: TokenKind | undefined, nowMs: number, where = instance) => {
      const made = newDevice({ platform: 'apns', kind });
      const interests = { names: ['a'] };
      await devices.register({ instance: where, device: made, nowMs, interests });
      return { instance: where, id: made.id };
    };
    const over = [
      await register('liveactivity', NOW_MS - DAY_MS),
      await register('liveactivity', NOW_MS - DAY_MS, other),
    ];
    const left = [
      await register('liveactivity', NOW_MS - DAY_MS + 1),
      await register('liveactivity-start', NOW_MS - 2 * DAY_MS),
      await register(undefined, NOW_MS - 2 * DAY_MS),
    ];
    await sweepAll();
    for (const key of over) expect(await devices.get(key)).toBeUndefined();
    for (const key of left) expect(await devices.get(key)).toBeDefined();
    expect(await readCounts(database.read, instance)).toEqual({
      devices: 3,
      accepted: 0,
      interests: 3,
    });
    expect(await readCounts(database.read, other)).toMatchObject({ devices: 0, interests: 0 });
  });

  it('includes the number of a deleted instance only after all its rows', async () => {
    const deleted = await makeInstance(database);
    for (let index = 0; index < 4; index += 1) await device(300, deleted);
    await deleteInstance(deleted);
    while ((await rows()).devices > 0) {
      expect(await rows()).toMatchObject({ instance_numbers: 2 });
      expect(await garbage.collectSome(NOW_MS)).toBe(true);
    }
    await sweepAll();
    expect(await rows()).toMatchObject({ instance_numbers: 1, device_interests: 0 });
  });

  it('includes expired idempotency keys', async () => {
    await keys(instance, NOW_MS - 1, 1100);
    await keys(instance, NOW_MS, 1);
    await keys(instance, NOW_MS + 1, 7);
    expect(await sweepAll()).toBe(3);
    expect(await rows()).toMatchObject({ publish_keys: 7 });
    expect(await sweepAll(NOW_MS + 1)).toBe(1);
    expect(await rows()).toMatchObject({ publish_keys: 0 });
  });

  it('includes publishes that were finished 30 days ago, with all their rows', async () => {
    for (let index = 0; index < 45; index += 1) await publish(instance, NOW_MS - 30 * DAY_MS);
    await publish(instance, NOW_MS - 31 * DAY_MS, 1700, 1200);
    await publish(instance, NOW_MS - 30 * DAY_MS + 1);
    await publish(instance, null);
    await sweepAll();
    expect(await rows()).toMatchObject({
      publishes: 2,
      publish_outcomes: 6,
      publish_reasons: 6,
      publish_reports: 2,
      publish_feedback: 2,
      publish_plans: 2,
      publish_pages: 4,
      publish_devices: 2,
      publish_users: 2,
      publish_live: 2,
      publish_live_asks: 2,
    });
  });

  it('includes tombstones after 30 days', async () => {
    await tombstones(instance, NOW_MS - 30 * DAY_MS, 1100);
    await tombstones(instance, NOW_MS - 30 * DAY_MS + 1, 3);
    expect(await sweepAll()).toBe(3);
    expect(await rows()).toMatchObject({ device_tombstones: 3 });
    expect(await garbage.collectSome(NOW_MS)).toBe(false);
  });

  it('is collected of each kind in turn', async () => {
    for (let index = 0; index < 6; index += 1) {
      await devices.delete({ instance, id: await device(400) });
    }
    await keys(instance, NOW_MS, 1);
    await publish(instance, NOW_MS - 31 * DAY_MS);
    await tombstones(instance, NOW_MS - 31 * DAY_MS, 1);
    for (let piece = 0; piece < 4; piece += 1) await garbage.collectSome(NOW_MS);
    const counted = await rows();
    expect(counted).toMatchObject({ publish_keys: 0, publishes: 0, device_tombstones: 0 });
    expect(counted.removed_devices).toBeGreaterThan(0);
  });

  it('may be collected by two servers, while devices come and go', async () => {
    const second = new GarbageCollector(database);
    for (let index = 0; index < 8; index += 1) {
      await devices.delete({ instance, id: await device(300) });
    }
    await keys(instance, NOW_MS, 900);
    const comings = Array.from({ length: 20 }, async () => {
      const id = await device(8);
      await devices.delete({ instance, id });
    });
    const sweeping = Array.from({ length: 12 }, (_, index) =>
      (index % 2 === 0 ? garbage : second).collectSome(NOW_MS),
    );
    await Promise.all([...comings, ...sweeping]);
    await sweepAll();
    expect(await rows()).toMatchObject({
      devices: 0,
      device_interests: 0,
      removed_devices: 0,
      publish_keys: 0,
    });
  });

  it('never loses a device that registers while its instance is collected', async () => {
    for (let round = 0; round < 8; round += 1) {
      const deleted = await makeInstance(database);
      const made = Array.from({ length: 6 }, () => newDevice());
      await Promise.allSettled([
        ...made
          .slice(0, 3)
          .map((one) => devices.register({ instance: deleted, device: one, nowMs: NOW_MS })),
        deleteInstance(deleted),
        garbage.collectSome(NOW_MS),
        ...made
          .slice(3)
          .map((one) => devices.register({ instance: deleted, device: one, nowMs: NOW_MS })),
        garbage.collectSome(NOW_MS),
      ]);
      await sweepAll();
    }
    expect(await rows()).toMatchObject({ instance_numbers: 1, devices: 0 });
  });
});
