import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Platform } from '../../../../src/push/model/device.ts';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  beamsToken,
  device,
  expectEmpty,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_DEVICE,
  NO_INSTANCE,
  refusal,
  registered,
  setUser,
  shownDevice,
  startPush,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush({ neighbour: { whenUserIsFull: 'replace-oldest' } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Push protocol, §3.5; refused tokens have tests of their own. */
describe('the user of a device', () => {
  it.each(['apns', 'fcm', 'web'] as const)('is set with 200, and shown: %s', async (platform) => {
    const id = await registered(server, platform);
    expect(await shownDevice(server, id)).toMatchObject({ userId: null });
    await expectEmpty(setUser(server, id, beamsToken({ sub: 'ann' })));
    expect(await shownDevice(server, id)).toMatchObject({ userId: 'ann' });
  });

  it('may be set again, as apps do at each start', async () => {
    const id = await registered(server);
    for (const key of [INSTANCE.secretKey, INSTANCE.nextKey, INSTANCE.secretKey]) {
      await expectEmpty(setUser(server, id, beamsToken({ sub: 'ann' }, key)));
    }
  });

  it('is not changed to another: 400', async () => {
    const id = await registered(server);
    await expectEmpty(setUser(server, id, beamsToken({ sub: 'ann' })));
    for (const sub of ['bob', 'Ann', 'ann ']) {
      expect(await setUser(server, id, beamsToken({ sub }))).toMatchObject(
        refusal(400, 'Bad Request', 'A User Id is already associated with this device.'),
      );
    }
    expect(await shownDevice(server, id)).toMatchObject({ userId: 'ann' });
  });

  it('is not set on an unknown device: 404', async () => {
    expect(await setUser(server, `fcm-${UNKNOWN}`, beamsToken())).toMatchObject(NO_DEVICE);
    const headers = { authorization: `Bearer ${beamsToken()}` };
    const id = await registered(server, 'fcm');
    for (const target of [device(`web/${id}/user`), device(`apns/${id}/user`)]) {
      expect((await ask(server, 'PUT', target, { headers })).status).toBe(400);
    }
    expect(await shownDevice(server, id)).toMatchObject({ userId: null });
  });

  it.each(['fcm-1', 'x', '%00', 'fcm-', `fcm-${UNKNOWN}0`, 'null'])(
    'is not set with an invalid device id: 400 for %s',
    async (id) => {
      const headers = { authorization: `Bearer ${beamsToken()}` };
      const answer = await ask(server, 'PUT', device(`fcm/${id}/user`), { headers });
      expect(answer).toMatchObject(refusal(400, 'Bad Request', /device id/));
    },
  );

  it('is not set for an unknown instance or a device of another instance: 404', async () => {
    const id = await registered(server);
    const headers = { authorization: `Bearer ${beamsToken()}` };
    for (const instance of [UNKNOWN, 'x']) {
      const target = device(`fcm/${id}/user`, instance);
      expect(await ask(server, 'PUT', target, { headers })).toMatchObject(NO_INSTANCE);
    }
    const iss = `https://${NEIGHBOUR.id}.pushnotifications.pusher.com`;
    const token = beamsToken({ iss }, NEIGHBOUR.secretKey);
    const target = device(`fcm/${id}/user`, NEIGHBOUR.id);
    expect(
      await ask(server, 'PUT', target, { headers: { authorization: `Bearer ${token}` } }),
    ).toMatchObject(NO_DEVICE);
  });

  it('may be set with a content type and a body, which are ignored', async () => {
    const id = await registered(server);
    const headers = { ...JSON_HEADERS, authorization: `Bearer ${beamsToken()}` };
    for (const body of [undefined, '', '{"userId":"bob"}', '[']) {
      const target = device(`fcm/${id}/user`);
      await expectEmpty(
        ask(server, 'PUT', target, body === undefined ? { headers } : { headers, body }),
      );
    }
    expect(await shownDevice(server, id)).toMatchObject({ userId: 'ann' });
  });
});

/** Registers this many devices of a user, all at once so that the store writes them together. */
async function devicesOf(
  sub: string,
  platform: Platform,
  count: number,
  instance = INSTANCE.id as string,
) {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const id = await registered(server, platform, {}, instance);
      await expectEmpty(signIn(id, sub, instance));
      return id;
    }),
  );
}

function signIn(id: string, sub: string, instance: string = INSTANCE.id) {
  const iss = `https://${instance}.pushnotifications.pusher.com`;
  const key = instance === INSTANCE.id ? INSTANCE.secretKey : NEIGHBOUR.secretKey;
  const headers = { authorization: `Bearer ${beamsToken({ sub, iss }, key)}` };
  return ask(server, 'PUT', device(`${id.split('-', 1)}/${id}/user`, instance), { headers });
}

describe('a user', () => {
  it('has at most 100 devices of each platform: 422', async () => {
    const [first = ''] = await devicesOf('full', 'fcm', 100);
    const one = await registered(server, 'fcm');
    expect(await signIn(one, 'full')).toMatchObject(
      refusal(422, 'Unprocessable Entity', /maximum of 100 devices/),
    );
    expect(await shownDevice(server, one)).toMatchObject({ userId: null });
    // Devices of the user may set it again.
    await expectEmpty(signIn(first, 'full'));
    await expectEmpty(signIn(await registered(server, 'apns'), 'full'));
    await expectEmpty(signIn(await registered(server, 'web'), 'full'));
    await expectEmpty(signIn(one, 'somebody else'));

    await expectEmpty(ask(server, 'DELETE', device(`fcm/${first}`)));
    await expectEmpty(signIn(await registered(server, 'fcm'), 'full'));
  });

  it('has at most 100 devices even if the last ones sign in at the same moment', async () => {
    await devicesOf('crowd', 'apns', 98);
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => signIn(await registered(server, 'apns'), 'crowd')),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 422, 422, 422, 422]);
  });

  it('loses the oldest device with one more, if the instance is configured so', async () => {
    const oldest = await registered(server, 'fcm', {}, NEIGHBOUR.id);
    await expectEmpty(signIn(oldest, 'full', NEIGHBOUR.id));
    // It is older than the others.
    const others = await devicesOf('full', 'fcm', 99, NEIGHBOUR.id);
    const one = await registered(server, 'fcm', {}, NEIGHBOUR.id);
    await expectEmpty(signIn(one, 'full', NEIGHBOUR.id));
    expect(await shownDevice(server, oldest, NEIGHBOUR.id)).toBeUndefined();
    for (const id of [one, others[0] ?? '', others[98] ?? '']) {
      expect(await shownDevice(server, id, NEIGHBOUR.id)).toMatchObject({ userId: 'full' });
    }
  });
});
