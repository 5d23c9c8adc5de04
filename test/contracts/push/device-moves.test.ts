import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import type { ImportRequest, ImportResult, ImportRow } from '../../../src/push/device-moves.ts';
import type { DeviceId } from '../../../src/push/model/device.ts';
import { StoreLost } from '../../../src/push/store-faults.ts';
import { StoredMoves } from '../../../src/stores/push/devices/device-moves.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { readCounts } from '../../../src/stores/push/devices/instance-counts.ts';
import { StoredPreferences } from '../../../src/stores/push/devices/preferences.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { acceptDevice, makeInstance } from '../../../testing/databases/push-instance.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';
import { openDatabases } from './stores.ts';

let named = 0;

function rowOf(more: Partial<ImportRow> = {}): ImportRow {
  named++;
  return {
    platform: 'fcm',
    token: `imported-${named}`,
    identity: `identity-${named}`,
    bundleId: undefined,
    userId: undefined,
    interests: [],
    ...more,
  };
}

function idOf(result: ImportResult | undefined): DeviceId {
  if (result === undefined || result.status === 'refused' || result.id === undefined) {
    throw new Error('There is no device');
  }
  return result.id;
}

describe.each(databases)('moves of devices in $name', ({ make }) => {
  let opened: Awaited<ReturnType<typeof openDatabases>>;
  let moves: StoredMoves;
  let other: StoredMoves;
  let devices: StoredDevices;
  let instance: number;
  beforeAll(async () => {
    opened = await openDatabases(make);
    moves = new StoredMoves(opened.database);
    other = new StoredMoves(opened.second);
    devices = new StoredDevices(opened.database);
  }, 60_000);
  afterAll(() => opened[Symbol.asyncDispose]());
  beforeEach(async () => {
    instance = await makeInstance(opened.database);
  });

  const importRows = (
    rows: readonly ImportRow[],
    more: Partial<ImportRequest> = {},
    by: StoredMoves = moves,
  ) =>
    by.importRows({
      instance,
      name: 'a',
      rows,
      isDryRun: false,
      devicesMax: 0,
      interestsMax: 0,
      nowMs: NOW_MS,
      ...more,
    });
  const statuses = async (...asked: Parameters<typeof importRows>) =>
    (await importRows(...asked)).map(({ status }) => status);
  const exported = async (limit = 1_000) =>
    (await moves.exportRows({ instance, after: 0, limit })).devices;
  const counts = () => readCounts(opened.database.read, instance);

  it('create devices with all that is known of them, and give them out again', async () => {
    const rows = [
      rowOf({
        platform: 'apns',
        bundleId: 'com.example.app',
        userId: 'ann',
        interests: ['a', 'b'],
        language: 'de',
        timeZone: 'Europe/Berlin',
      }),
      rowOf({ platform: 'web', token: '{"endpoint":"https://a/"}', openHost: 'a' }),
      rowOf({ platform: 'apns', token: 'voip:abcd', kind: 'voip', interests: ['a'] }),
    ];
    const results = await importRows(rows);
    expect(results.map(({ status }) => status)).toEqual(['created', 'created', 'created']);
    expect(await counts()).toEqual({ devices: 3, accepted: 0, interests: 3 });
    const [first, second, third] = await exported();
    expect(first).toEqual<unknown>({
      ...rows[0],
      id: idOf(results[0]),
      registeredAtMs: NOW_MS,
      origin: 'a',
    });
    expect(second).toMatchObject({ platform: 'web', token: rows[1]?.token, interests: [] });
    expect(third).toMatchObject({ kind: 'voip', token: 'abcd' });
  });

  it('replace what an import said before, and leave alone what an SDK has registered', async () => {
    const row = rowOf({ userId: 'ann', interests: ['a', 'b'], language: 'de' });
    const own = newDevice();
    await devices.register({ instance, device: own, nowMs: NOW_MS });
    const ofSdk = rowOf({ token: own.token, identity: own.identity, interests: ['x'] });
    expect(await statuses([row, ofSdk])).toEqual(['created', 'unchanged']);
    const changed = { ...row, userId: 'bob', interests: ['b', 'c'], language: undefined };
    expect(await statuses([changed, ofSdk], { name: 'b' })).toEqual(['updated', 'unchanged']);
    const [sdk, imported] = await exported();
    expect(sdk).toMatchObject({ origin: undefined, interests: [] });
    expect(imported).toMatchObject({
      origin: 'b',
      userId: 'bob',
      interests: ['b', 'c'],
      language: undefined,
    });
    expect(await counts()).toMatchObject({ devices: 2, interests: 2 });
  });

  it('write nothing in a dry run, which decides the same', async () => {
    const known = rowOf();
    await importRows([known]);
    const rows = [known, rowOf({ interests: ['a'] }), rowOf()];
    const more = { devicesMax: 2 };
    const dry = await importRows(rows, { ...more, isDryRun: true });
    expect(dry).toMatchObject([
      { status: 'updated' },
      { status: 'created', id: undefined },
      { status: 'refused', why: 'instance-full' },
    ]);
    expect(await counts()).toEqual({ devices: 1, accepted: 0, interests: 0 });
    expect(await statuses(rows, more)).toEqual(dry.map(({ status }) => status));
    expect(await counts()).toMatchObject({ devices: 2, interests: 1 });
  });

  it('keep to the limits of the instance, of users and of push services that are not named', async () => {
    const few = rowOf({ interests: ['a', 'b'] });
    expect(
      await statuses([few, rowOf({ interests: ['a'] }), rowOf()], { interestsMax: 2 }),
    ).toEqual(['created', 'refused', 'created']);
    // Fewer interests are always possible.
    expect(await statuses([{ ...few, interests: ['c'] }], { interestsMax: 1 })).toEqual([
      'updated',
    ]);

    const many = Array.from({ length: 101 }, () => rowOf({ userId: 'ann' }));
    expect((await importRows(many)).slice(99)).toMatchObject([
      { status: 'created' },
      { status: 'refused', why: 'user-full' },
    ]);
    // On another platform there is room.
    expect(await statuses([rowOf({ platform: 'apns', userId: 'ann' })])).toEqual(['created']);

    const open = () => rowOf({ platform: 'web', openHost: 'push.example.org' });
    const atHost = Array.from({ length: 101 }, open);
    expect((await importRows(atHost)).slice(99)).toMatchObject([
      { status: 'created' },
      { status: 'refused', why: 'host-full' },
    ]);
    const device = newDevice({ platform: 'web', openHost: 'push.example.org' });
    expect(await devices.register({ instance, device, nowMs: NOW_MS })).toBe('host-full');
    const elsewhere = newDevice({ platform: 'web', openHost: 'other.example.org' });
    expect(await devices.register({ instance, device: elsewhere, nowMs: NOW_MS })).toMatchObject({
      isNew: true,
    });
    const moved = await devices.setToken({
      instance,
      id: elsewhere.id,
      token: 't',
      identity: 'i',
      openHost: 'push.example.org',
      nowMs: NOW_MS,
    });
    expect(moved).toBe('host-full');
  });

  it('of the same tokens at once make each device once', async () => {
    const rows = Array.from({ length: 50 }, () => rowOf({ interests: ['a'] }));
    const all = await Promise.all([statuses(rows), statuses(rows, {}, other), statuses(rows)]);
    expect(all.flat().filter((status) => status === 'created')).toHaveLength(50);
    expect(all.flat().filter((status) => status === 'updated')).toHaveLength(100);
    expect(await counts()).toMatchObject({ devices: 50, interests: 50 });
  });

  it('end when an SDK registers the token, which keeps interests and preferences but not the user', async () => {
    const row = rowOf({
      userId: 'ann',
      interests: ['a', 'b'],
      language: 'de',
      timeZone: 'Europe/Berlin',
    });
    const [created] = await importRows([row]);
    // A browser may have other keys at the same endpoint.
    const device = newDevice({ token: 'with other keys', identity: row.identity });
    const registered = await devices.register({ instance, device, nowMs: NOW_MS });
    expect(registered).toMatchObject({ interests: ['a', 'b'], isNew: false });
    expect(registered).toMatchObject({ id: idOf(created) });
    expect(await exported()).toMatchObject([
      { token: 'with other keys', origin: undefined, userId: undefined, language: 'de' },
    ]);
    const preferences = new StoredPreferences(opened.database);
    const id = idOf(created);
    expect(await preferences.ofDevice({ instance, id })).toMatchObject({
      timeZone: 'Europe/Berlin',
    });
    // An undo does not touch it.
    expect(await moves.undoImport({ instance, name: 'a', max: 1_000 })).toEqual({
      removed: 0,
      more: false,
    });
    expect(await statuses([row])).toEqual(['unchanged']);
  });

  it('are counted and undone by their name, piece by piece', async () => {
    const rows = [rowOf(), rowOf({ platform: 'apns' }), rowOf({ interests: ['a'] })];
    const results = await importRows(rows);
    await importRows([rowOf()], { name: 'b' });
    await acceptDevice(opened.database, instance, idOf(results[0]));
    expect(await moves.countImport({ instance, name: 'a' })).toEqual({
      devices: 3,
      accepted: 1,
      platforms: { apns: 1, fcm: 2, web: 0 },
    });
    const undo = () => moves.undoImport({ instance, name: 'a', max: 2 });
    expect(await undo()).toEqual({ removed: 2, more: true });
    expect(await undo()).toEqual({ removed: 1, more: false });
    expect(await exported()).toHaveLength(1);
    expect(await counts()).toMatchObject({ devices: 1, accepted: 0 });
  });

  it('do not trust what a gateway accepted before the app, the kind or the keys changed', async () => {
    const row = rowOf({ platform: 'apns', token: 'abcd', bundleId: 'com.example.app' });
    const accepted = async () => (await counts()).accepted;
    const [created] = await importRows([row]);
    await acceptDevice(opened.database, instance, idOf(created));
    await importRows([row]);
    expect(await accepted()).toBe(1);
    const voip = { ...row, kind: 'voip', token: 'voip:abcd' } as const;
    expect(await statuses([voip])).toEqual(['updated']);
    expect(await accepted()).toBe(0);
    expect(await exported()).toMatchObject([{ kind: 'voip', token: 'abcd' }]);

    await acceptDevice(opened.database, instance, idOf(created));
    const device = newDevice({ platform: 'apns', token: 'abcd', identity: row.identity });
    await devices.register({ instance, device, nowMs: NOW_MS });
    expect(await accepted()).toBe(0);
    expect((await exported())[0]).toMatchObject({ token: 'abcd', origin: undefined });
    expect((await exported())[0]).not.toHaveProperty('kind');
  });

  it('give out nothing of an instance without devices', async () => {
    expect(await moves.exportRows({ instance, after: 0, limit: 10 })).toEqual({
      devices: [],
      next: undefined,
    });
  });

  it('give devices out page by page', async () => {
    await importRows(Array.from({ length: 5 }, () => rowOf()));
    const first = await moves.exportRows({ instance, after: 0, limit: 3 });
    expect(first.devices).toHaveLength(3);
    const second = await moves.exportRows({ instance, after: first.next ?? 0, limit: 3 });
    expect(second.devices).toHaveLength(2);
    expect(second.next).toBeUndefined();
  });

  it('fail for an instance that the store has lost', async () => {
    const lost = { instance: 999_999, name: 'a' };
    expect(importRows([rowOf()], lost)).rejects.toThrow(StoreLost);
    expect(moves.exportRows({ instance: 999_999, after: 0, limit: 1 })).rejects.toThrow(StoreLost);
    expect(moves.countImport(lost)).rejects.toThrow(StoreLost);
    expect(moves.undoImport({ ...lost, max: 1 })).rejects.toThrow(StoreLost);
  });
});
