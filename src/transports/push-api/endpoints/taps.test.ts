import { beforeEach, describe, expect, it } from 'bun:test';
import type { PushTapEvent } from '../../../push/watching/push-tap.ts';
import {
  BACKEND,
  BACKEND_JSON,
  beamsToken,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  NOW_MS,
  PushApi,
  publishes,
  registrations,
  user,
} from './endpoints.fixture.ts';

let api: PushApi;
let shown: PushTapEvent[];
beforeEach(() => {
  api = new PushApi();
  shown = [];
  api.taps.set(INSTANCE.number, { record: (event) => void shown.push(event) });
});

async function publish(body: object, headers: Record<string, string> = {}): Promise<string> {
  const kind = 'users' in body ? 'users' : 'interests';
  const asked = { headers: { ...BACKEND_JSON, ...headers }, body: { ...body, fcm: { data: {} } } };
  const { json } = await api.ask('POST', publishes(`/${kind}`), asked);
  return Object(json).publishId;
}

describe('a watcher of an instance is shown', () => {
  it('a publish with whom it is for, once', async () => {
    const interests = Array.from({ length: 7 }, (_, n) => `i${n}`);
    const once = { 'idempotency-key': 'k' };
    const sendAt = new Date(NOW_MS + 60_000).toISOString().replace('.000', '');
    const first = await publish({ interests }, once);
    expect(await publish({ interests }, once)).toBe(first);
    const second = await publish({ users: ['ann'], sendAt });
    expect(shown).toEqual([
      {
        kind: 'published',
        publish: first,
        target: 'interests: i0, i1, i2, i3, i4 and 2 more',
        dueAtMs: undefined,
      },
      { kind: 'published', publish: second, target: 'users: ann', dueAtMs: NOW_MS + 60_000 },
    ]);
  });

  it('a publish that is cancelled, once', async () => {
    const id = await publish({ interests: ['hello'] });
    for (const _ of [1, 2]) await api.ask('DELETE', publishes(`/${id}`), { headers: BACKEND });
    expect(shown.slice(1)).toEqual([{ kind: 'cancelled', publish: id }]);
  });

  it('devices that register and leave, without their tokens', async () => {
    const [one, two] = [await api.register('fcm'), await api.register('apns')];
    // A known token is no new device.
    await api.register('apns');
    const headers = { authorization: `Bearer ${beamsToken()}` };
    await api.ask('PUT', device(`apns/${two}/user`), { headers });
    for (const _ of [1, 2]) await api.ask('DELETE', device(`fcm/${one}`));
    for (const _ of [1, 2]) await api.ask('DELETE', user('ann'), { headers: BACKEND });
    expect(shown).toEqual([
      { kind: 'registered', device: one, platform: 'fcm' },
      { kind: 'registered', device: two, platform: 'apns' },
      { kind: 'removed', device: one, platform: 'fcm', user: undefined, devices: 1 },
      { kind: 'removed', user: 'ann', devices: 1 },
    ]);
    expect(JSON.stringify(shown)).not.toContain(registrations.apns.token);
  });

  it('reports of devices', async () => {
    const deviceId = await api.register();
    const report = { publishId: 'pubid-1', deviceId, timestampSecs: 1 };
    for (const event of ['delivery', 'open']) {
      await api.ask('POST', events(), { headers: JSON_HEADERS, body: { ...report, event } });
    }
    const of = { publish: 'pubid-1', device: deviceId, user: undefined };
    expect(shown.slice(1)).toEqual([
      { kind: 'delivered', ...of },
      { kind: 'opened', ...of },
    ]);
  });
});
