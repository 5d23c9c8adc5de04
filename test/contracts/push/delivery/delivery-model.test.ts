import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { DeviceResult } from '../../../../src/push/model/delivery.ts';
import type { Recipient } from '../../../../src/push/model/device.ts';
import type { NewPublish, PublishTarget } from '../../../../src/push/model/publish.ts';
import { newPublishId } from '../../../../src/push/model/publish-id.ts';
import { databases } from '../../../../testing/databases/databases.ts';
import { runs, testSeed } from '../../../../testing/long-run.ts';
import { newDevice } from '../device-store.contract.ts';
import { memoryPushStores, openPushStores } from '../stores.ts';
import { LEASE_MS, NOW_MS, resultOf } from './delivery-scene.ts';
import { DeliveryWorld, type World } from './delivery-world.ts';

/** Actions of servers, devices and backends; the numbers are places in lists, or small amounts. */
const step = fc.record({
  what: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('claimJobs', 'finish', 'settlePart') },
    { weight: 2, arbitrary: fc.constant('wait' as const) },
    { weight: 4, arbitrary: fc.constantFrom('claimPlans', 'addPage') },
    { weight: 3, arbitrary: fc.constantFrom('register', 'accept', 'endPlanning') },
    { weight: 3, arbitrary: fc.constantFrom('hold', 'giveWay') },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        'cancel',
        'deleteDevice',
        'setToken',
        'extend',
        'release',
        'report',
      ),
    },
  ),
  at: fc.nat(4),
  server: fc.nat(1),
  instance: fc.nat(1),
  amount: fc.integer({ min: 1, max: 4 }),
  few: fc.boolean(),
  platform: fc.constantFrom('fcm', 'web'),
  user: fc.constantFrom('ann', 'bob', undefined),
  results: fc.array(
    fc.constantFrom('accepted', 'retry', 'retry', 'failed', 'expired', 'pruned', undefined),
    { minLength: 1, maxLength: 4 },
  ),
});
const manySteps = fc.array(step, { maxLength: 120, size: 'max' });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The same input for both worlds. */
interface Given {
  readonly device: ReturnType<typeof newDevice>;
  readonly publish: NewPublish;
}

function given({ platform, user, few }: Step, nowMs: number): Given {
  const target: PublishTarget =
    user === undefined
      ? { kind: 'interests', names: ['hello'] }
      : { kind: 'users', names: ['ann', 'bob'] };
  const publish: NewPublish = {
    id: newPublishId(nowMs),
    instance: 0,
    createdAtMs: nowMs,
    sendAtMs: few ? nowMs + 700 : undefined,
    target,
    platforms: ['fcm', 'web'],
    webhookUrl: undefined,
    body: JSON.stringify({ [target.kind]: target.names, fcm: {}, web: {} }),
    idempotency: undefined,
    devicesMax: 0,
    pendingBytesMax: 0,
  };
  return { device: newDevice({ platform }), publish };
}

/** The steps before the random ones: devices, and publishes to plan, in both instances. */
const before: readonly Step[] = Array.from({ length: 18 }, (_, index) => ({
  what: index < 14 ? 'register' : 'accept',
  at: 0,
  server: 0,
  instance: index % 2,
  amount: 1,
  few: false,
  platform: index % 3 === 0 ? 'web' : 'fcm',
  user: index % 4 === 0 ? 'ann' : undefined,
  results: [],
}));

async function take(
  world: DeliveryWorld,
  { what, at, server, instance, amount, few, user, results }: Step,
  { device, publish }: Given,
  nowMs: number,
): Promise<unknown> {
  const untilMs = nowMs + LEASE_MS;
  const result = (recipient: Recipient, attempts: number, index: number) =>
    resultAt(results, recipient, attempts, index, nowMs + amount * 400);
  switch (what) {
    case 'register':
      return world.register(device, instance, user, nowMs);
    case 'deleteDevice':
      return world.deleteDevice(at);
    case 'setToken':
      return world.setToken(at, device.token, nowMs);
    case 'accept':
      return world.accept(publish, instance);
    case 'cancel':
      return world.cancel(at, nowMs);
    case 'report':
      return world.report(at, amount, nowMs);
    case 'claimPlans':
      return world.claimPlans(server, nowMs, untilMs, amount);
    case 'addPage':
      return world.addPage(at, server, amount, few ? untilMs : undefined);
    case 'endPlanning':
      return world.endPlanning(at, nowMs);
    case 'claimJobs':
      return world.claimJobs(server, {
        nowMs,
        untilMs,
        limit: few ? 1 : amount,
        devicesPerJob: 3,
      });
    case 'finish':
      return world.finish(at, server, result, nowMs);
    case 'settlePart':
      return world.settlePart(at, server, amount, result, nowMs);
    case 'extend':
      return world.extend(server, untilMs);
    case 'hold':
      return world.hold(server, at, untilMs);
    case 'giveWay':
      return world.giveWay(server, instance, amount, nowMs);
    case 'release':
      return world.release(server, few ? 'own' : 'all');
    case 'wait':
      return undefined;
    default:
      return what satisfies never;
  }
}

function resultAt(
  results: Step['results'],
  recipient: Recipient,
  attempts: number,
  index: number,
  dueAtMs: number,
): DeviceResult | undefined {
  const what = results[index % results.length];
  return what === undefined ? undefined : resultOf(what, recipient, attempts, dueAtMs);
}

/** Plans and delivers all remaining work. */
async function finishAll(world: DeliveryWorld, nowMs: number): Promise<void> {
  const laterMs = nowMs + 10 * LEASE_MS;
  for (let round = 0; round < 100; round += 1) {
    const atMs = laterMs + round * LEASE_MS;
    const plannings = await world.claimPlans(0, atMs, atMs + 1, 1);
    if (plannings.length > 0) {
      while ((await world.addPage(0, 0, 4, undefined)) !== 'empty');
      await world.endPlanning(0, atMs);
    }
    const jobs = await world.claimJobs(0, {
      nowMs: atMs,
      untilMs: atMs + 1,
      limit: 1,
      devicesPerJob: 100,
    });
    if (jobs.length > 0) {
      await world.finish(0, 0, (recipient) => resultOf('accepted', recipient, 1, 0), atMs);
    }
    if (plannings.length + jobs.length === 0 && (await world.isDone())) return;
  }
  throw new Error('it does not come to an end');
}

function memoryWorld(): World {
  const stores = memoryPushStores();
  const { devices } = stores;
  return { stores, instances: [devices.newInstance(), devices.newInstance()] };
}

describe.each(databases)('StoredDeliveries in $name', ({ make }) => {
  it('behave like deliveries in memory', async () => {
    await using stores = await openPushStores(make);
    const { database } = stores;
    await fc.assert(
      fc.asyncProperty(manySteps, async (steps) => {
        const instances = [await stores.newInstance(), await stores.newInstance()];
        const stored = new DeliveryWorld({ stores, instances });
        const memory = new DeliveryWorld(memoryWorld());
        let nowMs = NOW_MS;
        try {
          for (const one of [...before, ...steps]) {
            if (one.what === 'wait') nowMs += one.few ? LEASE_MS : one.amount * 250;
            const same = given(one, nowMs);
            const wanted = await take(memory, one, same, nowMs);
            expect(await take(stored, one, same, nowMs)).toEqual(wanted as never);
            expect(await stored.seen(nowMs)).toEqual((await memory.seen(nowMs)) as never);
          }
          expect(await stored.stories()).toEqual((await memory.stories()) as never);
          expect(await stored.users()).toEqual((await memory.users()) as never);
          for (const world of [memory, stored]) await finishAll(world, nowMs);
          expect(await stored.seen(nowMs)).toEqual((await memory.seen(nowMs)) as never);
        } finally {
          // The next run must not claim what is left.
          await database.write(
            (sql) => sql`UPDATE instance_numbers SET id = NULL WHERE number IN ${sql(instances)}`,
          );
        }
      }),
      { seed: testSeed(), numRuns: runs(3, 200) },
    );
  }, 180_000);
});
