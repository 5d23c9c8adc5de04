import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  expectEmpty,
  fieldRefusal,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_DEVICE,
  NO_PATH,
  refusal,
  registered,
  registeredOf,
  registration,
  shownDevice,
  startPush,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const register = (body: unknown, headers: Readonly<Record<string, string>> = JSON_HEADERS) =>
  ask(server, 'POST', device('fcm'), { headers, body });
const changed = (change: object) => register(registration('fcm', change));
const anyToken = () => `d-x:${randomUUID()}`;

const WRONG_TOKEN = fieldRefusal('token', 400, 'Bad Request');

describe('an Android device registers', () => {
  it('with and without a bundle identifier', async () => {
    for (const bundleIdentifier of [undefined, null, 'com.example.shop']) {
      expect((await changed({ bundleIdentifier })).status).toBe(200);
    }
  });

  it('with metadata', async () => {
    const id = await registered(server);
    expect(await shownDevice(server, id)).toEqual({
      id,
      userId: null,
      metadata: { sdkVersion: '1.10.0', androidVersion: '16' },
    } as never);
  });
});

describe('the token of an Android device', () => {
  it.each([anyToken(), 'x', 'f'.repeat(22), 'a:b-c_d.e~f/g'])('may be %s', async (token) => {
    expect((await changed({ token })).status).toBe(200);
  });

  it.each<[unknown]>([
    [undefined],
    [null],
    [7],
    [{}],
    [[anyToken()]],
    [''],
    [' '],
    ['a b'],
    ['a\n'],
    ['\u0000'],
    ['é'],
  ])('may not be %j', async (token) => {
    expect(await changed({ token })).toMatchObject(WRONG_TOKEN);
    const id = await registered(server);
    const target = device(`fcm/${id}/token`);
    expect(await ask(server, 'PUT', target, { body: { token } })).toMatchObject(WRONG_TOKEN);
  });
});

it('the token of an Android device has 4096 characters at most', async () => {
  expect((await changed({ token: 'x'.repeat(4096) })).status).toBe(200);
  expect(await changed({ token: 'x'.repeat(4097) })).toMatchObject(WRONG_TOKEN);
});

it('FCM tokens that differ in case are different', async () => {
  const token = anyToken();
  const first = await registered(server, 'fcm', { token });
  const other = await registered(server, 'fcm', { token: token.toUpperCase() });
  expect(await shownDevice(server, first)).toBeDefined();
  expect(await shownDevice(server, other)).toBeDefined();
});

/** Push protocol, §3.3: callers are not authenticated, so they must not delete devices of others by id. */
describe('previous ids', () => {
  it('change nothing for a device with the same token', async () => {
    const token = anyToken();
    const before = await registered(server, 'fcm', { token });
    const after = await registered(server, 'fcm', { token, knownPreviousClientIds: [before] });
    expect(after).toBe(before);
    expect(await shownDevice(server, before)).toBeDefined();
  });

  it('leave devices with other tokens alone', async () => {
    const mine = await registered(server);
    const theirs = await registeredOf(server, 'ann');
    const elsewhere = await registered(server, 'fcm', {}, NEIGHBOUR.id);
    const web = await registered(server, 'web');
    const knownPreviousClientIds = [mine, theirs, elsewhere, web, mine.toUpperCase()];
    await registered(server, 'fcm', { knownPreviousClientIds });
    for (const id of [mine, theirs, web]) expect(await shownDevice(server, id)).toBeDefined();
    expect(await shownDevice(server, elsewhere, NEIGHBOUR.id)).toBeDefined();
  });

  it.each<[unknown]>([
    [undefined],
    [null],
    [[]],
    [['x', '', '__proto__', `fcm-${UNKNOWN}`, '\u0000', '\ud800']],
  ])('may be %j', async (knownPreviousClientIds) => {
    expect((await changed({ knownPreviousClientIds })).status).toBe(200);
  });

  it('may be many', async () => {
    const knownPreviousClientIds = Array.from({ length: 300 }, () => `fcm-${randomUUID()}`);
    expect((await changed({ knownPreviousClientIds })).status).toBe(200);
  });

  it.each<[unknown]>([['x'], [7], [{}], [[7]], [[null]], [[['x']]]])(
    'may not be %j',
    async (knownPreviousClientIds) => {
      expect(await changed({ knownPreviousClientIds })).toMatchObject(
        fieldRefusal('knownPreviousClientIds', 400, 'Bad Request'),
      );
    },
  );
});

describe('another token', () => {
  const setToken = (id: string, token: unknown) =>
    ask(server, 'PUT', device(`fcm/${id}/token`), { headers: JSON_HEADERS, body: { token } });

  it('is accepted with 200, and the device keeps its user and interests', async () => {
    const id = await registeredOf(server, 'ann');
    await expectEmpty(ask(server, 'POST', device(`fcm/${id}/interests/shop`)));
    const token = anyToken();
    for (const _ of [1, 2]) await expectEmpty(setToken(id, token));
    expect(await shownDevice(server, id)).toMatchObject({ userId: 'ann' });
    const interests = await ask(server, 'GET', device(`fcm/${id}/interests`));
    expect(interests.json).toMatchObject({ interests: ['shop'] });
    // The token belongs to this device now.
    expect(await registered(server, 'fcm', { token })).toBe(id);
  });

  it('replaces the device that had it', async () => {
    const token = anyToken();
    const before = await registered(server, 'fcm', { token });
    const id = await registered(server);
    await expectEmpty(setToken(id, token));
    expect(await shownDevice(server, before)).toBeUndefined();
    expect(await shownDevice(server, id)).toBeDefined();
  });

  it('frees the old one', async () => {
    const token = anyToken();
    const id = await registered(server, 'fcm', { token });
    await expectEmpty(setToken(id, anyToken()));
    await registered(server, 'fcm', { token });
    expect(await shownDevice(server, id)).toBeDefined();
  });

  it('is refused for an unknown device and without a JSON object', async () => {
    for (const id of [`fcm-${UNKNOWN}`, 'fcm-1', 'x', '%00']) {
      expect(await setToken(id, anyToken())).toMatchObject(NO_DEVICE);
    }
    const elsewhere = await registered(server, 'fcm', {}, NEIGHBOUR.id);
    expect(await setToken(elsewhere, anyToken())).toMatchObject(NO_DEVICE);
    const id = await registered(server);
    for (const body of ['', '[]', 'null', '"x"', '{']) {
      const target = device(`fcm/${id}/token`);
      expect(await ask(server, 'PUT', target, { body })).toMatchObject(refusal(400, 'Bad Request'));
    }
  });

  it('is not possible for iOS, whose SDK registers instead', async () => {
    const target = device(`apns/apns-${UNKNOWN}/token`);
    const body = { token: anyToken() };
    expect(await ask(server, 'PUT', target, { body })).toMatchObject(NO_PATH);
  });
});

it('a registration is not read from the prototype of objects', async () => {
  const body = `{"__proto__":{"token":"${anyToken()}"}}`;
  expect(await register(body)).toMatchObject(WRONG_TOKEN);
});
