import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeviceStore, NewRegistration, NewUser } from '../../../src/push/device-store.ts';
import type { DeviceId, NewDevice } from '../../../src/push/model/device.ts';
import { FURTHER_TOKENS_MAX } from '../../../src/push/model/token-kind.ts';
import type { DeviceScene } from './device-interests.contract.ts';

/** A scene, and which of some devices are there. */
export interface RegisteringScene extends DeviceScene {
  there(ids: readonly DeviceId[]): Promise<readonly DeviceId[]>;
  newDevice(more?: Partial<NewDevice>): NewDevice;
}

const NOW_MS = Date.UTC(2026, 0, 15, 12);

/** What the push API expects of registrations with interests and users, and of further tokens, in any device store. */
export function registeringMoreContract(scene: RegisteringScene): void {
  const { allInterests, interestCount, atOnce, there, newDevice } = scene;
  let store: DeviceStore;
  let instance: number;
  beforeEach(() => {
    ({ store, instance } = scene);
  });

  const register = (
    device: NewDevice,
    more: Partial<NewRegistration> = {},
    on: DeviceStore = store,
  ) => on.register({ instance, device, nowMs: NOW_MS, ...more });
  const names = (...some: readonly string[]) => ({ names: some });
  const user = (userId: string, max = 100, replaceOldest = false): NewUser => ({
    userId,
    max,
    replaceOldest,
  });
  const further = (more: Partial<NewDevice> = {}) =>
    newDevice({ platform: 'apns', kind: 'voip', ...more });
  const userOf = async (id: DeviceId) => (await store.get({ instance, id }))?.userId;

  describe('a registration with interests and a user', () => {
    it('sets both, of a new device and of a known one', async () => {
      const device = newDevice();
      const { id } = device;
      const first = { interests: names('b', 'a'), user: user('ann') };
      expect(await register(device, first)).toEqual({ id, interests: ['a', 'b'], isNew: true });
      expect(await userOf(id)).toBe('ann');
      const again = { ...device, id: newDevice().id };
      expect(await register(again, { ...first, interests: names('c', 'b') })).toEqual({
        id,
        interests: ['b', 'c'],
        isNew: false,
      });
      expect(await register(again)).toMatchObject({ interests: ['b', 'c'] });
      expect(await userOf(id)).toBe('ann');
      expect(await register(again, { interests: names() })).toMatchObject({ interests: [] });
      expect(await interestCount()).toBe(0);
    });

    it('changes nothing if the device has another user', async () => {
      const device = newDevice();
      await register(device, { user: user('ann'), interests: names('a') });
      expect(await register(device, { user: user('bob'), interests: names('b') })).toBe(
        'other-user',
      );
      expect(await userOf(device.id)).toBe('ann');
      expect(await allInterests(device.id)).toEqual(['a']);
    });

    it('registers nothing if the user has no room, and replaces the oldest if that is wanted', async () => {
      const [first, second] = [newDevice(), newDevice()];
      await register(first, { user: user('ann', 1) });
      expect(await register(second, { user: user('ann', 1), interests: names('a') })).toBe(
        'user-full',
      );
      expect(await there([first.id, second.id])).toEqual([first.id]);
      expect(await register(first, { user: user('ann', 1) })).toMatchObject({ id: first.id });
      await register(second, { user: user('ann', 1, true) });
      expect(await there([first.id, second.id])).toEqual([second.id]);
    });

    it('registers nothing if the instance has no room for the interests', async () => {
      const [first, second] = [newDevice(), newDevice()];
      const limited = (...some: readonly string[]) => ({ names: some, instanceMax: 3 });
      await register(first, { interests: limited('a', 'b') });
      const more = { interests: limited('a', 'b'), user: user('ann') };
      expect(await register(second, more)).toBe('interests-full');
      expect(await register(first, { interests: limited('a', 'b', 'c', 'd') })).toBe(
        'interests-full',
      );
      expect(await there([first.id, second.id])).toEqual([first.id]);
      expect(await allInterests(first.id)).toEqual(['a', 'b']);
      expect(await register(first, { interests: limited('b', 'c', 'd') })).toMatchObject({
        interests: ['b', 'c', 'd'],
      });
    });

    it('of one token at the same time ends with one device, which has one of the sets', async () => {
      const device = newDevice();
      const all = Array.from({ length: 16 }, (_, index) => `i-${index}`);
      await atOnce(all, (on, name) =>
        register({ ...device, id: newDevice().id }, { interests: names('all', name) }, on),
      );
      const registered = await register(device);
      if (typeof registered === 'string') throw new Error(registered);
      expect(registered.interests).toHaveLength(2);
      expect(registered.interests).toContain('all');
      expect(await interestCount()).toBe(2);
    });
  });

  describe('a further token', () => {
    it('leaves with its parent, and no other does', async () => {
      const parent = newDevice({ platform: 'apns' });
      const [child, orphan, plain] = [
        further({ parent: parent.identity }),
        further({ parent: 'another' }),
        further(),
      ];
      for (const device of [child, parent, orphan, plain]) await register(device);
      expect(await store.delete({ instance, id: child.id })).toBe(1);
      await register(child);
      expect(await store.delete({ instance, id: parent.id })).toBe(2);
      expect(await there([child.id, parent.id, orphan.id, plain.id])).toEqual([
        orphan.id,
        plain.id,
      ]);
      expect(await store.delete({ instance, id: parent.id })).toBe(0);
    });

    it('has the parent that it named last', async () => {
      const [before, after] = [newDevice({ platform: 'apns' }), newDevice({ platform: 'apns' })];
      const child = further({ parent: before.identity });
      for (const device of [before, after, child]) await register(device);
      await register({ ...child, parent: after.identity });
      expect(await store.delete({ instance, id: before.id })).toBe(1);
      expect(await store.delete({ instance, id: after.id })).toBe(2);
    });

    it('does not count towards the devices of a user, who has a limit of further tokens', async () => {
      const one = newDevice({ platform: 'apns' });
      await register(one, { user: user('ann', 1) });
      const activity = further({ kind: 'liveactivity' });
      await register(activity, { user: user('ann', 1) });
      const calls = Array.from({ length: FURTHER_TOKENS_MAX - 1 }, () => further());
      for (const [index, device] of calls.entries()) {
        await register(device, { user: user('ann', 1), nowMs: NOW_MS + 1 + index });
      }
      const known = [one.id, activity.id, ...calls.map(({ id }) => id)];
      expect(await there(known)).toEqual(known);
      // The oldest of its kind leaves, although another one is older.
      const next = further();
      await register(next, { user: user('ann', 1), nowMs: NOW_MS + 1000 });
      expect(await there([...known, next.id])).toEqual([
        ...known.filter((id) => id !== calls[0]?.id),
        next.id,
      ]);
      // So does it if the user is set by a call of its own, and if no other is of its kind.
      const widget = further({ kind: 'widgets' });
      await register(widget);
      const set = { instance, id: widget.id, ...user('ann', 1), nowMs: NOW_MS + 2000 };
      expect(await store.setUser(set)).toBe('set');
      expect(await there([one.id, activity.id, widget.id])).toEqual([one.id, widget.id]);
      expect(await register(newDevice({ platform: 'apns' }), { user: user('ann', 1) })).toBe(
        'user-full',
      );
    });

    it('makes room among those of its parent', async () => {
      const all = Array.from({ length: FURTHER_TOKENS_MAX + 1 }, () => further({ parent: 'p' }));
      for (const [index, device] of all.entries()) {
        await register(device, { nowMs: NOW_MS + index });
      }
      const [, ...others] = all.map(({ id }) => id);
      expect(await there(all.map(({ id }) => id))).toEqual(others);
    });
  });
}
