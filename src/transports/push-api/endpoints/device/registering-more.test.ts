import { describe, expect, it } from 'bun:test';
import { NO_LIMITS } from '../../../../../testing/push-limits.ts';
import { beamsToken, device, INSTANCE, PushApi, registrations } from '../endpoints.fixture.ts';

const platforms = ['apns', 'fcm', 'web'] as const;
const ANN = { authorization: `Bearer ${beamsToken()}` };

async function register(
  api: PushApi,
  platform: (typeof platforms)[number],
  { more = {}, headers = {} }: { more?: object; headers?: Readonly<Record<string, string>> },
) {
  const body = { ...registrations[platform], ...more };
  return await api.ask('POST', device(platform), { body, headers });
}

describe.each(platforms)('a registration of %s', (platform) => {
  it('may set the interests and the user, in one change of the store', async () => {
    const api = new PushApi();
    const more = { interests: ['news', 'Zoo', 'news'] };
    const heard = await register(api, platform, { more, headers: ANN });
    const id = api.kept()[0]?.registered.id;
    expect(heard).toEqual({
      status: 200,
      json: platform === 'web' ? { id } : { id, initialInterestSet: ['Zoo', 'news'] },
    });
    expect(api.kept()).toMatchObject([{ userId: 'ann', interests: new Set(['news', 'Zoo']) }]);
    expect(api.asked.map(([method]) => method)).toEqual(['register']);
    // What a registration does not name stays.
    await register(api, platform, {});
    expect(api.kept()).toMatchObject([{ userId: 'ann', interests: new Set(['news', 'Zoo']) }]);
  });

  it.each<[interests: unknown, description: string]>([
    ['news', '`interests`: must be an array of strings'],
    [['a', 7], '`interests.1`: must be a string'],
    [['a b'], '`interests.0`: must be 1 to 164 of the letters'],
  ])('is refused with the interests %j', async (interests, description) => {
    const api = new PushApi();
    expect(await register(api, platform, { more: { interests } })).toMatchObject({
      status: 400,
      description: expect.stringContaining(description),
    });
    expect(api.kept()).toEqual([]);
  });

  it.each([
    ['another scheme', `Basic ${beamsToken()}`, 'The Authorization header is malformed'],
    ['a wrong signature', `Bearer ${beamsToken({}, 'wrong')}`, ''],
    ['an expired token', `Bearer ${beamsToken({ exp: 1 })}`, ''],
  ])('registers nothing with %s', async (_, authorization, description) => {
    const api = new PushApi();
    const heard = await register(api, platform, { headers: { authorization } });
    expect(heard).toMatchObject({
      status: 401,
      error: 'Unauthorized',
      description: expect.stringContaining(description),
    });
    expect(api.kept()).toEqual([]);
  });

  it('sets no user with a secret key, which backends may send with every request', async () => {
    const api = new PushApi();
    const headers = { authorization: `Bearer ${INSTANCE.secretKeys[0]}` };
    expect(await register(api, platform, { headers })).toMatchObject({ status: 200 });
    expect(api.kept()).toMatchObject([{ userId: undefined }]);
  });

  it('changes nothing of a device with another user', async () => {
    const api = new PushApi();
    await register(api, platform, { headers: ANN, more: { interests: ['a'] } });
    const headers = { authorization: `Bearer ${beamsToken({ sub: 'bob' })}` };
    expect(await register(api, platform, { headers, more: { interests: ['b'] } })).toEqual({
      status: 400,
      error: 'Bad Request',
      description: 'A User Id is already associated with this device.',
    });
    expect(api.kept()).toMatchObject([{ userId: 'ann', interests: new Set(['a']) }]);
  });

  it('is refused if the instance has no room for the interests', async () => {
    const api = new PushApi();
    api.instance = { ...INSTANCE, limits: { ...NO_LIMITS, interests: 1 } };
    expect(await register(api, platform, { more: { interests: ['a', 'b'] } })).toMatchObject({
      status: 429,
      description: 'The instance has reached its limit of interests: 1',
    });
    expect(api.kept()).toEqual([]);
  });

  it('counts each interest as a changed row', async () => {
    const api = new PushApi();
    api.settings = {
      ...api.settings,
      addressLimits: { requestsPerSecond: 0, rowsPerSecond: 1, reportsPerSecond: 0 },
    };
    // A burst of 60 rows.
    const interests = Array.from({ length: 30 }, (_, n) => `i-${n}`);
    const statuses: number[] = [];
    for (let count = 0; count < 3; count++) {
      statuses.push((await register(api, platform, { more: { interests } })).status);
    }
    expect(statuses).toEqual([200, 429, 429]);
  });
});

describe('a further token of an iPhone', () => {
  it('is a device of its own, beside the ordinary one', async () => {
    const api = new PushApi();
    const parentToken = registrations.apns.token;
    await register(api, 'apns', {});
    const more = { token: 'cd'.repeat(32), kind: 'voip', parentToken };
    const heard = await register(api, 'apns', { more });
    expect(api.kept().map(({ registered }) => registered.kind)).toEqual([undefined, 'voip']);
    const [parent] = api.kept();
    expect(api.kept()[1]?.registered.parent).toBe(parent?.token.identity);
    const { id } = heard.json as { id: string };
    expect((await api.ask('GET', device(`apns/${id}`))).status).toBe(200);
    await api.ask('DELETE', device(`apns/${parent?.registered.id}`));
    expect(api.kept()).toEqual([]);
  });

  it('replaces the device with the same token that is of another kind', async () => {
    const api = new PushApi();
    const first = await api.register('apns', { interests: ['a'] });
    const second = await api.register('apns', { kind: 'widgets' });
    expect(second).not.toBe(first);
    expect(api.kept().map(({ registered }) => registered.id as string)).toEqual([second]);
  });
});
