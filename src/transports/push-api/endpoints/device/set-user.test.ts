import { describe, expect, it } from 'bun:test';
import { beamsToken, device, INSTANCE, NOW_MS, PushApi, UNKNOWN } from '../endpoints.fixture.ts';

async function setUser(api: PushApi, authorization: string | undefined, id?: string) {
  const named = id ?? (await api.register());
  const headers = authorization === undefined ? {} : { authorization };
  const heard = await api.ask('PUT', device(`web/${named}/user`), { headers });
  return { heard, userId: api.kept()[0]?.userId };
}

const OWN = 'push.example.org';

describe('the user of a device', () => {
  for (const [what, token] of [
    ['a token', beamsToken()],
    ['a token of another key of the instance', beamsToken({}, 'the next one')],
    ['a token whose time is no integer', beamsToken({ exp: NOW_MS / 1000 + 0.5 })],
    ['a token that has just expired', beamsToken({ exp: NOW_MS / 1000 - 59 })],
    [
      'an issuer without a scheme',
      beamsToken({ iss: `${INSTANCE.id}.pushnotifications.pusher.com` }),
    ],
    ['an issuer that operators added', beamsToken({ iss: `https://${INSTANCE.id}.beams.test` })],
    ["this server's issuer", beamsToken({ iss: `https://${INSTANCE.id}.${OWN}` })],
  ] as const) {
    it(`is set by ${what}`, async () => {
      const api = new PushApi();
      api.settings = {
        ...api.settings,
        tokenIssuers: ['beams.test'],
        publicUrl: `https://${OWN}`,
      };
      const { heard, userId } = await setUser(api, `Bearer ${token}`);
      expect([heard, userId]).toEqual([{ status: 200 }, 'ann']);
    });
  }

  it('is shown with the device, and may be set again', async () => {
    const api = new PushApi();
    const id = await api.register();
    for (const scheme of ['Bearer', 'bearer']) {
      const { heard } = await setUser(api, `${scheme} ${beamsToken()}`, id);
      expect(heard).toEqual({ status: 200 });
    }
    expect(await api.ask('GET', device(`web/${id}`))).toMatchObject({ json: { userId: 'ann' } });
  });

  const rows: readonly (readonly [string, string | undefined, number, string])[] = [
    ['no Authorization', undefined, 401, 'Unauthorized'],
    ['an empty Authorization', '', 401, 'Unauthorized'],
    ['another scheme', `Basic ${beamsToken()}`, 401, 'Unauthorized'],
    ['no scheme', beamsToken(), 401, 'Unauthorized'],
    ['no token', 'Bearer', 401, 'Unauthorized'],
    ['what is no token', 'Bearer a.b.c', 401, 'Unauthorized'],
    ['a wrong signature', `Bearer ${beamsToken({}, 'wrong')}`, 401, 'Unauthorized'],
    [
      'another algorithm',
      `Bearer ${beamsToken({}, undefined, { alg: 'none' })}`,
      401,
      'Unauthorized',
    ],
    ['an expired token', `Bearer ${beamsToken({ exp: NOW_MS / 1000 - 60 })}`, 401, 'Unauthorized'],
    ['no expiry', `Bearer ${beamsToken({ exp: undefined })}`, 400, 'Bad Request'],
    ['no user', `Bearer ${beamsToken({ sub: undefined })}`, 400, 'Bad Request'],
    ['no issuer', `Bearer ${beamsToken({ iss: undefined })}`, 400, 'Bad Request'],
    ['an empty user', `Bearer ${beamsToken({ sub: '' })}`, 400, 'Bad Request'],
    [
      'a user that is too long',
      `Bearer ${beamsToken({ sub: 'a'.repeat(165) })}`,
      400,
      'Bad Request',
    ],
    [
      'the issuer of another instance',
      `Bearer ${beamsToken({ iss: `https://${UNKNOWN}.pushnotifications.pusher.com` })}`,
      403,
      'Forbidden',
    ],
  ];
  for (const [what, authorization, status, error] of rows) {
    it(`is not set by ${what}`, async () => {
      const api = new PushApi();
      const { heard, userId } = await setUser(api, authorization);
      expect(heard).toEqual({ status, error, description: expect.any(String) });
      expect(userId).toBeUndefined();
      // The iOS SDK takes these words for a problem with its push token and stops.
      expect(heard.description).not.toMatch(/device token/i);
    });
  }

  it('cannot be changed to another user', async () => {
    const api = new PushApi();
    const id = await api.register();
    await setUser(api, `Bearer ${beamsToken()}`, id);
    const { heard, userId } = await setUser(api, `Bearer ${beamsToken({ sub: 'bob' })}`, id);
    expect(heard).toEqual({
      status: 400,
      error: 'Bad Request',
      description: 'A User Id is already associated with this device.',
    });
    expect(userId).toBe('ann');
  });

  it('is not set on the 101st device of a platform, or replaces the oldest', async () => {
    const api = new PushApi();
    const signIn = async (index: number) => {
      const id = await api.register('fcm', { token: `token-${index}` });
      const headers = { authorization: `Bearer ${beamsToken()}` };
      return await api.ask('PUT', device(`fcm/${id}/user`), { headers });
    };
    for (let index = 0; index < 100; index++) expect(await signIn(index)).toEqual({ status: 200 });
    expect(await signIn(100)).toEqual({
      status: 422,
      error: 'Unprocessable Entity',
      description: 'The user has the maximum of 100 devices on this platform already',
    });
    expect(await setUser(api, `Bearer ${beamsToken()}`)).toMatchObject({ heard: { status: 200 } });

    api.instance = { ...INSTANCE, whenUserIsFull: 'replace-oldest' };
    expect(await signIn(101)).toEqual({ status: 200 });
    const tokens = api.kept().map(({ token }) => token.token);
    expect(tokens).not.toContain('token-0');
    expect(tokens).toContain('token-1');
  });

  it('is not set on an unknown device', async () => {
    const { heard } = await setUser(new PushApi(), `Bearer ${beamsToken()}`, `web-${UNKNOWN}`);
    expect(heard).toMatchObject({ status: 404, error: 'Device not found' });
  });

  it('is not set for an invalid device id', async () => {
    for (const id of ['web-1', `fcm-${UNKNOWN}`, '%00']) {
      const { heard } = await setUser(new PushApi(), `Bearer ${beamsToken()}`, id);
      expect(heard).toEqual({
        status: 400,
        error: 'Bad Request',
        description: 'The device id in the path is not valid',
      });
    }
  });
});
