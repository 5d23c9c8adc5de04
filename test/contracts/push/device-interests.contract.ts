import { beforeEach, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { DeviceStore } from '../../../src/push/device-store.ts';
import type { DeviceId } from '../../../src/push/model/device.ts';
import { newDeviceId } from '../../../src/push/model/device-id.ts';

/** A store with an instance of its own for each test. */
export interface DeviceScene {
  readonly store: DeviceStore;
  readonly instance: number;
  /** Registers a device. */
  registered(): Promise<DeviceId>;
  allInterests(id: DeviceId): Promise<readonly string[] | undefined>;
  /** How many interests the devices of the instance have together. */
  interestCount(): Promise<number>;
  /** Concurrent calls, to two servers in turn. */
  atOnce<T, R>(items: readonly T[], call: (on: DeviceStore, item: T) => Promise<R>): Promise<R[]>;
}

/** What the push API expects of the interests in any device store. */
export function deviceInterestsContract(scene: DeviceScene): void {
  describe('interests', () => {
    const { registered, allInterests, interestCount, atOnce } = scene;
    let store: DeviceStore;
    let instance: number;
    beforeEach(() => {
      ({ store, instance } = scene);
    });

    it('are listed in byte order, page by page', async () => {
      const id = await registered();
      const names = ['a', 'A', '_', '-', 'Z', 'z', 'a-b', 'ab', 'a_b', '0', '@', 'aB', '=', ';'];
      await store.setInterests({ instance, id, interests: names });
      const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(await allInterests(id)).toEqual(sorted);
      for (const [index, after] of ['', ...sorted].entries()) {
        expect(await store.interests({ instance, id, after, limit: 3 })).toEqual({
          interests: sorted.slice(index, index + 3),
          more: sorted.length > index + 3,
        });
      }
      // Between two names, and after the last of the page is the last of all.
      expect(await store.interests({ instance, id, after: 'a-', limit: 2 })).toEqual({
        interests: ['a-b', 'aB'],
        more: true,
      });
      expect(
        await store.interests({ instance, id: newDeviceId('fcm'), after: '', limit: 3 }),
      ).toBeUndefined();
    });

    it('are those that were set last', async () => {
      const name = fc.stringMatching(/^[A-Za-z0-9_\-=@,.;]{1,164}$/);
      const id = await registered();
      const bystander = await registered();
      await store.setInterests({ instance, id: bystander, interests: ['a', 'b'] });
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c', 'A'), name)),
          async (names) => {
            expect(await store.setInterests({ instance, id, interests: names })).toBe('set');
            expect(await allInterests(id)).toEqual(
              [...new Set(names)].sort((a, b) => (a < b ? -1 : 1)),
            );
          },
        ),
        { numRuns: 30 },
      );
      expect(await allInterests(bystander)).toEqual(['a', 'b']);
      expect(await store.setInterests({ instance, id: newDeviceId('fcm'), interests: ['a'] })).toBe(
        'no-device',
      );
    });

    it('may be thousands', async () => {
      const id = await registered();
      const names = Array.from({ length: 1700 }, (_, index) => `i-${10_000 + index}`);
      await store.setInterests({ instance, id, interests: names });
      expect(await allInterests(id)).toEqual(names);
      await store.setInterests({ instance, id, interests: names.slice(600) });
      expect(await allInterests(id)).toEqual(names.slice(600));
      await store.setInterests({ instance, id, interests: [] });
      expect(await allInterests(id)).toEqual([]);
    });

    it('are one of several sets that are set concurrently', async () => {
      const sets = ['a', 'b', 'c', 'd'].map((set) => [`${set}-1`, `${set}-2`]);
      for (let round = 0; round < 25; round += 1) {
        const id = await registered();
        await atOnce(sets, (on, names) => on.setInterests({ instance, id, interests: names }));
        expect(sets).toContainEqual([...((await allInterests(id)) ?? [])]);
      }
    });

    it('are added one by one, up to the limit', async () => {
      const id = await registered();
      expect(await store.addInterest({ instance, id, interest: 'b', max: 2 })).toBe('added');
      expect(await store.addInterest({ instance, id, interest: 'a', max: 2 })).toBe('added');
      expect(await store.addInterest({ instance, id, interest: 'c', max: 2 })).toBe('full');
      expect(await store.addInterest({ instance, id, interest: 'b', max: 2 })).toBe('added');
      expect(await allInterests(id)).toEqual(['a', 'b']);
      expect(
        await store.addInterest({ instance, id: newDeviceId('fcm'), interest: 'a', max: 2 }),
      ).toBe('no-device');
    });

    it('stay within the limit, with concurrent additions', async () => {
      const id = await registered();
      const names = Array.from({ length: 12 }, (_, index) => `i${index}`);
      const results = await atOnce([...names, ...names], (on, interest) =>
        on.addInterest({ instance, id, interest, max: 5 }),
      );
      const kept = (await allInterests(id)) ?? [];
      expect(kept).toHaveLength(5);
      expect(results.filter((result) => result === 'added').length).toBeGreaterThanOrEqual(5);
      for (const interest of kept) {
        expect(await store.addInterest({ instance, id, interest, max: 5 })).toBe('added');
      }
    });

    it('are compared before they are set', async () => {
      const id = await registered();
      await store.setInterests({ instance, id, interests: ['a', 'b', 'c'] });
      expect(await store.interestsToChange({ instance, id, interests: ['c', 'a', 'b', 'a'] })).toBe(
        0,
      );
      expect(await store.interestsToChange({ instance, id, interests: ['b', 'd', 'e'] })).toBe(4);
      expect(
        await store.interestsToChange({ instance, id: newDeviceId('fcm'), interests: ['a'] }),
      ).toBeUndefined();
      expect(await store.hasInterest({ instance, id, interest: 'a' })).toBe(true);
      expect(await store.hasInterest({ instance, id, interest: 'A' })).toBe(false);
      expect(
        await store.hasInterest({ instance, id: newDeviceId('fcm'), interest: 'a' }),
      ).toBeUndefined();
    });

    it('of all devices of an instance together have a limit, and others can still be removed', async () => {
      const [one, two] = [await registered(), await registered()];
      expect(
        await store.setInterests({ instance, id: one, interests: ['a', 'b'], instanceMax: 4 }),
      ).toBe('set');
      expect(
        await store.setInterests({
          instance,
          id: two,
          interests: ['a', 'b', 'c'],
          instanceMax: 4,
        }),
      ).toBe('instance-full');
      expect(
        await store.setInterests({ instance, id: two, interests: ['a', 'b'], instanceMax: 4 }),
      ).toBe('set');
      expect(
        await store.addInterest({ instance, id: two, interest: 'c', max: 9, instanceMax: 4 }),
      ).toBe('instance-full');
      expect(
        await store.addInterest({ instance, id: two, interest: 'b', max: 9, instanceMax: 4 }),
      ).toBe('added');
      // As many as before, then fewer.
      expect(
        await store.setInterests({ instance, id: two, interests: ['x', 'y'], instanceMax: 4 }),
      ).toBe('set');
      expect(
        await store.setInterests({ instance, id: one, interests: ['a'], instanceMax: 4 }),
      ).toBe('set');
      expect(
        await store.addInterest({ instance, id: two, interest: 'c', max: 9, instanceMax: 4 }),
      ).toBe('added');
      expect(await interestCount()).toBe(4);
    });

    it('are counted after every change', async () => {
      const [one, two] = [await registered(), await registered()];
      await store.setInterests({ instance, id: one, interests: ['a', 'b', 'c'] });
      await atOnce(['x', 'y', 'z', 'x', 'y', 'z'], (on, name) =>
        on.addInterest({ instance, id: two, interest: name, max: 100 }),
      );
      await store.removeInterest({ instance, id: two, interest: 'x' });
      await store.removeInterest({ instance, id: two, interest: 'x' });
      await store.setInterests({ instance, id: one, interests: ['c', 'd'] });
      expect(await interestCount()).toBe(4);
    });

    it('are removed one by one, also missing ones', async () => {
      const id = await registered();
      await store.setInterests({ instance, id, interests: ['a', 'b'] });
      expect(await store.removeInterest({ instance, id, interest: 'a' })).toBe(true);
      expect(await store.removeInterest({ instance, id, interest: 'a' })).toBe(true);
      expect(await allInterests(id)).toEqual(['b']);
      expect(await store.removeInterest({ instance, id: newDeviceId('fcm'), interest: 'a' })).toBe(
        false,
      );
    });
  });
}
