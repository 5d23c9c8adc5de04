import { describe, expect, it } from 'bun:test';
import type { DeviceStory } from '../../../../push/model/delivery.ts';
import {
  BACKEND,
  BACKEND_JSON,
  INSTANCE,
  NOW_MS,
  PushApi,
  publishes,
  UNKNOWN,
} from '../endpoints.fixture.ts';

const AT = '2027-01-15T08:00:00.000Z';
const NO_DEVICE = `web-${UNKNOWN}`;

const STORY: DeviceStory = {
  platform: 'web',
  kind: 'interests',
  page: 'delivered',
  registeredAtMs: NOW_MS - 1000,
  removed: undefined,
  matches: true,
  hasPayload: true,
  nextAttemptAtMs: undefined,
  events: [{ atMs: NOW_MS, what: 'failed', reason: 'http-413', words: 'Too big', attempts: 1 }],
};

/** Publishes and registers a device. Returns both ids. */
async function known(api: PushApi, story = STORY): Promise<readonly [string, string]> {
  const { json } = await api.ask('POST', publishes('/interests'), {
    headers: BACKEND_JSON,
    body: { interests: ['shop'], web: { notification: { title: 'a' } } },
  });
  const { publishId } = json as { publishId: string };
  const deviceId = await api.register('web');
  api.stories.set(`${publishId} ${deviceId}`, story);
  return [publishId, deviceId];
}

const ask = (api: PushApi, publish: string, device: string, instance: string = INSTANCE.id) =>
  api.ask('GET', publishes(`/${publish}/devices/${device}`, instance), { headers: BACKEND });

describe('why a device did not get a publish', () => {
  it('is for its backend, without a content type', async () => {
    const api = new PushApi();
    const [publishId, deviceId] = await known(api);
    expect(await ask(api, publishId, deviceId.toUpperCase().replace('WEB-', 'web-'))).toEqual({
      status: 200,
      json: {
        deviceId,
        platform: 'web',
        events: [
          {
            at: '2027-01-15T07:59:59.000Z',
            what: 'registered',
            detail: 'The device registered.',
            advice: null,
          },
          {
            at: AT,
            what: 'published',
            detail: 'This server accepted the publish.',
            advice: null,
          },
          {
            at: AT,
            what: 'failed',
            detail:
              'Given up: the message is too large for the push service (http-413). The gateway said: "Too big".',
            advice: 'Shorten the text or `data`.',
          },
        ],
      },
    });
  });

  it('names paused gateways of the instance, and of no other', async () => {
    const api = new PushApi();
    const [publishId, deviceId] = await known(api, { ...STORY, page: 'waiting', events: [] });
    const pause = {
      instance: INSTANCE.number,
      platform: 'web',
      origin: 'https://push.example.net',
      why: 'gateway',
      reason: 'silence',
      words: '',
      sinceMs: NOW_MS,
    } as const;
    api.pauses = [pause, { ...pause, instance: INSTANCE.number + 1, origin: 'https://other.net' }];
    const { json } = await ask(api, publishId, deviceId);
    expect(JSON.stringify(json)).toContain('Sending to https://push.example.net is paused');
    expect(JSON.stringify(json)).not.toContain('other.net');
  });

  it.each([
    ['an unknown publish', `pubid-${UNKNOWN}`, 'mine', 'Publish not found', /find the publish/],
    ['no id of a publish', 'pubid-1', 'mine', 'Publish not found', /find the publish/],
    ['both unknown', `pubid-${UNKNOWN}`, NO_DEVICE, 'Publish not found', /find the publish/],
    ['an unknown device', 'mine', NO_DEVICE, 'Device not found', /never registered here/],
    ['no id of a device', 'mine', 'web-1', 'Device not found', /no device id/],
    ['another platform', 'mine', `ios-${UNKNOWN}`, 'Device not found', /no device id/],
  ])('is refused with 404 for %s', async (_, publish, device, error, description) => {
    const api = new PushApi();
    const [publishId, deviceId] = await known(api);
    const heard = await ask(
      api,
      publish === 'mine' ? publishId : publish,
      device === 'mine' ? deviceId : device,
    );
    expect(heard).toEqual({
      status: 404,
      error,
      description: expect.stringMatching(description) as unknown as string,
    });
  });

  it('is refused without a key of the instance', async () => {
    const api = new PushApi();
    const [publishId, deviceId] = await known(api);
    const path = publishes(`/${publishId}/devices/${deviceId}`);
    expect(await api.ask('GET', path)).toMatchObject({ status: 400, error: 'Incomplete Request' });
    const headers = { authorization: 'Bearer no' };
    expect(await api.ask('GET', path, { headers })).toMatchObject({ status: 401 });
    expect(await ask(api, publishId, deviceId, UNKNOWN)).toMatchObject({
      status: 404,
      error: 'Instance not found',
    });
    expect(await api.ask('DELETE', path, { headers: BACKEND })).toMatchObject({ status: 405 });
  });

  it('is answered with 503, and not as unknown, while the store cannot be used', async () => {
    const api = new PushApi();
    const [publishId, deviceId] = await known(api);
    api.storeThrows = new Error('it is away');
    expect(await ask(api, publishId, deviceId)).toMatchObject({ status: 503 });
    expect(await ask(api, `pubid-${UNKNOWN}`, NO_DEVICE)).toMatchObject({ status: 503 });
  });
});
