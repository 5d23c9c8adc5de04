import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../../testing/any-character.ts';
import {
  BACKEND,
  beamsToken,
  device,
  INSTANCE,
  PushApi,
  UNKNOWN,
  user,
} from '../endpoints.fixture.ts';

async function signedIn(api: PushApi, sub: string): Promise<string> {
  const id = await api.register('fcm', { token: `of-${sub.replace(' ', '_')}` });
  const authorization = `Bearer ${beamsToken({ sub })}`;
  expect(await api.ask('PUT', device(`fcm/${id}/user`), { headers: { authorization } })).toEqual({
    status: 200,
  });
  return id;
}

const idsOf = (api: PushApi) => api.kept().map(({ registered }): string => registered.id);
const deletedFrom = (api: PushApi) =>
  api.asked.filter(([method]) => method === 'deleteUser').map(([, , userId]) => String(userId));
const remove = (api: PushApi, rest: string, library?: string) =>
  api.ask('DELETE', user(rest), {
    headers: { ...BACKEND, ...(library === undefined ? {} : { 'x-pusher-library': library }) },
  });

describe('deleting a user', () => {
  for (const path of ['customer_api', 'user_api']) {
    it(`deletes the devices by ${path}, and succeeds again`, async () => {
      const api = new PushApi();
      await signedIn(api, 'ann');
      const bob = await signedIn(api, 'bob');
      for (const _ of [1, 2]) {
        const heard = await api.ask('DELETE', `/${path}/v1/instances/${INSTANCE.id}/users/ann`, {
          headers: BACKEND,
        });
        expect(heard).toEqual({ status: 200 });
      }
      expect(idsOf(api)).toEqual([bob]);
      // The user id is personal data.
      expect(api.logged).toEqual([{ message: 'User deleted', instance: INSTANCE.id, devices: 1 }]);
    });
  }

  for (const [path, userId] of [
    ['ann', 'ann'],
    ['a/b/', 'a/b/'],
    ['a%2Fb', 'a/b'],
    ['100%', '100%'],
    ['100%25', '100%'],
    ['a%2520b', 'a%20b'],
    ['%C3%A9', 'é'],
    ['a+b', 'a+b'],
    ['/', '/'],
  ] as const) {
    it(`reads the path ${path} as ${userId}`, async () => {
      const api = new PushApi();
      expect(await remove(api, path)).toEqual({ status: 200 });
      expect(deletedFrom(api)).toEqual([userId]);
    });
  }

  for (const [library, userId] of [
    ['pusher-push-notifications-ruby 2.0.3', 'a b+c'],
    ['pusher-push-notifications-php 2.0.0', 'a b+c'],
    ['pusher-push-notifications-server-java 1.1.1', 'a b+c'],
    ['pusher-push-notifications-go 1.0', 'a+b+c'],
    ['pusher-push-notifications-javascript 1.0', 'a+b+c'],
    [undefined, 'a+b+c'],
  ] as const) {
    it(`reads a plus sign from ${library ?? 'no library'} as in ${userId}`, async () => {
      const api = new PushApi();
      expect(await remove(api, 'a+b%2Bc', library)).toEqual({ status: 200 });
      expect(deletedFrom(api)).toEqual([userId]);
    });
  }

  it('deletes no user with a plus sign when a library means a space', async () => {
    const api = new PushApi();
    const plus = await signedIn(api, 'a+b');
    await signedIn(api, 'a b');
    const library = 'pusher-push-notifications-ruby 2';
    for (const _ of [1, 2]) expect(await remove(api, 'a+b', library)).toEqual({ status: 200 });
    expect(idsOf(api)).toEqual([plus]);
  });

  it('accepts at most 164 bytes of UTF-8', async () => {
    const api = new PushApi();
    expect(await remove(api, 'é'.repeat(82))).toEqual({ status: 200 });
    for (const rest of ['a'.repeat(165), encodeURIComponent('é'.repeat(83))]) {
      expect(await remove(api, rest)).toEqual({
        status: 400,
        error: 'Bad request',
        description: "'User id' is too long, max length is 164",
      });
    }
  });

  for (const [what, path, headers, status, error] of [
    ['no user', user(''), BACKEND, 404, 'Not found'],
    ['no instance', '/customer_api/v1/instances//users/ann', BACKEND, 400, 'Incomplete Request'],
    ['an id that cannot be kept', user('a%00b'), BACKEND, 400, 'Bad request'],
    ['no Authorization', user('ann'), {}, 400, 'Incomplete Request'],
    ['a wrong key', user('ann'), { authorization: 'Bearer no' }, 401, 'Unauthorized'],
    ['no such instance', user('ann', UNKNOWN), BACKEND, 404, 'Instance not found'],
    ['what is no UUID', user('ann', 'x'), BACKEND, 404, 'Instance not found'],
  ] as const) {
    it(`is refused with ${status} for ${what}`, async () => {
      const api = new PushApi();
      const heard = await api.ask('DELETE', path, { headers });
      expect(heard).toEqual({ status, error, description: expect.any(String) });
      expect(api.asked).toEqual([]);
    });
  }

  it('is limited to 100 per second, whatever the limit of publishes', async () => {
    const api = new PushApi();
    for (let index = 0; index < 100; index++) {
      expect((await remove(api, 'ann')).status).toBe(200);
    }
    expect(await remove(api, 'ann')).toMatchObject({ status: 429, retryAfter: 1 });
    api.nowMs += 10;
    expect((await remove(api, 'ann')).status).toBe(200);
  });

  it('finds the user in the encoding of each library', async () => {
    const encode = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');
    const texts = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        fc.pre(text.isWellFormed() && !text.includes('\0') && Buffer.byteLength(text) <= 164);
        const api = new PushApi();
        await remove(api, encodeURIComponent(text));
        await remove(api, encode(text), 'pusher-push-notifications-ruby 2.0.3');
        expect(deletedFrom(api)).toEqual([text, text]);
      }),
    );
  });
});
