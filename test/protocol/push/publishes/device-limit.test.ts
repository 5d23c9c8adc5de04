import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../../../testing/clients/admin-api.ts';
import { changeStore } from '../../../../testing/databases/change-store.ts';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  expectEmpty,
  type Instance,
  NEIGHBOUR,
  newInstance,
  publish,
  refusal,
  registered,
  registration,
  startPush,
  TO_INTERESTS,
  TO_USERS,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Marks devices as accepted by a gateway. */
async function accept(ids: readonly string[]): Promise<void> {
  const list = ids.map((id) => `'${id}'`).join();
  await changeStore(
    server,
    `UPDATE devices SET accepted_at = 1 WHERE id IN (${list})`,
    `UPDATE instance_numbers SET accepted = (
      SELECT COUNT(*) FROM devices WHERE instance = instance_numbers.number AND accepted_at IS NOT NULL)`,
  );
}

const instanceFor = (devices: number) => newInstance(server, { limits: { devices } });

async function setLimit({ id }: Instance, devices: number): Promise<void> {
  const body = { limits: { devices } };
  expect((await admin(server, 'PATCH', `/instances/${id}`, { body })).status).toBe(200);
}

describe('an instance with more accepted devices than its limit', () => {
  it('cannot publish: 402; its devices keep working', async () => {
    const instance = await instanceFor(3);
    const toBoth = async () =>
      [
        await publish(instance, '/interests', TO_INTERESTS),
        await publish(instance, '/users', TO_USERS),
        await publish(instance, '', TO_INTERESTS),
      ].map(({ status }) => status);
    const first = await registered(instance, 'fcm');
    const third = await registered(instance, 'apns');
    await accept([first, third, await registered(instance, 'web')]);
    expect(await toBoth()).toEqual([200, 200, 200]);

    await setLimit(instance, 2);
    expect(await toBoth()).toEqual([402, 402, 402]);
    expect(await publish(instance, '/interests', TO_INTERESTS)).toMatchObject(
      refusal(
        402,
        'Payment Required',
        'The instance has 3 devices that a gateway has accepted, and its limit is 2',
      ),
    );
    // Faults of the publish itself are checked first.
    expect((await publish(instance, '/interests', {})).status).toBe(422);
    await registered(server, 'fcm', {}, NEIGHBOUR.id);
    expect(
      (await publish(instance, '/interests', TO_INTERESTS, { 'idempotency-key': 'k' })).status,
    ).toBe(402);

    await expectEmpty(ask(instance, 'DELETE', device(`apns/${third}`, instance.id)));
    expect(await toBoth()).toEqual([200, 200, 200]);
    expect(
      (await publish(instance, '/interests', TO_INTERESTS, { 'idempotency-key': 'k' })).status,
    ).toBe(200);
    await expectEmpty(ask(instance, 'DELETE', device(`fcm/${first}`, instance.id)));
  });

  it('cannot be made by strangers: devices that no gateway has accepted do not count', async () => {
    const instance = await instanceFor(5);
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await registered(instance, 'fcm'));
    await setLimit(instance, 2);
    await accept(ids.slice(0, 2));
    expect((await publish(instance, '/interests', TO_INTERESTS)).status).toBe(200);
    await accept(ids.slice(0, 3));
    expect((await publish(instance, '/interests', TO_INTERESTS)).status).toBe(402);
  });
});

describe('an instance with as many devices as its limit', () => {
  it('accepts no more: SDKs retry later, and nothing else is refused', async () => {
    const instance = await instanceFor(2);
    const [first] = [await registered(instance, 'fcm'), await registered(instance, 'web')];
    const [iphone, android] = [registration('apns'), registration('fcm')];
    const register = (platform: string, body: object) =>
      ask(instance, 'POST', device(platform, instance.id), { body });
    const refused = await register('apns', iphone);
    expect(refused).toMatchObject(
      refusal(429, 'Instance Full', 'The instance has reached its limit of devices: 2'),
    );
    expect(refused.headers.get('retry-after')).toBe('600');
    await server.logged(/Instance is full/);
    expect((await publish(instance, '/interests', TO_INTERESTS)).status).toBe(200);
    const interests = device(`fcm/${first}/interests`, instance.id);
    await expectEmpty(ask(instance, 'PUT', interests, { body: { interests: ['a'] } }));
    await expectEmpty(ask(instance, 'DELETE', device(`fcm/${first}`, instance.id)));
    expect((await register('apns', iphone)).status).toBe(200);
    expect((await register('fcm', android)).status).toBe(429);
    // The same token is the same device.
    expect((await register('apns', iphone)).status).toBe(200);
  });
});
