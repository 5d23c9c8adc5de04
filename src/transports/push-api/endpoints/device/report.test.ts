import { describe, expect, it } from 'bun:test';
import type { PublishId } from '../../../../push/model/publish.ts';
import {
  beamsToken,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  PushApi,
  UNKNOWN,
} from '../endpoints.fixture.ts';

const PUBLISH = 'pubid-0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69';
const DELIVERY = {
  event: 'delivery',
  publishId: PUBLISH,
  deviceId: 'web-0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a70',
  userId: 'ann',
  timestampSecs: 1_800_000_000,
  appInBackground: true,
  hasDisplayableContent: true,
  hasData: false,
};
const TAKEN = { status: 200, json: {} };

const report = (api: PushApi, body: unknown, headers: Record<string, string> = JSON_HEADERS) =>
  api.ask('POST', events(), { headers, body });

describe('a report', () => {
  it('of a delivery is stored with all its fields', async () => {
    const api = new PushApi();
    expect(await report(api, DELIVERY)).toEqual(TAKEN);
    expect(api.reports).toMatchObject([
      {
        event: 'delivery',
        publishId: PUBLISH,
        deviceId: DELIVERY.deviceId,
        userId: 'ann',
        timestampSeconds: 1_800_000_000,
        appInBackground: true,
        hasDisplayableContent: true,
        hasData: false,
      },
    ]);
  });

  it('finds the instance by its id in any case', async () => {
    const api = new PushApi();
    const path = events(INSTANCE.id.toUpperCase());
    expect(await api.ask('POST', path, { headers: JSON_HEADERS, body: DELIVERY })).toEqual(TAKEN);
    expect(api.reports).toHaveLength(1);
  });

  it('is accepted as the three SDKs write it', async () => {
    const api = new PushApi();
    const { userId, appInBackground, hasDisplayableContent, hasData, ...least } = DELIVERY;
    for (const body of [
      { ...DELIVERY, userId: null, event: 'open' },
      { ...DELIVERY, event: 'Delivery', instanceId: UNKNOWN },
      { ...least, event: 'Open', instanceId: 7 },
      // A device's clock may have any time.
      { ...least, timestampSecs: 0 },
      { ...least, timestampSecs: 1 },
      { ...least, timestampSecs: 99_999_999_999 },
    ]) {
      expect(
        await report(api, body, { 'content-type': 'Application/json; charset=UTF-8' }),
      ).toEqual(TAKEN);
    }
    expect(api.reports).toHaveLength(6);
  });

  it('of an unknown publish or device is accepted', async () => {
    const api = new PushApi();
    expect(await report(api, { ...DELIVERY, publishId: 'gone', deviceId: 'x' })).toEqual(TAKEN);
  });

  describe('that was stored', () => {
    const publishId = PUBLISH as PublishId;
    const setUser = async (api: PushApi) => {
      const deviceId = await api.register();
      const headers = { authorization: `Bearer ${beamsToken()}` };
      await api.ask('PUT', device(`web/${deviceId}/user`), { headers });
      return deviceId;
    };

    it('is sent to webhooks with the user of the device', async () => {
      const api = new PushApi();
      const deviceId = await setUser(api);
      const path = events(INSTANCE.id.toUpperCase());
      for (const body of [
        { ...DELIVERY, deviceId },
        { ...DELIVERY, deviceId, event: 'Open', userId: undefined },
        { ...DELIVERY, deviceId, event: 'open', userId: null },
      ]) {
        expect(await api.ask('POST', path, { headers: JSON_HEADERS, body })).toEqual(TAKEN);
      }
      const reported = { instanceId: INSTANCE.id, publishId, deviceId, userId: 'ann' };
      expect<unknown>(api.webhookReports).toEqual([
        { ...reported, event: 'delivery' },
        { ...reported, event: 'open' },
        { ...reported, event: 'open' },
      ]);
    });

    it('is not sent to webhooks if it names another user or the device has none', async () => {
      const api = new PushApi();
      await report(api, { ...DELIVERY, deviceId: await setUser(api), userId: 'bob' });
      const deviceId = await api.register('fcm');
      await report(api, { ...DELIVERY, deviceId });
      await report(api, { ...DELIVERY, deviceId, userId: undefined });
      expect([api.reports.length, api.webhookReports]).toEqual([3, []]);
    });
  });

  it('for an unknown instance is accepted and dropped, if it is valid', async () => {
    const api = new PushApi();
    const ask = (body: unknown) =>
      api.ask('POST', events(UNKNOWN), { headers: JSON_HEADERS, body });
    expect(await ask(DELIVERY)).toEqual(TAKEN);
    expect(await ask({})).toMatchObject({ status: 400 });
    expect([api.reports, api.asked]).toEqual([[], []]);
  });

  /** Each row of the seed's table, in the order of checks. */
  const rows: readonly (readonly [
    string,
    string,
    Record<string, string>,
    unknown,
    string,
    string,
  ])[] = [
    [
      'another content type',
      events('x'),
      { 'content-type': 'text/plain' },
      '[',
      'Invalid content type',
      'application/json',
    ],
    ['no content type', events(), {}, DELIVERY, 'Invalid content type', 'application/json'],
    [
      'no instance id',
      '/reporting_api/v2/instances//events',
      JSON_HEADERS,
      DELIVERY,
      'Incomplete Request',
      'instance id',
    ],
    ['an instance id that is no UUID', events('x'), JSON_HEADERS, '[', 'Bad request', 'UUID'],
    ['a body that is no object', events(), JSON_HEADERS, '[]', 'Bad request', 'JSON object'],
    ['no body', events(), JSON_HEADERS, '', 'Bad request', 'JSON object'],
    ['no event', events(), JSON_HEADERS, {}, 'Bad request', '`event`'],
    [
      'another event',
      events(),
      JSON_HEADERS,
      { ...DELIVERY, event: 'click' },
      'Bad request',
      '`event`',
    ],
    ['no publishId', events(), JSON_HEADERS, { event: 'open' }, 'Bad request', '`publishId`'],
    [
      'no deviceId',
      events(),
      JSON_HEADERS,
      { event: 'open', publishId: 'p', deviceId: null },
      'Bad request',
      '`deviceId`',
    ],
    [
      'no timestampSecs',
      events(),
      JSON_HEADERS,
      { event: 'open', publishId: 'p', deviceId: 'd' },
      'Bad request',
      '`timestampSecs`',
    ],
  ];
  for (const [what, path, headers, body, error, description] of rows) {
    it(`with ${what} is refused`, async () => {
      const api = new PushApi();
      expect(await api.ask('POST', path, { headers, body })).toEqual({
        status: 400,
        error,
        description: expect.stringContaining(description),
      });
      expect(api.asked).toEqual([]);
    });
  }
});
