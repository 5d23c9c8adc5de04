import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  expectEmpty,
  NEIGHBOUR,
  publish,
  reconfigure,
  refusal,
  registered,
  registration,
  startPush,
  TO_INTERESTS,
  TO_USERS,
} from './exchange.ts';

/** Gateways have accepted these devices, or all that there are. */
function accept(server: Fanfare, ids?: readonly string[]): void {
  using store = new Database(join(server.directory, 'fanfare.db'));
  const of = ids === undefined ? '1' : `id IN (${ids.map((id) => `'${id}'`).join()})`;
  store.run(`UPDATE devices SET accepted_at = 1 WHERE ${of}`);
  store.run(`UPDATE instance_numbers SET accepted = (
    SELECT COUNT(*) FROM devices WHERE instance = instance_numbers.number AND accepted_at IS NOT NULL)`);
}

const limited = (devices: number) => ({ instance: { limits: { publishesPerSecond: 0, devices } } });

describe('an instance with more accepted devices than its limit', () => {
  it('cannot publish: 402; its devices can do all that they could', async () => {
    await using server = await startPush(limited(3));
    const toBoth = async () =>
      [
        await publish(server, '/interests', TO_INTERESTS),
        await publish(server, '/users', TO_USERS),
        await publish(server, '', TO_INTERESTS),
      ].map(({ status }) => status);
    const first = await registered(server, 'fcm');
    const third = await registered(server, 'apns');
    await registered(server, 'web');
    accept(server);
    expect(await toBoth()).toEqual([200, 200, 200]);

    await reconfigure(server, limited(2));
    expect(await toBoth()).toEqual([402, 402, 402]);
    expect(await publish(server, '/interests', TO_INTERESTS)).toMatchObject(
      refusal(
        402,
        'Payment Required',
        'The instance has 3 devices that a gateway has accepted, and its limit is 2',
      ),
    );
    // What is wrong with the publish itself is said first.
    expect((await publish(server, '/interests', {})).status).toBe(422);
    await registered(server, 'fcm', {}, NEIGHBOUR.id);
    expect(
      (await publish(server, '/interests', TO_INTERESTS, { 'idempotency-key': 'k' })).status,
    ).toBe(402);

    await expectEmpty(ask(server, 'DELETE', device(`apns/${third}`)));
    expect(await toBoth()).toEqual([200, 200, 200]);
    expect(
      (await publish(server, '/interests', TO_INTERESTS, { 'idempotency-key': 'k' })).status,
    ).toBe(200);
    await expectEmpty(ask(server, 'DELETE', device(`fcm/${first}`)));
  });

  it('is what strangers cannot make it: devices that no gateway has accepted do not count', async () => {
    await using server = await startPush(limited(5));
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await registered(server, 'fcm'));
    await reconfigure(server, limited(2));
    accept(server, ids.slice(0, 2));
    expect((await publish(server, '/interests', TO_INTERESTS)).status).toBe(200);
    accept(server, ids.slice(0, 3));
    expect((await publish(server, '/interests', TO_INTERESTS)).status).toBe(402);
  });
});

describe('an instance with as many devices as its limit', () => {
  it('takes no more: SDKs come back later, and nothing else is refused', async () => {
    await using server = await startPush(limited(2));
    const [first] = [await registered(server, 'fcm'), await registered(server, 'web')];
    const [iphone, android] = [registration('apns'), registration('fcm')];
    const register = (platform: string, body: object) =>
      ask(server, 'POST', device(platform), { body });
    const refused = await register('apns', iphone);
    expect(refused).toMatchObject(
      refusal(429, 'Instance Full', 'The instance has reached its limit of devices: 2'),
    );
    expect(refused.headers.get('retry-after')).toBe('600');
    await server.logged(/Instance is full/);
    expect((await publish(server, '/interests', TO_INTERESTS)).status).toBe(200);
    const interests = device(`fcm/${first}/interests`);
    await expectEmpty(ask(server, 'PUT', interests, { body: { interests: ['a'] } }));
    await expectEmpty(ask(server, 'DELETE', device(`fcm/${first}`)));
    expect((await register('apns', iphone)).status).toBe(200);
    expect((await register('fcm', android)).status).toBe(429);
    // The same token again is the same device.
    expect((await register('apns', iphone)).status).toBe(200);
  });
});
