import { describe, expect, it } from 'bun:test';
import {
  ask,
  device,
  expectEmpty,
  NEIGHBOUR,
  publish,
  reconfigure,
  refusal,
  registered,
  startPush,
  TO_INTERESTS,
  TO_USERS,
} from './exchange.ts';

describe('an instance with more devices than its limit', () => {
  it('cannot publish: 402; its devices can do all that they could', async () => {
    const limits = { publishesPerSecond: 0, devices: 2 };
    await using server = await startPush({ instance: { limits } });
    const toBoth = async () =>
      [
        await publish(server, '/interests', TO_INTERESTS),
        await publish(server, '/users', TO_USERS),
        await publish(server, '', TO_INTERESTS),
      ].map(({ status }) => status);
    expect(await toBoth()).toEqual([200, 200, 200]);
    const first = await registered(server, 'fcm');
    await registered(server, 'web');
    expect(await toBoth()).toEqual([200, 200, 200]);

    const third = await registered(server, 'apns');
    expect(await toBoth()).toEqual([402, 402, 402]);
    expect(await publish(server, '/interests', TO_INTERESTS)).toMatchObject(
      refusal(402, 'Payment Required', 'The instance has 3 devices, and its limit is 2'),
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
    await registered(server, 'apns');
    await reconfigure(server, { instance: { limits: { publishesPerSecond: 0, devices: 3 } } });
    expect(await toBoth()).toEqual([200, 200, 200]);
    await expectEmpty(ask(server, 'DELETE', device(`fcm/${first}`)));
  });
});
