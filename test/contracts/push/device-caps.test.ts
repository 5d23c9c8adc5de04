import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { countForCaps, StoredCaps } from '../../../src/stores/push/devices/device-caps.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { makeInstance } from '../../../testing/databases/push-instance.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';

const DAY_MS = 86_400_000;

describe.each(databases)('what devices were shown of their cap in $name', ({ make }) => {
  let place: Awaited<ReturnType<typeof make>>;
  let database: Database;
  let caps: StoredCaps;
  let instance: number;
  let numbers: readonly number[];
  beforeEach(async () => {
    place = await make();
    database = await openDatabase(place.url);
    caps = new StoredCaps(database);
    instance = await makeInstance(database);
    const devices = new StoredDevices(database);
    for (let made = 0; made < 2; made++) {
      await devices.register({ instance, device: newDevice(), nowMs: NOW_MS });
    }
    const rows: { number: number | string }[] = await database.read`
      SELECT number FROM devices ORDER BY number`;
    numbers = rows.map(({ number }) => Number(number));
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  const cap = { notifications: 2, hours: 24, nowMs: NOW_MS };
  const show = (devices: readonly number[]) =>
    database.write((sql) => countForCaps(sql, [{ instance, cap: { ...cap, devices } }]));

  it('is read until its time is over', async () => {
    const [one = 0, two = 0] = numbers;
    await show([one]);
    await show([one, two]);
    const late = { ...cap, nowMs: NOW_MS + DAY_MS - 1 };
    expect(await caps.useOf(one, late)).toEqual({ used: 2, sinceMs: NOW_MS });
    expect(await caps.useOf(two, late)).toEqual({ used: 1, sinceMs: NOW_MS });
    expect(await caps.full({ ...late, devices: numbers })).toEqual(new Set([one]));
    expect(await caps.full({ ...late, devices: [two] })).toEqual(new Set());
    expect(await caps.full({ ...late, notifications: 3, devices: numbers })).toEqual(new Set());
    const over = { ...cap, nowMs: NOW_MS + DAY_MS };
    expect(await caps.useOf(one, over)).toBeUndefined();
    expect(await caps.full({ ...over, devices: numbers })).toEqual(new Set());
  });
});
