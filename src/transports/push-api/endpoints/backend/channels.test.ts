import { describe, expect, it } from 'bun:test';
import { NO_LIMITS } from '../../../../../testing/push-limits.ts';
import type { BroadcastChannels } from '../../../../push/broadcast-channels.ts';
import { CHANNELS_PER_INSTANCE } from '../../../../push/channel-store.ts';
import { newDeviceId } from '../../../../push/model/device-id.ts';
import { BACKEND, BACKEND_JSON, INSTANCE, PushApi } from '../endpoints.fixture.ts';

const CHANNELS = `/publish_api/v1/instances/${INSTANCE.id}/apns-channels`;
const WANTED = { bundleId: 'com.example.app', storage: 'none', interests: ['match-7'] };

/** Channels at Apple, which may refuse. */
class FakeApple implements BroadcastChannels {
  refuses: string | undefined;
  readonly asked: string[] = [];

  async create(bundleId: string, storage: string) {
    this.asked.push(`create ${bundleId} ${storage}`);
    return this.answer(`channel-${this.asked.length}`);
  }

  async delete(bundleId: string, channel: string) {
    this.asked.push(`delete ${bundleId} ${channel}`);
    return this.answer(undefined);
  }

  private answer<Value>(value: Value) {
    return this.refuses === undefined
      ? ({ result: 'done', value } as const)
      : ({ result: 'refused', why: this.refuses } as const);
  }
}

function apiWithApple() {
  const api = new PushApi();
  const apple = new FakeApple();
  api.apple = apple;
  const create = (body: object = WANTED) =>
    api.ask('POST', CHANNELS, { body, headers: BACKEND_JSON });
  return { api, apple, create };
}

describe('broadcast channels', () => {
  it('are created at Apple, listed and deleted there', async () => {
    const { api, apple, create } = apiWithApple();
    const first = await create({ ...WANTED, interests: ['b', 'a', 'b'] });
    const { id } = first.json as { id: string };
    expect(first).toEqual({
      status: 200,
      json: { id: expect.stringMatching(/^apns-/), channel: 'channel-1' },
    });
    await create({ ...WANTED, storage: 'latest', interests: [] });
    const list = async () => (await api.ask('GET', CHANNELS, { headers: BACKEND })).json;
    const second = expect.objectContaining({ channel: 'channel-2', storage: 'latest' });
    const shown = {
      id,
      channel: 'channel-1',
      bundleId: 'com.example.app',
      storage: 'none',
      interests: ['a', 'b'],
    };
    expect(await list()).toEqual({ channels: [shown, second] });
    expect(api.kept().map(({ registered }) => registered.kind)).toEqual([
      'channel',
      'channel-latest',
    ]);

    const deleted = await api.ask('DELETE', `${CHANNELS}/${id}`, { headers: BACKEND });
    expect(deleted).toEqual({ status: 200 });
    expect(await list()).toEqual({ channels: [second] });
    expect(apple.asked).toEqual([
      'create com.example.app none',
      'create com.example.app latest',
      'delete com.example.app channel-1',
    ]);
  });

  it('that are unknown count as deleted, and no other device is deleted', async () => {
    const { api, apple } = apiWithApple();
    const device = await api.register('apns');
    for (const id of ['x', newDeviceId('apns'), device]) {
      const heard = await api.ask('DELETE', `${CHANNELS}/${id}`, { headers: BACKEND });
      expect(heard).toEqual({ status: 200 });
    }
    expect(apple.asked).toEqual([]);
    expect(api.kept()).toHaveLength(1);
  });

  it.each<[change: object, description: string]>([
    [{ bundleId: 'a b' }, '`bundleId`: must be a string of 1 to 255'],
    [{ bundleId: undefined }, '`bundleId`: must be a string of 1 to 255'],
    [{ storage: 'all' }, '`storage`: must be "none" or "latest"'],
    [{ interests: undefined }, '`interests`: interests is required'],
    [{ interests: 'a' }, '`interests`: must be an array of strings'],
    [{ interests: ['a', 'b c'] }, '`interests.1`: must be 1 to 164 of the letters'],
    [{ interests: Array(101).fill('a') }, '`interests`: must have at most 100 entries'],
  ])('need right fields: %j', async (change, description) => {
    const { apple, create } = apiWithApple();
    expect(await create({ ...WANTED, ...change })).toMatchObject({
      status: 422,
      error: 'Unprocessable Entity',
      description: expect.stringContaining(description),
    });
    expect(apple.asked).toEqual([]);
  });

  it('need a secret key, and a key for Apple', async () => {
    const { api, apple } = apiWithApple();
    for (const [method, path] of [
      ['POST', CHANNELS],
      ['GET', CHANNELS],
      ['DELETE', `${CHANNELS}/${newDeviceId('apns')}`],
    ] as const) {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer wrong' };
      expect((await api.ask(method, path, { body: WANTED, headers })).status).toBe(401);
    }
    api.apple = undefined;
    expect(await api.ask('POST', CHANNELS, { body: WANTED, headers: BACKEND_JSON })).toMatchObject({
      status: 422,
      description: expect.stringContaining('no `apns`'),
    });
    expect(apple.asked).toEqual([]);
  });

  it('that Apple refuses are 502 with its reason, and nothing changes', async () => {
    const { api, apple, create } = apiWithApple();
    const refused = {
      status: 502,
      error: 'Bad gateway',
      description: expect.stringContaining('FeatureNotEnabled'),
    };
    apple.refuses = 'FeatureNotEnabled';
    expect(await create()).toEqual(refused);
    expect(api.kept()).toEqual([]);
    apple.refuses = undefined;
    const { id } = (await create()).json as { id: string };
    apple.refuses = 'FeatureNotEnabled';
    const deleted = await api.ask('DELETE', `${CHANNELS}/${id}`, { headers: BACKEND });
    expect(deleted).toEqual(refused);
    expect(api.kept()).toHaveLength(1);
  });

  it('that cannot be kept are deleted at Apple again, and the log says so if that fails', async () => {
    const { api, apple, create } = apiWithApple();
    api.instance = { ...INSTANCE, limits: { ...NO_LIMITS, devices: 1 } };
    await api.register('apns');
    expect((await create()).status).toBe(429);
    expect(apple.asked).toEqual([
      'create com.example.app none',
      'delete com.example.app channel-1',
    ]);
    expect(api.kept()).toHaveLength(1);
    api.logged.length = 0;
    const { delete: remove } = apple;
    apple.delete = async (...given) => {
      apple.refuses = 'no-answer';
      return await remove.apply(apple, given);
    };
    await create();
    expect(api.logged).toContainEqual({
      message: 'Broadcast channel left at Apple',
      instance: INSTANCE.id,
      why: 'no-answer',
    });
  });

  it('are up to 1,000 of an instance', async () => {
    const { api, apple, create } = apiWithApple();
    for (let count = 0; count < CHANNELS_PER_INSTANCE; count++) await create();
    expect(await create()).toMatchObject({
      status: 422,
      description: 'The instance has the maximum of 1000 channels already',
    });
    expect(api.kept()).toHaveLength(CHANNELS_PER_INSTANCE);
    expect(apple.asked).toHaveLength(CHANNELS_PER_INSTANCE);
  });
});
