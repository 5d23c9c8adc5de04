import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import type { AudienceSource } from '../../../src/push/audience-source.ts';
import type { DeviceStore } from '../../../src/push/device-store.ts';
import type { DeviceId, NewDevice } from '../../../src/push/model/device.ts';
import { newDeviceId } from '../../../src/push/model/device-id.ts';
import type { Preferences } from '../../../src/push/model/preferences.ts';
import type { PreferenceStore } from '../../../src/push/preference-store.ts';
import { StoreLost } from '../../../src/push/store-faults.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';

/** A store to test. */
export interface OpenPreferences extends AsyncDisposable {
  readonly devices: DeviceStore;
  readonly preferences: PreferenceStore;
  readonly audience: AudienceSource;
  newInstance(): Promise<number>;
  lose(instance: number): Promise<void>;
}

const QUIET = { from: '22:00', to: '07:30' };
const ALL = { language: 'de', timeZone: 'Europe/Berlin', quietHours: QUIET };

/** What the push API and the pipeline expect of any store of preferences. */
export function preferencesContract(name: string, open: () => Promise<OpenPreferences>): void {
  describe(`${name} keep the contract of preferences`, () => {
    let opened: OpenPreferences;
    let devices: DeviceStore;
    let preferences: PreferenceStore;
    let instance: number;
    beforeAll(async () => {
      opened = await open();
      ({ devices, preferences } = opened);
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    beforeEach(async () => {
      instance = await opened.newInstance();
    });

    const registered = async (
      more: Partial<NewDevice> = {},
      userId?: string,
    ): Promise<DeviceId> => {
      const device = newDevice(more);
      await devices.register({ instance, device, nowMs: NOW_MS });
      const key = { instance, id: device.id };
      await devices.setInterests({ ...key, interests: ['all'] });
      if (userId !== undefined) {
        await devices.setUser({ ...key, userId, max: 9, replaceOldest: false, nowMs: NOW_MS });
      }
      return device.id;
    };
    const set = (id: DeviceId, changes: Preferences) =>
      preferences.setOfDevice({ instance, id, changes });
    const setUser = (userId: string, changes: Preferences) =>
      preferences.setOfUser({ instance, userId, changes });
    /** What the pipeline knows of each device. */
    const effective = async (): Promise<readonly unknown[]> => {
      const range = { instance, kind: 'interests', name: 'all', after: 0, limit: 99 } as const;
      const numbers = await opened.audience.numbers(range);
      const recipients = await opened.audience.recipients(instance, numbers);
      return recipients.map((one) => one.preferences);
    };

    it('reads what was set, field by field', async () => {
      const id = await registered();
      expect(await preferences.ofDevice({ instance, id })).toEqual({});
      expect(await effective()).toEqual([undefined]);
      expect(await set(id, { language: 'de' })).toBe(true);
      expect(await set(id, { timeZone: 'Europe/Berlin', quietHours: QUIET })).toBe(true);
      expect(await preferences.ofDevice({ instance, id })).toEqual(ALL);
      expect(await effective()).toEqual([ALL]);
      const none = { language: null, timeZone: null, quietHours: null };
      expect(await preferences.setOfDevice({ instance, id, changes: none })).toBe(true);
      expect(await preferences.ofDevice({ instance, id })).toEqual({});
    });

    it('knows only devices of the instance', async () => {
      const id = await registered();
      const elsewhere = await opened.newInstance();
      for (const key of [
        { instance: elsewhere, id },
        { instance, id: newDeviceId('fcm') },
      ]) {
        expect(await preferences.setOfDevice({ ...key, changes: ALL })).toBe(false);
        expect(await preferences.ofDevice(key)).toBeUndefined();
      }
    });

    it('finds a device by its token', async () => {
      const id = await registered({ token: 'a token', identity: 'an identity' });
      const found = (where: number, identity: string) =>
        preferences.deviceWithToken({ instance: where, identity });
      expect(await found(instance, 'an identity')).toBe(id);
      expect(await found(instance, 'another')).toBeUndefined();
      expect(await found(await opened.newInstance(), 'an identity')).toBeUndefined();
    });

    it('keeps the language of a header apart from one that was set', async () => {
      const token = { token: 't', identity: 't' };
      const id = await registered({ ...token, acceptLanguage: 'fr' });
      const language = async () => (await preferences.ofDevice({ instance, id }))?.language;
      expect(await language()).toBe('fr');
      await registered({ ...token, acceptLanguage: undefined });
      expect(await language()).toBe('fr');
      await registered({ ...token, acceptLanguage: 'it' });
      expect(await language()).toBe('it');
      await set(id, { language: 'de' });
      await devices.setMetadata({
        instance,
        id,
        metadata: {},
        acceptLanguage: 'es',
        nowMs: NOW_MS,
      });
      expect([await language(), await effective()]).toEqual(['de', [{ language: 'de' }]]);
      await preferences.setOfDevice({ instance, id, changes: { language: null } });
      expect(await language()).toBe('es');
    });

    it("lets each field of a device win over its user's", async () => {
      await registered({}, 'ann');
      await setUser('ann', ALL);
      const second = await registered({ acceptLanguage: 'it' }, 'ann');
      await set(second, { quietHours: 'none' });
      await registered({}, 'bob');
      expect(await effective()).toEqual([
        ALL,
        { ...ALL, language: 'it', quietHours: 'none' },
        undefined,
      ]);
    });

    it('changes and forgets those of users, with or without devices', async () => {
      const ann = { instance, userId: 'ann' };
      expect(await preferences.ofUser(ann)).toEqual({});
      await setUser('ann', ALL);
      await preferences.setOfUser({ ...ann, changes: { language: 'en', timeZone: null } });
      expect(await preferences.ofUser(ann)).toEqual({ language: 'en', quietHours: QUIET });
      const elsewhere = await opened.newInstance();
      expect(await preferences.ofUser({ ...ann, instance: elsewhere })).toEqual({});
      await preferences.forgetUser(ann);
      expect(await preferences.ofUser(ann)).toEqual({});
      await setUser('ann', ALL);
      await devices.deleteUser(instance, 'ann');
      expect(await preferences.ofUser(ann)).toEqual({});
    });

    it('rejects if the instance is lost', async () => {
      const id = await registered();
      await opened.lose(instance);
      const ann = { instance, userId: 'ann' };
      const calls = [
        preferences.ofDevice({ instance, id }),
        set(id, ALL),
        preferences.deviceWithToken({ instance, identity: 'x' }),
        preferences.ofUser(ann),
        setUser('ann', ALL),
        preferences.forgetUser(ann),
      ];
      const results = await Promise.allSettled(calls);
      for (const result of results) {
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(StoreLost) });
      }
    });
  });
}
