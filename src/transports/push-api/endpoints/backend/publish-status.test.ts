import { describe, expect, it } from 'bun:test';
import { NO_COUNTS } from '../../../../push/model/publish.ts';
import {
  BACKEND,
  BACKEND_JSON,
  INSTANCE,
  NOW_MS,
  PushApi,
  publishes,
  UNKNOWN,
} from '../endpoints.fixture.ts';

async function publish(api: PushApi): Promise<string> {
  const { json } = await api.ask('POST', publishes('/interests'), {
    headers: BACKEND_JSON,
    body: { interests: ['shop'], fcm: { data: { a: 'b' } } },
  });
  return String((json as { publishId: string }).publishId);
}

describe('the status of a publish', () => {
  it('is for its backend, without a content type', async () => {
    const api = new PushApi();
    const publishId = await publish(api);
    expect(await api.ask('GET', publishes(`/${publishId}`), { headers: BACKEND })).toEqual({
      status: 200,
      json: {
        publishId,
        state: 'planning',
        createdAt: '2027-01-15T08:00:00.000Z',
        sendAt: null,
        nextAt: null,
        lastAt: null,
        platforms: { apns: NO_COUNTS, fcm: NO_COUNTS, web: NO_COUNTS },
        delivered: 0,
        opened: 0,
        reasons: [],
      },
    });
  });

  it('has the pauses that its devices wait for', async () => {
    const api = new PushApi();
    const publishId = await publish(api);
    api.counts.set(publishId, { fcm: { ...NO_COUNTS, planned: 10, accepted: 4, retrying: 5 } });
    const pause = {
      instance: 1,
      platform: 'fcm',
      origin: undefined,
      why: 'credential',
      reason: 'http-401',
      words: 'No such key',
      sinceMs: NOW_MS,
    } as const;
    // The second pause belongs to another instance.
    api.pauses = [pause, { ...pause, instance: 2, reason: 'http-500' }];
    const status = await api.ask('GET', publishes(`/${publishId}`), { headers: BACKEND });
    expect(status.json).toMatchObject({
      reasons: [{ platform: 'fcm', reason: 'http-401', devices: 6 }],
    });
    expect(await api.ask('GET', publishes(`/${publishId}/pauses`), { headers: BACKEND })).toEqual({
      status: 200,
      json: {
        publishId,
        pauses: [
          {
            platform: 'fcm',
            origin: null,
            why: 'credential',
            reason: 'http-401',
            words: 'No such key',
            since: '2027-01-15T08:00:00.000Z',
            devices: 6,
          },
        ],
      },
    });
  });

  it('stays cancelled, which is logged once', async () => {
    const api = new PushApi();
    const id = await publish(api);
    for (let n = 0; n < 3; n++) {
      const heard = await api.ask('DELETE', publishes(`/${id}`), { headers: BACKEND });
      expect(heard).toMatchObject({ status: 200, json: { publishId: id, state: 'cancelled' } });
    }
    expect(api.logged).toEqual([
      { message: 'Publish cancelled', instance: INSTANCE.id, publish: id },
    ]);
  });

  it('is logged as cancelled at most once a second for all publishes of the instance', async () => {
    const api = new PushApi();
    for (let n = 0; n < 200; n++) {
      const id = await publish(api);
      await api.ask('DELETE', publishes(`/${id}`), { headers: BACKEND });
    }
    expect(api.logged).toHaveLength(50);
    api.nowMs += 1_000;
    await api.ask('DELETE', publishes(`/${await publish(api)}`), { headers: BACKEND });
    expect(api.logged.at(-1)).toMatchObject({ message: 'Publish cancelled', notLogged: 150 });
  });

  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/pauses'],
    ['DELETE', ''],
  ] as const) {
    for (const [what, id, headers, status, error] of [
      ['an unknown publish', `pubid-${UNKNOWN}`, BACKEND, 404, 'Publish not found'],
      ['what is no id', 'pubid-1', BACKEND, 404, 'Publish not found'],
      ['nobody', `pubid-${UNKNOWN}`, {}, 400, 'Incomplete Request'],
      ['a wrong key', 'pubid-1', { authorization: 'Bearer no' }, 401, 'Unauthorized'],
    ] as const) {
      it(`is refused with ${status} to ${method}${path} for ${what}`, async () => {
        const heard = await new PushApi().ask(method, publishes(`/${id}${path}`), { headers });
        expect(heard).toEqual({ status, error, description: expect.any(String) });
      });
    }

    it(`is refused to ${method}${path} for an unknown instance`, async () => {
      const heard = await new PushApi().ask(method, publishes(`/pubid-1${path}`, UNKNOWN), {
        headers: BACKEND,
      });
      expect(heard).toMatchObject({ status: 404, error: 'Instance not found' });
    });
  }
});
