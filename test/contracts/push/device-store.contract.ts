import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import type { DeviceStore } from '../../../src/push/device-store.ts';
import type { Device, DeviceId, NewDevice, Platform } from '../../../src/push/model/device.ts';
import { newDeviceId } from '../../../src/push/model/device-id.ts';
import { DEVICES_PER_USER } from '../../../src/push/model/instance.ts';
import { StoreLost } from '../../../src/push/store-faults.ts';
import type { InstanceCounts } from '../../../src/stores/push/devices/instance-counts.ts';
import { deviceInterestsContract } from './device-interests.contract.ts';
import { type RegisteringScene, registeringMoreContract } from './registering-more.contract.ts';

/** A store to test. */
export interface OpenDeviceStore extends AsyncDisposable {
  readonly store: DeviceStore;
  /** Another server on the same store. */
  readonly other: DeviceStore;
  newInstance(): Promise<number>;
  /** The counts of an instance. */
  counts(instance: number): Promise<InstanceCounts>;
  /** A gateway accepts this token of a device. */
  accept(instance: number, id: DeviceId, token: string): Promise<void>;
  /** Loses an instance, as if the database was replaced. */
  lose(instance: number): Promise<void>;
}

export const NOW_MS = Date.UTC(2026, 0, 15, 12);

/** A new device. */
export function newDevice(more: Partial<NewDevice> = {}): NewDevice {
  const platform = more.platform ?? 'fcm';
  const token = `token-${crypto.randomUUID()}`;
  return {
    id: newDeviceId(platform),
    platform,
    token,
    identity: token,
    bundleId: undefined,
    metadata: { sdkVersion: '1.10.0' },
    client: 'push-notifications-android 1.10.0',
    ...more,
  };
}

/** What the push API expects of any device store. */
export function deviceStoreContract(name: string, open: () => Promise<OpenDeviceStore>): void {
  describe(`${name} keeps the device store contract`, () => {
    let opened: OpenDeviceStore;
    let store: DeviceStore;
    let other: DeviceStore;
    let instance: number;
    beforeAll(async () => {
      opened = await open();
      ({ store, other } = opened);
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    beforeEach(async () => {
      instance = await opened.newInstance();
    });

    const tokens = new Map<DeviceId, string>();
    const registered = async (more: Partial<NewDevice> = {}): Promise<DeviceId> => {
      const device = newDevice(more);
      await store.register({ instance, device, nowMs: NOW_MS });
      tokens.set(device.id, device.token);
      return device.id;
    };
    const tokenOf = (id: DeviceId) => tokens.get(id) ?? '';
    const sharing = (token: string, more: Partial<NewDevice> = {}) =>
      newDevice({ token, identity: token, ...more });
    const there = async (ids: readonly DeviceId[]): Promise<readonly DeviceId[]> => {
      const devices = await Promise.all(ids.map((id) => store.get({ instance, id })));
      return devices.filter((device): device is Device => device !== undefined).map(({ id }) => id);
    };
    const register = (device: NewDevice, devicesMax = 0) =>
      store.register({ instance, device, nowMs: NOW_MS, devicesMax });
    const devicesOf = async (where: number) => (await opened.counts(where)).devices;
    const allInterests = async (id: DeviceId) =>
      (await store.interests({ instance, id, after: '', limit: 10_000 }))?.interests;
    const user = (userId: string, max = 100, replaceOldest = false) => ({
      userId,
      max,
      replaceOldest,
    });
    const newToken = { token: 'new', identity: 'new' };
    /** Concurrent calls, to two servers in turn. */
    const atOnce = <T, R>(items: readonly T[], call: (on: DeviceStore, item: T) => Promise<R>) =>
      Promise.all(items.map((item, index) => call(index % 2 === 0 ? store : other, item)));

    describe('registering', () => {
      it('returns a device as it was registered', async () => {
        const metadata = { sdkVersion: '2.0', iosVersion: '19 "β" \u0000 \ud800 😀' };
        for (const platform of ['apns', 'fcm', 'web'] satisfies Platform[]) {
          const id = await registered({ platform, metadata, bundleId: 'com.example' });
          expect(await store.get({ instance, id })).toEqual({
            id,
            platform,
            userId: undefined,
            metadata,
          });
          expect(await allInterests(id)).toEqual([]);
        }
        expect(await devicesOf(instance)).toBe(3);
      });

      it('finds the device with the same token, with its id, interests and user', async () => {
        const first = sharing('one', { bundleId: 'com.example' });
        const metadata = { sdkVersion: '4.1.0' };
        const second = sharing('one', { bundleId: 'com.example', metadata });
        expect(await register(first)).toEqual({ id: first.id, interests: [], isNew: true });
        await store.setInterests({ instance, id: first.id, interests: ['news', 'Zoo', 'a'] });
        await store.setUser({ instance, id: first.id, ...user('ann'), nowMs: NOW_MS });
        await opened.accept(instance, first.id, first.token);
        for (const on of [store, other]) {
          expect(await on.register({ instance, device: second, nowMs: NOW_MS + 1 })).toEqual({
            id: first.id,
            interests: ['Zoo', 'a', 'news'],
            isNew: false,
          });
        }
        expect(await there([first.id, second.id])).toEqual([first.id]);
        expect(await store.get({ instance, id: first.id })).toMatchObject({
          userId: 'ann',
          metadata,
        });
        expect(await opened.counts(instance)).toEqual({ devices: 1, accepted: 1, interests: 3 });
      });

      it('does not trust a known token of another app until a gateway accepts it there', async () => {
        const first = sharing('moved', { bundleId: 'com.example' });
        await register(first);
        await opened.accept(instance, first.id, first.token);
        await register(sharing('moved', { bundleId: 'com.example.beta' }));
        expect(await opened.counts(instance)).toMatchObject({ devices: 1, accepted: 0 });
        await opened.accept(instance, first.id, first.token);
        expect(await opened.counts(instance)).toMatchObject({ devices: 1, accepted: 1 });
      });

      it('replaces a device with the same identity whose token differs, and nothing is inherited', async () => {
        const [first, second] = [sharing('one'), sharing('one', { token: 'other keys' })];
        await register(first);
        await store.setInterests({ instance, id: first.id, interests: ['news'] });
        await store.setUser({ instance, id: first.id, ...user('ann'), nowMs: NOW_MS });
        expect(await register(second)).toEqual({ id: second.id, interests: [], isNew: true });
        expect(await there([first.id, second.id])).toEqual([second.id]);
        expect(await store.get({ instance, id: second.id })).toMatchObject({ userId: undefined });
        expect(await allInterests(second.id)).toEqual([]);
        expect(await devicesOf(instance)).toBe(1);
      });

      it('does not replace a device of another instance with the same token', async () => {
        const elsewhere = await opened.newInstance();
        const [here, there] = [sharing('both'), sharing('both')];
        await store.register({ instance, device: here, nowMs: NOW_MS });
        await store.register({ instance: elsewhere, device: there, nowMs: NOW_MS });
        expect(await store.get({ instance, id: here.id })).toMatchObject({ id: here.id });
        expect(await store.get({ instance: elsewhere, id: there.id })).toMatchObject({
          id: there.id,
        });
        expect(await store.get({ instance, id: there.id })).toBeUndefined();
        await store.delete({ instance, id: there.id });
        expect(await store.setInterests({ instance, id: there.id, interests: ['a'] })).toBe(
          'no-device',
        );
        expect(await store.get({ instance: elsewhere, id: there.id })).toMatchObject({
          id: there.id,
        });
        expect(await devicesOf(elsewhere)).toBe(1);
      });

      it('is refused at the limit of the instance, until a device is deleted', async () => {
        const [first, second] = [newDevice(), newDevice()];
        expect(await register(first, 2)).toMatchObject({ isNew: true });
        expect(await register(second, 2)).toMatchObject({ isNew: true });
        const third = newDevice();
        expect(await register(third, 2)).toBe('full');
        expect(await there([first.id, second.id, third.id])).toEqual([first.id, second.id]);
        await store.delete({ instance, id: second.id });
        expect(await register(third, 2)).toMatchObject({ isNew: true });
        expect(await devicesOf(instance)).toBe(2);
      });

      it('is not refused to a known token, nor to a device that replaces another', async () => {
        const [first, second] = [sharing('kept'), sharing('kept', { token: 'other keys' })];
        await register(first, 1);
        expect(await register(sharing('kept'), 1)).toMatchObject({ id: first.id });
        expect(await register(second, 1)).toMatchObject({ id: second.id });
        expect(await there([first.id, second.id])).toEqual([second.id]);
      });

      it('keeps the limit for concurrent registrations at one server', async () => {
        const devices = Array.from({ length: 40 }, () => newDevice());
        const results = await Promise.all(
          devices.map((device) =>
            store.register({ instance, device, nowMs: NOW_MS, devicesMax: 25 }),
          ),
        );
        expect(results.filter((result) => result !== 'full')).toHaveLength(25);
        expect(await devicesOf(instance)).toBe(25);
      });

      it('keeps one of several concurrent registrations of a token', async () => {
        for (let round = 0; round < 5; round += 1) {
          const devices = Array.from({ length: 16 }, () => sharing(`hot ${round}`));
          const results = await atOnce(devices, (on, device) =>
            on.register({ instance, device, nowMs: NOW_MS }),
          );
          const ids = new Set(
            results.map((result) => (typeof result === 'string' ? result : result.id)),
          );
          expect(await there(devices.map(({ id }) => id))).toEqual([...ids] as DeviceId[]);
          expect(ids.size).toBe(1);
          expect(await devicesOf(instance)).toBe(round + 1);
        }
      });

      it('counts each device once, with concurrent registrations and deletions', async () => {
        const devices = Array.from({ length: 60 }, () => newDevice());
        await atOnce(devices, (on, device) => on.register({ instance, device, nowMs: NOW_MS }));
        const gone = devices.slice(0, 20);
        await atOnce([...gone, ...gone], (on, { id }) => on.delete({ instance, id }));
        expect(await devicesOf(instance)).toBe(40);
        expect(await there(devices.map(({ id }) => id))).toHaveLength(40);
      });
    });

    it('deletes a device, and settles if there is none', async () => {
      const [id, left] = [await registered(), await registered()];
      await store.setInterests({ instance, id, interests: ['a'] });
      await store.delete({ instance, id });
      await store.delete({ instance, id });
      await store.delete({ instance, id: 'nonsense' as DeviceId });
      expect(await there([id, left])).toEqual([left]);
      expect(await store.interests({ instance, id, after: '', limit: 10 })).toBeUndefined();
      expect(await devicesOf(instance)).toBe(1);
    });

    it('changes metadata', async () => {
      const id = await registered();
      expect(
        await store.setMetadata({
          instance,
          id,
          metadata: { androidVersion: '16' },
          nowMs: NOW_MS,
        }),
      ).toBe(true);
      expect(await store.get({ instance, id })).toMatchObject({
        metadata: { androidVersion: '16' },
      });
      expect(
        await store.setMetadata({ instance, id: newDeviceId('fcm'), metadata: {}, nowMs: NOW_MS }),
      ).toBe(false);
    });

    describe('tokens', () => {
      const tokenOf = (text: string) => ({ token: text, identity: text });

      it('change, and another device with the new one is replaced', async () => {
        const [first, second] = [await registered(), sharing('second')];
        await store.register({ instance, device: second, nowMs: NOW_MS });
        await store.setInterests({ instance, id: first, interests: ['kept'] });
        expect(
          await store.setToken({ instance, id: first, ...tokenOf('second'), nowMs: NOW_MS }),
        ).toBe(true);
        expect(await there([first, second.id])).toEqual([first]);
        expect(await allInterests(first)).toEqual(['kept']);
        expect(await devicesOf(instance)).toBe(1);

        expect(
          await store.setToken({ instance, id: first, ...tokenOf('second'), nowMs: NOW_MS }),
        ).toBe(true);
        // The token belongs to this device now.
        expect(await register(sharing('second'))).toMatchObject({ id: first });
      });

      it('may change their text only, as that of a browser with other keys at its endpoint', async () => {
        const device = newDevice();
        await store.register({ instance, device, nowMs: NOW_MS });
        const { id, identity } = device;
        const changed = { instance, id, token: 'other keys', identity, nowMs: NOW_MS };
        expect(await store.setToken(changed)).toBe(true);
        // The same token is the same device.
        const again = newDevice({ identity, token: 'other keys' });
        expect(await register(again)).toMatchObject({ id });
        expect(await devicesOf(instance)).toBe(1);
      });

      it('belong to one device, even if several set it concurrently', async () => {
        const ids = await Promise.all(Array.from({ length: 8 }, () => registered()));
        await atOnce(ids, (on, id) =>
          on.setToken({ instance, id, ...tokenOf('wanted'), nowMs: NOW_MS }),
        );
        expect(await there(ids)).toHaveLength(1);
        expect(await devicesOf(instance)).toBe(1);
      });
    });

    describe('users', () => {
      const setUser = (id: DeviceId, more: ReturnType<typeof user>, nowMs = NOW_MS) =>
        store.setUser({ instance, id, ...more, nowMs });

      it('own a device until it is deleted', async () => {
        const id = await registered();
        expect(await setUser(id, user('ann'))).toBe('set');
        expect(await setUser(id, user('ann'))).toBe('set');
        expect(await setUser(id, user('bob'))).toBe('other-user');
        expect(await setUser(newDeviceId('fcm'), user('ann'))).toBe('no-device');
        expect(await store.get({ instance, id })).toMatchObject({ userId: 'ann' });
      });

      it('have a limit of devices for each platform', async () => {
        const [one, two, three] = [await registered(), await registered(), await registered()];
        const web = await registered({ platform: 'web' });
        expect(await setUser(one, user('ann', 2))).toBe('set');
        expect(await setUser(two, user('ann', 2))).toBe('set');
        expect(await setUser(three, user('ann', 2))).toBe('full');
        expect(await setUser(one, user('ann', 2))).toBe('set');
        expect(await setUser(web, user('ann', 2))).toBe('set');
        expect(await setUser(three, user('bob', 2))).toBe('set');
      });

      it('lose the device seen longest ago, if the caller wants that', async () => {
        const ids = [await registered(), await registered(), await registered()] as const;
        const next = await registered();
        for (const [index, id] of ids.entries()) await setUser(id, user('ann', 3), NOW_MS + index);
        // Both devices are seen again, the second by its metadata.
        await setUser(ids[0], user('ann', 3), NOW_MS + 100);
        await store.setMetadata({ instance, id: ids[1], metadata: {}, nowMs: NOW_MS + 50 });
        expect(await setUser(next, user('ann', 3, true), NOW_MS + 200)).toBe('set');
        expect(await there([...ids, next])).toEqual([ids[0], ids[1], next]);
        expect(await setUser(await registered(), user('ann', 3, true), NOW_MS + 300)).toBe('set');
        expect(await there([...ids, next])).toEqual([ids[0], next]);
        expect(await devicesOf(instance)).toBe(3);
      });

      it('keep their limit with concurrent devices', async () => {
        const ids = await Promise.all(
          Array.from({ length: DEVICES_PER_USER + 4 }, () => registered()),
        );
        const results = await atOnce(ids, (on, id) =>
          on.setUser({ instance, id, ...user('ann', DEVICES_PER_USER), nowMs: NOW_MS }),
        );
        expect(results.filter((result) => result === 'set')).toHaveLength(DEVICES_PER_USER);
        expect(results.filter((result) => result === 'full')).toHaveLength(4);
        expect(await store.deleteUser(instance, 'ann')).toBe(DEVICES_PER_USER);
      });

      it('keep their limit when the oldest devices are replaced', async () => {
        const ids = await Promise.all(Array.from({ length: 12 }, () => registered()));
        await atOnce(ids, (on, id) =>
          on.setUser({ instance, id, ...user('ann', 3, true), nowMs: NOW_MS }),
        );
        expect(await there(ids)).toHaveLength(3);
        expect(await devicesOf(instance)).toBe(3);
      });

      it('do not share a device, even if both set it concurrently', async () => {
        const id = await registered();
        const results = await atOnce(['ann', 'bob', 'cem', 'dee'], (on, name) =>
          on.setUser({ instance, id, ...user(name), nowMs: NOW_MS }),
        );
        expect(results.filter((result) => result === 'set')).toHaveLength(1);
        expect(results.filter((result) => result === 'other-user')).toHaveLength(3);
      });

      it('are deleted with all of their devices, and no others', async () => {
        const names = ['a', 'A', 'a%', '%', '_', "a'b", 'a"b', 'a\\b', '😀', 'é', 'e\u0301', ' a'];
        const devices = new Map<string, DeviceId>();
        for (const name of names) {
          const id = await registered();
          expect(await setUser(id, user(name))).toBe('set');
          devices.set(name, id);
        }
        await setUser(await registered({ platform: 'web' }), user('a%'));
        const nobodys = await registered();
        for (const name of names) {
          expect(await store.deleteUser(instance, name)).toBe(name === 'a%' ? 2 : 1);
          expect(await store.deleteUser(instance, name)).toBe(0);
          devices.delete(name);
          expect(await there([...devices.values()])).toHaveLength(devices.size);
        }
        expect(await there([nobodys])).toEqual([nobodys]);
        expect(await devicesOf(instance)).toBe(1);
      });

      it('are deleted while their devices come and go', async () => {
        const names = ['ann', 'bob', 'cem'];
        const devices = Array.from({ length: 60 }, (_, index) => ({
          device: sharing(`token ${index % 40}`),
          name: names[index % 3] ?? '',
        }));
        await atOnce(devices, async (on, { device, name }) => {
          await on.register({ instance, device, nowMs: NOW_MS });
          await on.setUser({ instance, id: device.id, ...user(name), nowMs: NOW_MS });
          await on.deleteUser(instance, name);
        });
        const left = await there(devices.map(({ device }) => device.id));
        expect(await devicesOf(instance)).toBe(left.length);
        for (const name of names) expect(await store.deleteUser(instance, name)).toBe(0);
      });
    });

    const scene: RegisteringScene = {
      get store() {
        return store;
      },
      get instance() {
        return instance;
      },
      registered,
      allInterests,
      interestCount: async () => (await opened.counts(instance)).interests,
      atOnce,
      there,
      newDevice,
    };
    deviceInterestsContract(scene);
    registeringMoreContract(scene);

    describe('a device that a gateway has accepted', () => {
      const accepted = async () => (await opened.counts(instance)).accepted;

      it('counts once, until it is deleted', async () => {
        const device = newDevice();
        await store.register({ instance, device, nowMs: NOW_MS });
        expect(await accepted()).toBe(0);
        await opened.accept(instance, device.id, device.token);
        await opened.accept(instance, device.id, device.token);
        expect(await accepted()).toBe(1);
        await store.setMetadata({ instance, id: device.id, metadata: {}, nowMs: NOW_MS });
        expect(await accepted()).toBe(1);
        await store.delete({ instance, id: device.id });
        expect(await accepted()).toBe(0);
      });

      it('is unaccepted with another token, and stays accepted with the same', async () => {
        const device = newDevice();
        await store.register({ instance, device, nowMs: NOW_MS });
        await opened.accept(instance, device.id, device.token);
        await store.setToken({ instance, ...device, nowMs: NOW_MS });
        expect(await accepted()).toBe(1);
        await store.setToken({ instance, id: device.id, ...newToken, nowMs: NOW_MS });
        expect(await accepted()).toBe(0);
        // A late answer to an earlier notification.
        await opened.accept(instance, device.id, device.token);
        expect(await accepted()).toBe(0);
        await opened.accept(instance, device.id, 'new');
        expect(await accepted()).toBe(1);
      });

      it('is replaced by another with its identity, which counts as unaccepted', async () => {
        const [first, second] = [sharing('one'), sharing('one', { token: 'other keys' })];
        await register(first);
        await opened.accept(instance, first.id, 'one');
        await register(second);
        expect(await opened.counts(instance)).toMatchObject({ devices: 1, accepted: 0 });
      });

      it('is deleted with its user, and when its user registers beyond the limit', async () => {
        const ids = [await registered(), await registered(), await registered()];
        for (const id of ids) {
          await store.setUser({ instance, id, ...user('ann', 2, true), nowMs: NOW_MS });
          await opened.accept(instance, id, tokenOf(id));
        }
        expect(await opened.counts(instance)).toMatchObject({ devices: 2, accepted: 2 });
        await store.deleteUser(instance, 'ann');
        expect(await opened.counts(instance)).toMatchObject({ devices: 0, accepted: 0 });
      });
    });

    it('fails, rather than call a device unknown, if the store has lost its contents', async () => {
      const id = await registered();
      await store.setUser({ instance, id, ...user('ann'), nowMs: NOW_MS });
      await opened.lose(instance);
      const asked: (() => Promise<unknown>)[] = [
        () => store.register({ instance, device: newDevice(), nowMs: NOW_MS }),
        () => store.get({ instance, id }),
        () => store.delete({ instance, id }),
        () => store.setMetadata({ instance, id, metadata: {}, nowMs: NOW_MS }),
        () => store.setToken({ instance, id, token: 't', identity: 't', nowMs: NOW_MS }),
        () => store.setUser({ instance, id, ...user('ann'), nowMs: NOW_MS }),
        () => store.interests({ instance, id, after: '', limit: 10 }),
        () => store.interestsToChange({ instance, id, interests: ['a'] }),
        () => store.hasInterest({ instance, id, interest: 'a' }),
        () => store.setInterests({ instance, id, interests: ['a'] }),
        () => store.addInterest({ instance, id, interest: 'a', max: 10 }),
        () => store.removeInterest({ instance, id, interest: 'a' }),
        () => store.deleteUser(instance, 'ann'),
      ];
      for (const ask of asked) {
        expect(await ask().catch((error: unknown) => error)).toBeInstanceOf(StoreLost);
      }
    });
  });
}
