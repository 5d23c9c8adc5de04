import { describe, expect, it } from 'bun:test';
import { newDeviceId } from '../../../src/push/model/device-id.ts';
import {
  type NewPublish,
  NO_COUNTS,
  type PublishId,
  type PublishStatus,
  type Report,
} from '../../../src/push/model/publish.ts';
import { newPublishId } from '../../../src/push/model/publish-id.ts';
import type { PublishAt, PublishStore } from '../../../src/push/publish-store.ts';
import { StoreLost } from '../../../src/push/store-faults.ts';

const NOW_MS = Date.UTC(2026, 0, 15, 12);
const DAY_MS = 24 * 60 * 60 * 1000;

/** A store of its own for one test. */
export interface PublishStoreCase extends AsyncDisposable {
  readonly store: PublishStore;
  /** Another server on the same store. */
  readonly other: PublishStore;
  /** An instance's number, and another one's. */
  readonly instance: number;
  readonly foreign: number;
  /** Registers a device, perhaps of a user, and returns its id. */
  device(instance: number, userId?: string): Promise<string>;
  /** Plans a page of a publish with these devices; `cancelled`: it is cancelled before it is sent. */
  plan(publish: PublishId, ids: readonly string[], cancelled?: 'cancelled'): Promise<void>;
  /** A gateway accepts the device. */
  acceptDevice(instance: number, id: string): Promise<void>;
  /** Loses everything, as if the database was replaced. */
  lose(): Promise<void>;
}

function publish(instance: number, changes: Partial<NewPublish> = {}): NewPublish {
  return {
    id: newPublishId(NOW_MS),
    instance,
    createdAtMs: NOW_MS,
    sendAtMs: undefined,
    target: { kind: 'interests', names: ['hello'] },
    platforms: ['web'],
    webhookUrl: undefined,
    body: '{"interests":["hello"],"web":{}}',
    idempotency: undefined,
    devicesMax: 0,
    pendingBytesMax: 0,
    ...changes,
  };
}

function report(
  publishId: NewPublish['id'],
  deviceId: string,
  changes: Partial<Report> = {},
): Report {
  return {
    event: 'delivery',
    publishId,
    deviceId,
    userId: undefined,
    timestampSeconds: NOW_MS / 1000,
    appInBackground: undefined,
    hasDisplayableContent: undefined,
    hasData: undefined,
    ...changes,
  };
}

/** The key of a publish, and the time of the call. */
function at({ instance, id }: Pick<NewPublish, 'instance' | 'id'>, nowMs = NOW_MS): PublishAt {
  return { instance, id, nowMs };
}

function fresh(given: NewPublish): PublishStatus {
  return {
    id: given.id,
    state: given.sendAtMs === undefined ? 'planning' : 'scheduled',
    createdAtMs: given.createdAtMs,
    sendAtMs: given.sendAtMs,
    platforms: { apns: NO_COUNTS, fcm: NO_COUNTS, web: NO_COUNTS },
    delivered: 0,
    opened: 0,
    reasons: [],
  };
}

/** What the push API expects of the store of publishes. */
export function publishStoreContract(name: string, open: () => Promise<PublishStoreCase>): void {
  describe(`${name} keeps the contract of the publish store`, () => {
    it('accepts a publish and returns its status', async () => {
      await using given = await open();
      const one = publish(given.instance);
      expect(await given.store.accept(one)).toEqual({ result: 'accepted', id: one.id });
      expect(await given.other.status(at(one))).toEqual(fresh(one));
    });

    it('stores concurrent publishes, each under its own id', async () => {
      await using given = await open();
      const many = Array.from({ length: 300 }, () => publish(given.instance));
      const accepted = await Promise.all(many.map((one) => given.store.accept(one)));
      expect(accepted.map((one) => one.result === 'accepted' && one.id)).toEqual(
        many.map(({ id }) => id),
      );
      for (const { id } of many) {
        expect((await given.store.status(at({ ...given, id })))?.id).toBe(id);
      }
    });

    it('finds a publish in its own instance only', async () => {
      await using given = await open();
      const one = publish(given.instance);
      await given.store.accept(one);
      expect(await given.store.status(at({ ...one, instance: given.foreign }))).toBeUndefined();
      expect(await given.store.cancel(at({ ...one, instance: given.foreign }))).toBeUndefined();
      expect((await given.store.status(at(one)))?.state).toBe('planning');
    });

    it('is scheduled until its time has come', async () => {
      await using given = await open();
      const later = publish(given.instance, { sendAtMs: NOW_MS + 1000 });
      await given.store.accept(later);
      expect(await given.store.status(at(later, NOW_MS + 999))).toEqual(fresh(later));
      expect((await given.store.status(at(later, NOW_MS + 1000)))?.state).toBe('planning');
    });

    it('cancels what was not sent, permanently', async () => {
      await using given = await open();
      const later = publish(given.instance, { sendAtMs: NOW_MS + 1000 });
      await given.store.accept(later);
      const cancelled = { ...fresh(later), state: 'cancelled' as const };
      expect(await given.store.cancel(at(later))).toEqual({
        ...cancelled,
        isCancelledNow: true,
      });
      expect(await given.other.cancel(at(later))).toEqual(cancelled);
      expect(await given.store.status(at(later, NOW_MS + DAY_MS))).toEqual(cancelled);
    });

    it('accepts a request with an idempotency key once, by whichever server', async () => {
      await using given = await open();
      const idempotency = { key: 'order-1', fingerprint: 'a', expiresAtMs: NOW_MS + DAY_MS };
      const first = publish(given.instance, { idempotency });
      const again = publish(given.instance, { idempotency });
      const accepted = { result: 'accepted', id: first.id } as const;
      expect(await given.store.accept(first)).toEqual(accepted);
      expect(await given.store.accept(again)).toEqual(accepted);
      expect(await given.other.accept(again)).toEqual(accepted);
      expect(await given.store.status(at(again))).toBeUndefined();
    });

    it('accepts one of many requests with one key that arrive together at two servers', async () => {
      await using given = await open();
      const idempotency = { key: 'order-2', fingerprint: 'a', expiresAtMs: NOW_MS + DAY_MS };
      const many = Array.from({ length: 20 }, () => publish(given.instance, { idempotency }));
      const answers = await Promise.all(
        many.map((one, index) => (index % 2 === 0 ? given.store : given.other).accept(one)),
      );
      const ids = new Set(answers.map((one) => (one.result === 'accepted' ? one.id : one.result)));
      expect(ids.size).toBe(1);
      const kept = await Promise.all(many.map((one) => given.store.status(at(one))));
      expect(kept.filter((one) => one !== undefined)).toHaveLength(1);
    });

    it('refuses another request with the same key', async () => {
      await using given = await open();
      const key = (fingerprint: string) => ({
        idempotency: { key: 'k', fingerprint, expiresAtMs: NOW_MS + DAY_MS },
      });
      await given.store.accept(publish(given.instance, key('a')));
      const other = publish(given.instance, key('b'));
      expect(await given.store.accept(other)).toEqual({ result: 'key-taken' });
      expect(await given.store.status(at(other))).toBeUndefined();
      const foreign = publish(given.foreign, key('b'));
      expect(await given.store.accept(foreign)).toEqual({ result: 'accepted', id: foreign.id });
    });

    it('forgets a key when it has expired', async () => {
      await using given = await open();
      const idempotency = { key: 'k', fingerprint: 'a', expiresAtMs: NOW_MS + DAY_MS };
      await given.store.accept(publish(given.instance, { idempotency }));
      const later = publish(given.instance, {
        createdAtMs: NOW_MS + DAY_MS,
        idempotency: { key: 'k', fingerprint: 'b', expiresAtMs: NOW_MS + 2 * DAY_MS },
      });
      expect(await given.store.accept(later)).toEqual({ result: 'accepted', id: later.id });
    });

    it('refuses a publish of an instance with more accepted devices than allowed', async () => {
      await using given = await open();
      const ids = [await given.device(given.instance), await given.device(given.instance)];
      const accept = (id = '') => given.acceptDevice(given.instance, id);
      await accept(ids[0]);
      const within = publish(given.instance, { devicesMax: 1 });
      expect(await given.store.accept(within)).toEqual({ result: 'accepted', id: within.id });
      await accept(ids[1]);
      const over = publish(given.instance, { devicesMax: 1 });
      expect(await given.store.accept(over)).toEqual({ result: 'over-plan', devices: 2 });
      expect(await given.store.status(at(over))).toBeUndefined();
    });

    it('counts each report of a device once, and returns its user', async () => {
      await using given = await open();
      const one = publish(given.instance);
      await given.store.accept(one);
      const [a, b] = [
        await given.device(given.instance, 'ann'),
        await given.device(given.instance),
      ];
      await given.plan(one.id, [a, b]);
      const opening = { event: 'open' } as const;
      const kept = (device: string, change?: Partial<Report>, store = given.store) =>
        store.report({
          instance: given.instance,
          report: report(one.id, device, change),
          nowMs: NOW_MS,
        });
      expect(await kept(a)).toEqual({ userId: 'ann' });
      expect(await kept(a, {}, given.other)).toBeUndefined();
      expect(await kept(b)).toEqual({ userId: undefined });
      // The user named by a report is ignored.
      expect(await kept(a, { ...opening, userId: 'bob' })).toEqual({ userId: 'ann' });
      const status = await given.store.status(at(one));
      expect(status).toMatchObject({ delivered: 2, opened: 1 });
    });

    it('counts reports that arrive together at two servers', async () => {
      await using given = await open();
      const publishes = [publish(given.instance), publish(given.instance)];
      for (const one of publishes) await given.store.accept(one);
      const devices = await Promise.all(
        Array.from({ length: 20 }, () => given.device(given.instance)),
      );
      for (const { id } of publishes) await given.plan(id, devices);
      const all = publishes.flatMap(({ id }) => devices.map((device) => report(id, device)));
      const kept = await Promise.all(
        [...all, ...all].map((one, index) =>
          (index % 2 === 0 ? given.store : given.other).report({
            instance: given.instance,
            report: one,
            nowMs: NOW_MS,
          }),
        ),
      );
      expect(kept.filter(Boolean)).toHaveLength(40);
      for (const { id } of publishes) {
        expect(await given.store.status(at({ ...given, id }))).toMatchObject({
          delivered: 20,
        });
      }
    });

    it('drops reports of devices that a publish was not sent to', async () => {
      await using given = await open();
      const [one, two] = [publish(given.instance), publish(given.instance)];
      for (const each of [one, two]) await given.store.accept(each);
      const ids: string[] = [];
      for (let n = 0; n < 4; n += 1) ids.push(await given.device(given.instance));
      const [first = '', between = '', last = '', after = ''] = ids;
      const kept = (id: PublishId, device: string) =>
        given.store.report({ instance: given.instance, report: report(id, device), nowMs: NOW_MS });
      expect(await kept(one.id, first)).toBeUndefined();
      await given.plan(one.id, [first, last]);
      expect(await kept(one.id, between)).toBeUndefined();
      expect(await kept(one.id, after)).toBeUndefined();
      expect(await kept(one.id, first)).toEqual({ userId: undefined });
      expect(await kept(one.id, last)).toEqual({ userId: undefined });
      await given.plan(two.id, [first, last], 'cancelled');
      expect(await kept(two.id, first)).toBeUndefined();
    });

    it('drops reports about unknown publishes and devices', async () => {
      await using given = await open();
      const one = publish(given.instance);
      await given.store.accept(one);
      const device = await given.device(given.instance);
      const foreign = await given.device(given.foreign);
      await given.plan(one.id, [device]);
      const refused = [
        report(newPublishId(NOW_MS), device),
        report(one.id, newDeviceId('web')),
        report(one.id, foreign),
        report(one.id, ''),
      ];
      for (const each of refused) {
        expect(
          await given.store.report({ instance: given.instance, report: each, nowMs: NOW_MS }),
        ).toBeUndefined();
      }
      expect(await given.store.status(at(one))).toMatchObject({
        delivered: 0,
        opened: 0,
      });
    });

    it('fails, rather than call a publish unknown, if the store has lost its contents', async () => {
      await using given = await open();
      const one = publish(given.instance);
      await given.store.accept(one);
      await given.lose();
      const asked = given.store.status(at(one));
      expect(await asked.catch((error: unknown) => error)).toBeInstanceOf(StoreLost);
    });
  });
}
