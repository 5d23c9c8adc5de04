import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import type { AudienceSource } from '../../../src/push/audience-source.ts';
import type { DeviceStore } from '../../../src/push/device-store.ts';
import type { DeviceId, NewDevice } from '../../../src/push/model/device.ts';
import type { PublishTarget } from '../../../src/push/model/publish.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';

/** An audience to test, and the devices that it is read from. */
export interface OpenAudience extends AsyncDisposable {
  readonly devices: DeviceStore;
  readonly audience: AudienceSource;
  newInstance(): Promise<number>;
}

/** What the push core expects of any audience source. */
export function audienceSourceContract(name: string, open: () => Promise<OpenAudience>): void {
  describe(`${name} keeps the audience source contract`, () => {
    let opened: OpenAudience;
    let devices: DeviceStore;
    let audience: AudienceSource;
    let instance: number;
    beforeAll(async () => {
      opened = await open();
      ({ devices, audience } = opened);
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    beforeEach(async () => {
      instance = await opened.newInstance();
    });

    const registered = async (
      interests: readonly string[],
      more: Partial<NewDevice> = {},
      where = instance,
    ): Promise<DeviceId> => {
      const device = newDevice(more);
      await devices.register({ instance: where, device, nowMs: NOW_MS });
      const key = { instance: where, id: device.id };
      if (interests.length > 0) await devices.setInterests({ ...key, interests });
      return device.id;
    };
    const setUser = (id: DeviceId, userId: string) =>
      devices.setUser({ instance, id, userId, max: 100, replaceOldest: false, nowMs: NOW_MS });
    const numbersOf = (name: string, kind: PublishTarget['kind'] = 'interests') =>
      audience.numbers({ instance, kind, name, after: 0, limit: 10_000 });
    const idsOf = async (numbers: readonly number[]) =>
      (await audience.recipients(instance, numbers)).map(({ id }) => id);
    const interested = async (interest: string) => await idsOf(await numbersOf(interest));
    const ofUser = async (userId: string) => await idsOf(await numbersOf(userId, 'users'));

    it('returns the devices of an interest, page by page, in one order', async () => {
      const ids: DeviceId[] = [];
      for (let index = 0; index < 25; index += 1) {
        ids.push(await registered(index % 2 === 0 ? ['even', 'all'] : ['all']));
      }
      const all = await numbersOf('all');
      expect(all).toHaveLength(25);
      expect(all.toSorted((a, b) => a - b)).toEqual([...all]);
      expect(await idsOf(all)).toEqual(ids);
      const even = await numbersOf('even');
      expect([...even]).toEqual(all.filter((_, index) => index % 2 === 0));

      const pages: number[][] = [];
      for (let after = 0; ; ) {
        const page = await audience.numbers({
          instance,
          kind: 'interests',
          name: 'all',
          after,
          limit: 10,
        });
        pages.push([...page]);
        if (page.length < 10) break;
        after = page.at(-1) ?? 0;
      }
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
      expect(pages.flat()).toEqual([...all]);
      expect(
        await audience.numbers({
          instance,
          kind: 'interests',
          name: 'all',
          after: all.at(-1) ?? 0,
          limit: 9,
        }),
      ).toEqual([]);
    });

    it('returns the devices of a user on all platforms', async () => {
      const phone = await registered([], { platform: 'apns' });
      const browser = await registered([], { platform: 'web' });
      const other = await registered([]);
      await setUser(browser, 'ann');
      await setUser(phone, 'ann');
      await setUser(other, 'bob');
      const numbers = await numbersOf('ann', 'users');
      expect(await idsOf(numbers)).toEqual([phone, browser]);
      const [first = 0] = numbers;
      const range = { instance, kind: 'users', name: 'ann', limit: 1 } as const;
      expect(await audience.numbers({ ...range, after: 0 })).toEqual([first]);
      expect(await idsOf(await audience.numbers({ ...range, after: first }))).toEqual([browser]);
    });

    it('compares names exactly', async () => {
      const names = ['a', 'A', '_', '-', 'ab', 'a,b', 'a;b', 'a=b', '@'];
      const ids = new Map<string, DeviceId>();
      for (const name of names) ids.set(name, await registered([name]));
      for (const [name, id] of ids) expect(await interested(name)).toEqual([id]);
      expect(await interested('%')).toEqual([]);

      const users = ['a', 'A', '%', 'a%', '_', "o'hara", '"', '\\', '😀', 'é', 'e\u0301'];
      const owners = new Map<string, DeviceId>();
      for (const user of users) {
        const id = await registered([]);
        await setUser(id, user);
        owners.set(user, id);
      }
      for (const [user, id] of owners) expect(await ofUser(user)).toEqual([id]);
    });

    it('returns all that a gateway needs', async () => {
      const device = newDevice({ platform: 'apns', bundleId: 'com.example.shop' });
      const plain = newDevice({ platform: 'web', token: '{"endpoint":"https://push.test/😀"}' });
      await devices.register({ instance, device, nowMs: NOW_MS + 1 });
      await devices.register({ instance, device: plain, nowMs: NOW_MS + 2 });
      await devices.setInterests({ instance, id: device.id, interests: ['a'] });
      await devices.setInterests({ instance, id: plain.id, interests: ['a'] });
      await setUser(device.id, 'ann');
      const numbers = await numbersOf('a');
      expect(await audience.recipients(instance, numbers)).toEqual([
        {
          number: numbers[0] ?? 0,
          id: device.id,
          platform: 'apns',
          token: device.token,
          bundleId: 'com.example.shop',
          userId: 'ann',
          // When its user was set.
          seenAtMs: NOW_MS,
          isTrusted: false,
        },
        {
          number: numbers[1] ?? 0,
          id: plain.id,
          platform: 'web',
          token: plain.token,
          bundleId: undefined,
          userId: undefined,
          seenAtMs: NOW_MS + 2,
          isTrusted: false,
        },
      ]);
      await devices.setToken({
        instance,
        id: device.id,
        token: 'new',
        identity: 'new',
        nowMs: NOW_MS + 9,
      });
      expect(await audience.recipients(instance, numbers)).toMatchObject([
        { token: 'new', seenAtMs: NOW_MS + 9 },
        { token: plain.token },
      ]);
    });

    it('omits deleted, foreign and unknown devices, and keeps the order', async () => {
      const elsewhere = await opened.newInstance();
      const ids = [await registered(['a']), await registered(['a']), await registered(['a'])];
      const foreign = await registered(['a'], {}, elsewhere);
      const numbers = await numbersOf('a');
      const [theirs = 0] = await audience.numbers({
        instance: elsewhere,
        kind: 'interests',
        name: 'a',
        after: 0,
        limit: 10,
      });
      expect(numbers).toHaveLength(3);
      await devices.delete({ instance, id: ids[1] ?? foreign });
      const asked = [theirs, ...numbers.toReversed(), 1_000_000_007];
      expect(await idsOf(asked)).toEqual([ids[0] ?? foreign, ids[2] ?? foreign]);
      expect(await audience.recipients(instance, [])).toEqual([]);
      expect(await interested('a')).toEqual([ids[0] ?? foreign, ids[2] ?? foreign]);
    });

    it('returns only the current registration of a device', async () => {
      const [before, now] = [
        newDevice({ token: 't', identity: 't' }),
        newDevice({ token: 'other keys', identity: 't' }),
      ];
      await devices.register({ instance, device: before, nowMs: NOW_MS });
      await devices.setInterests({ instance, id: before.id, interests: ['old', 'both'] });
      await setUser(before.id, 'ann');
      await devices.register({ instance, device: now, nowMs: NOW_MS });
      await devices.setInterests({ instance, id: now.id, interests: ['both'] });
      expect(await interested('old')).toEqual([]);
      expect(await interested('both')).toEqual([now.id]);
      expect(await ofUser('ann')).toEqual([]);
    });

    it('accepts thousands of numbers', async () => {
      const ids = await Promise.all(Array.from({ length: 30 }, () => registered(['many'])));
      const numbers = await numbersOf('many');
      const unknown = Array.from({ length: 3000 }, (_, index) => 1_000_000_007 + index);
      const asked = [...unknown.slice(0, 1500), ...numbers, ...unknown.slice(1500)];
      const recipients = await audience.recipients(instance, asked);
      expect(recipients.map(({ number }) => number)).toEqual([...numbers]);
      expect(new Set(recipients.map(({ id }) => id))).toEqual(new Set(ids));
    });
  });
}
