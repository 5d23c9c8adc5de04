import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  beamsToken,
  device,
  expectEmpty,
  instanceAt,
  issuerOf,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_DEVICE,
  NO_INSTANCE,
  NO_PATH,
  newInstance,
  refusal,
  registered,
  registration,
  setUser,
  shownDevice,
  startPush,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

/** The platforms. Source: push protocol, §3. `answer` is what a new device gets beside its id. */
const PLATFORMS = [
  { platform: 'apns', answer: { initialInterestSet: [] } },
  { platform: 'fcm', answer: { initialInterestSet: [] } },
  { platform: 'web', answer: {} },
] as const;

describe.each(PLATFORMS)('a device of platform $platform', ({ platform, answer }) => {
  const register = (body: unknown, headers: Readonly<Record<string, string>> = JSON_HEADERS) =>
    ask(server, 'POST', device(platform), { headers, body });
  const anyToken = (): unknown => Object(registration(platform)).token;

  it('registers and gets its id', async () => {
    const { status, headers, json, text } = await register(registration(platform));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';
    expect(json).toEqual({
      id: expect.stringMatching(new RegExp(`^${platform}-${uuid}$`)),
      ...answer,
    });
    expect(text).toEndWith('}\n');
  });

  it.each([undefined, 'application/json; charset=UTF-8', 'text/plain;charset=UTF-8'])(
    'registers with the content type %s',
    async (type) => {
      const headers = type === undefined ? {} : { 'content-type': type };
      expect((await register(registration(platform), headers)).status).toBe(200);
    },
  );

  // The SDK of iOS registers at each launch, and takes the set for all of its interests.
  it('stays the same device with its interests and user when its token registers again', async () => {
    const token = anyToken();
    const id = await registered(server, platform, { token });
    const beams = beamsToken({ sub: 'ann', iss: issuerOf(instanceAt(server).id) });
    await expectEmpty(setUser(server, id, beams));
    const interests = Array.from({ length: 250 }, (_, index) => `shop-${index}`).sort();
    const path = device(`${platform}/${id}/interests`);
    await expectEmpty(ask(server, 'PUT', path, { body: { interests } }));
    const again = await register({ ...registration(platform), token });
    expect(again.json).toEqual(platform === 'web' ? { id } : { id, initialInterestSet: interests });
    expect(await shownDevice(server, id)).toMatchObject({ userId: 'ann' });
  });

  it('leaves a device with the same token in another instance alone', async () => {
    const token = anyToken();
    const other = await newInstance(server);
    const here = await registered(server, platform, { token });
    const there = await registered(other, platform, { token });
    expect(await shownDevice(server, here)).toBeDefined();
    expect(await shownDevice(other, there)).toBeDefined();
  });

  it('is one device after registering many times at once', async () => {
    const token = anyToken();
    const ids = await Promise.all(
      Array.from({ length: 10 }, () => registered(server, platform, { token })),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('cannot register with an unknown instance', async () => {
    for (const instance of [UNKNOWN, 'x']) {
      const body = registration(platform);
      expect(await ask(server, 'POST', device(platform, instance), { body })).toMatchObject(
        NO_INSTANCE,
      );
    }
  });

  it.each(['', 'null', '[]', '"x"', '{', '{"token":'])('cannot register with %j', async (body) => {
    expect(await register(body)).toMatchObject(refusal(400, 'Bad Request', /JSON object/));
  });

  it('is found however its id is spelled', async () => {
    const id = await registered(server, platform);
    const upper = `${platform}-${id.slice(platform.length + 1).toUpperCase()}`;
    for (const spelled of [upper, id.replaceAll('-', '%2D')]) {
      expect(await ask(server, 'GET', device(`${platform}/${spelled}`))).toMatchObject({
        status: 200,
        json: { id },
      });
    }
    await expectEmpty(ask(server, 'DELETE', device(`${platform}/${upper}`)));
    expect(await shownDevice(server, id)).toBeUndefined();
  });

  it('is found only in its own instance and on its own platform', async () => {
    const id = await registered(server, platform);
    const otherPlatform = platform === 'web' ? 'fcm' : 'web';
    for (const elsewhere of [
      device(`${platform}/${id}`, NEIGHBOUR.id),
      device(`${otherPlatform}/${id}`),
    ]) {
      expect(await ask(server, 'GET', elsewhere)).toMatchObject(NO_DEVICE);
      await expectEmpty(ask(server, 'DELETE', elsewhere));
    }
    expect(await shownDevice(server, id)).toBeDefined();
  });

  it('can be deleted again and again', async () => {
    const id = await registered(server, platform);
    for (const _ of [1, 2, 3]) {
      await expectEmpty(ask(server, 'DELETE', device(`${platform}/${id}`)));
    }
    expect(await ask(server, 'GET', device(`${platform}/${id}`))).toMatchObject(NO_DEVICE);
  });

  it.each([
    `${platform}-${UNKNOWN}`,
    `${platform}-1`,
    'safari-1',
    'x',
    'null',
    'undefined',
    '__proto__',
    '%00',
    '%zz',
    '..',
    'a%2Fb',
    'x'.repeat(300),
  ])('is unknown by the id %s: 404, but DELETE answers 200', async (id) => {
    const target = device(`${platform}/${id}`);
    expect(await ask(server, 'GET', target)).toMatchObject(NO_DEVICE);
    const body = { sdkVersion: '1' };
    expect(await ask(server, 'PUT', `${target}/metadata`, { body })).toMatchObject(NO_DEVICE);
    await expectEmpty(ask(server, 'DELETE', target));
  });
});

it('a device of platform apns cannot change its token', async () => {
  const id = await registered(server, 'apns');
  const body = registration('apns');
  expect(await ask(server, 'PUT', device(`apns/${id}/token`), { body })).toMatchObject(NO_PATH);
});
