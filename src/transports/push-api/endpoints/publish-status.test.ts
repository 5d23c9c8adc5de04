import { describe, expect, it } from 'bun:test';
import { BACKEND, BACKEND_JSON, PushApi, publishes, UNKNOWN } from './endpoints.fixture.ts';

async function publish(api: PushApi): Promise<string> {
  const { json } = await api.ask('POST', publishes('/interests'), {
    headers: BACKEND_JSON,
    body: { interests: ['shop'], fcm: { data: { a: 'b' } } },
  });
  return String((json as { publishId: string }).publishId);
}

const counts = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

describe('the status of a publish', () => {
  it('is told to its backend, without a content type', async () => {
    const api = new PushApi();
    const publishId = await publish(api);
    expect(await api.ask('GET', publishes(`/${publishId}`), { headers: BACKEND })).toEqual({
      status: 200,
      json: {
        publishId,
        state: 'planning',
        createdAt: '2027-01-15T08:00:00.000Z',
        sendAt: null,
        platforms: { apns: counts, fcm: counts, web: counts },
        delivered: 0,
        opened: 0,
        reasons: [],
      },
    });
  });

  it('is cancelled after it was cancelled, which is logged', async () => {
    const api = new PushApi();
    const id = await publish(api);
    const heard = await api.ask('DELETE', publishes(`/${id}`), { headers: BACKEND });
    expect(heard).toMatchObject({ status: 200, json: { publishId: id, state: 'cancelled' } });
    expect(api.logged).toMatchObject([{ message: 'Publish cancelled', publish: id }]);
  });

  for (const method of ['GET', 'DELETE']) {
    for (const [what, id, headers, status, error] of [
      ['an unknown publish', `pubid-${UNKNOWN}`, BACKEND, 404, 'Publish not found'],
      ['what is no id', 'pubid-1', BACKEND, 404, 'Publish not found'],
      ['nobody', `pubid-${UNKNOWN}`, {}, 400, 'Incomplete Request'],
      ['a wrong key', 'pubid-1', { authorization: 'Bearer no' }, 401, 'Unauthorized'],
    ] as const) {
      it(`is refused with ${status} to ${method} for ${what}`, async () => {
        const heard = await new PushApi().ask(method, publishes(`/${id}`), { headers });
        expect(heard).toEqual({ status, error, description: expect.any(String) });
      });
    }

    it(`is refused to ${method} for an unknown instance`, async () => {
      const heard = await new PushApi().ask(method, publishes('/pubid-1', UNKNOWN), {
        headers: BACKEND,
      });
      expect(heard).toMatchObject({ status: 404, error: 'Instance not found' });
    });
  }
});
