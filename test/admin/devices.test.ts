import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { newApp } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';
import {
  ask,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  newInstance,
  nowSeconds,
  planned,
  published,
  registered,
  registeredOf,
  startPush,
  UNKNOWN,
} from '../protocol/push/exchange.ts';

let server: Fanfare;
let ids: readonly string[];
beforeAll(async () => {
  server = await startPush();
  ids = [await registered(server, 'fcm'), await registered(server, 'web')];
  await registered(server, 'fcm', {}, NEIGHBOUR.id);
});
afterAll(() => server[Symbol.asyncDispose]());

interface Listed {
  readonly devices: readonly { readonly id: string; readonly platform: string }[];
  readonly next: string | null;
}

const path = (rest = '', id: string = INSTANCE.id) => `/instances/${id}/devices${rest}`;
const list = async (query = '') => (await admin(server, 'GET', path(query))).json as Listed;
const remove = (body: object) => admin(server, 'POST', path('/remove'), { body });
const later = () => encodeURIComponent(new Date(Date.now() + 60_000).toISOString());

describe('the devices of an instance in the admin API', () => {
  it('are listed without their tokens, page by page', async () => {
    const answer = await admin(server, 'GET', path('', INSTANCE.id.toUpperCase()));
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      devices: [
        {
          id: ids[0],
          platform: 'fcm',
          userId: null,
          accepted: false,
          acceptedAt: null,
          pausedUntil: null,
          metadata: { sdkVersion: '1.10.0', androidVersion: '16' },
        },
        { id: ids[1], platform: 'web' },
      ],
      next: null,
    });
    expect(answer.text).not.toContain('d-x:');
    const first = await list('?limit=1');
    expect(first.devices.map(({ id }) => id)).toEqual([ids[0] ?? '']);
    const second = await list(`?limit=1&after=${first.next}`);
    expect(second.devices.map(({ id }) => id)).toEqual([ids[1] ?? '']);
  });

  it('are listed by each condition', async () => {
    const count = async (query: string) => (await list(query)).devices.length;
    expect(await count('?platform=web')).toBe(1);
    expect(await count('?neverAccepted=true')).toBe(2);
    expect(await count('?paused=true')).toBe(0);
    expect(await count('?paused=false')).toBe(2);
    expect(await count(`?registeredBefore=${later()}&seenBefore=${later()}`)).toBe(2);
    expect(await count('?registeredBefore=2020-01-01T00:00:00Z')).toBe(0);
    expect(await count('?seenBefore=2020-01-01T01:00:00%2B01:00')).toBe(0);
  });

  it.each([
    ['?platform=windows', 'platform'],
    ['?neverAccepted=yes', 'neverAccepted'],
    ['?paused=now', 'paused'],
    ['?registeredBefore=yesterday', 'registeredBefore'],
    ['?seenBefore=2020-01-01', 'seenBefore'],
    ['?after=-1', 'after'],
    ['?after=1%20OR%201', 'after'],
    ['?limit=0', 'limit'],
    ['?newer=1', 'newer'],
    ['?id=fcm-6a4', 'id'],
    ['?id=fcm-%25', 'id'],
    ['?user=', 'user'],
    ['?user=%00', 'user'],
    ['?interest=a%20b', 'interest'],
  ])('are refused for %s', async (query, field) => {
    const { status, json } = await admin(server, 'GET', path(query));
    expect([status, (json as { error: string }).error]).toEqual([
      400,
      expect.stringContaining(field),
    ]);
  });

  it('need an instance that is served', async () => {
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const [method, rest, body] of [
      ['GET', '', undefined],
      ['POST', '/remove', { neverAccepted: true }],
    ] as const) {
      const answer = await admin(server, method, path(rest, unknown), { body });
      expect([answer.status, answer.json]).toEqual([
        404,
        { error: `There is no instance ${unknown}` },
      ]);
    }
  });

  it('are not removed without a condition', async () => {
    for (const body of [{}, { dryRun: true }, { neverAccepted: false }, { after: '1' }]) {
      expect(await remove(body)).toMatchObject({
        status: 400,
        json: { error: expect.stringContaining('one of platform, neverAccepted') },
      });
    }
    expect((await remove({ platform: 'web', pad: 1 })).status).toBe(400);
    expect((await list()).devices).toHaveLength(2);
  });

  it('are removed, or only counted, and the log has a line', async () => {
    const extra = await registered(server, 'apns');
    const body = {
      platform: 'apns',
      neverAccepted: true,
      registeredBefore: '2099-01-01T00:00:00Z',
    };
    expect(await remove({ ...body, dryRun: true })).toMatchObject({
      status: 200,
      json: { devices: 1, dryRun: true, next: null },
    });
    expect((await ask(server, 'GET', device(`apns/${extra}`))).status).toBe(200);
    expect(await remove(body)).toMatchObject({ json: { devices: 1, dryRun: false, next: null } });
    expect((await ask(server, 'GET', device(`apns/${extra}`))).status).toBe(404);
    expect((await list()).devices).toHaveLength(2);
    const line = JSON.parse(await server.logged(/Devices removed/));
    expect(line).toMatchObject({ instance: INSTANCE.id, devices: 1 });
  });
});

describe('a device in the admin API', () => {
  it('is shown with its interests and the beginning of its token', async () => {
    const at = await newInstance(server);
    const id = await registered(at, 'fcm', { token: 'abcdefgh-the-rest-of-the-token' });
    await ask(at, 'PUT', device(`fcm/${id}/interests`, at.id), {
      headers: JSON_HEADERS,
      body: { interests: ['b', 'a'] },
    });
    const answer = await admin(
      server,
      'GET',
      path(`/${id.toUpperCase().replace('FCM', 'fcm')}`, at.id),
    );
    expect(answer).toMatchObject({
      status: 200,
      json: {
        id,
        platform: 'fcm',
        removed: null,
        registered: {
          id,
          userId: null,
          accepted: false,
          bundleId: null,
          pushService: null,
          token: { begins: 'abcdefgh', length: 30 },
          interests: ['a', 'b'],
          moreInterests: false,
        },
      },
    });
    const browser = await registered(server, 'web');
    expect((await admin(server, 'GET', path(`/${browser}`))).json).toMatchObject({
      registered: {
        token: { begins: '' },
        pushService: 'https://updates.push.services.mozilla.com',
      },
    });
    await admin(server, 'DELETE', path(`/${browser}`));
    expect((await admin(server, 'GET', path(`/${id}`))).status).toBe(404);
  });

  it('with a further token is shown with its kind, and with the device that it leaves with', async () => {
    const instance = await newInstance(server);
    const parentToken = 'cd'.repeat(32);
    const token = 'ef'.repeat(32);
    const id = await registered(instance, 'apns', { token, kind: 'voip', parentToken });
    const shown = async () => {
      const { json } = await admin(server, 'GET', path(`/${id}`, instance.id));
      return (json as { registered: object }).registered;
    };
    expect(await shown()).toMatchObject({
      kind: 'voip',
      parent: null,
      token: { begins: 'efefefef', length: 64 },
    });
    const parent = await registered(instance, 'apns', { token: parentToken });
    expect(await shown()).toMatchObject({ parent });
    const listed = await admin(server, 'GET', path('?kind=voip', instance.id));
    expect(listed.json).toMatchObject({ devices: [{ id, kind: 'voip' }], next: null });
    const wrong = await admin(server, 'GET', path('?kind=alert', instance.id));
    expect(wrong.status).toBe(400);
  });

  it('is removed alone, and is then unknown', async () => {
    const at = await newInstance(server);
    const [id, other] = [await registered(at), await registered(at)];
    const removing = server.logsNext(/Devices removed/);
    expect(await admin(server, 'DELETE', path(`/${id}`, at.id))).toMatchObject({
      status: 200,
      json: { id, removed: true },
    });
    expect(JSON.parse(await removing)).toMatchObject({ instance: at.id, devices: 1 });
    for (const method of ['GET', 'DELETE']) {
      expect(await admin(server, method, path(`/${id}`, at.id))).toMatchObject({
        status: 404,
        json: { error: expect.stringContaining('has no such device') },
      });
    }
    expect((await ask(at, 'GET', device(`fcm/${other}`, at.id))).status).toBe(200);
    expect((await admin(server, 'GET', path('/nonsense', at.id))).json).toEqual({
      error: expect.stringContaining('That is no device id'),
    });
  });

  it('lists the results of its last publishes, also after it reported them', async () => {
    const at = await newInstance(server);
    const [id, other] = [await registeredOf(at, 'ann'), await registeredOf(at, 'bob')];
    const toAnn = { users: ['ann'], fcm: { notification: { title: 'Hi' } } };
    const first = await published(at, toAnn);
    await planned(at, first, 1);
    await published(at, { ...toAnn, users: ['bob'] });
    const second = await published(at, toAnn);
    await planned(at, second, 1);
    const list = async (query = '') => {
      const { json } = await admin(server, 'GET', path(`/${id}/publishes${query}`, at.id));
      return json as {
        publishes: { publish: string; outcome: { what: string; advice: string | null } }[];
        looked: number;
        next: string | null;
      };
    };
    const settled = await eventually(list, ({ publishes }) =>
      publishes.every(({ outcome }) => outcome.what === 'failed'),
    );
    expect(settled).toMatchObject({ looked: 3, next: null });
    expect(settled.publishes.map(({ publish }) => publish)).toEqual([second, first]);
    // The instance has no credential for FCM.
    expect(settled.publishes[0]).toMatchObject({
      device: id,
      state: 'finished',
      outcome: { detail: expect.stringContaining('no-gateway'), advice: expect.any(String) },
    });
    const page = await list('?limit=1');
    expect(page.publishes.map(({ publish }) => publish)).toEqual([second]);
    const rest = await list(`?limit=1&after=${page.next}`);
    expect(rest.publishes.map(({ publish }) => publish)).toEqual([first]);
    const report = { event: 'open', publishId: second, deviceId: id, timestampSecs: nowSeconds() };
    await ask(at, 'POST', events(at.id), { headers: JSON_HEADERS, body: report });
    const reported = await eventually(
      list,
      ({ publishes }) => publishes[0]?.outcome.what === 'opened',
    );
    expect(reported.publishes).toHaveLength(2);
    expect((await admin(server, 'GET', path(`/${other}/publishes`, at.id))).json).toMatchObject({
      publishes: [{ device: other }],
    });
    expect((await admin(server, 'GET', path(`/${id}/publishes?after=0`, at.id))).status).toBe(400);
  });

  it('is explained for a publish, which lists the devices that it did not reach', async () => {
    const at = await newInstance(server);
    const [ann, bob] = [await registeredOf(at, 'ann'), await registeredOf(at, 'bob')];
    const publish = await published(at, { users: ['ann'], fcm: { notification: { title: 'Hi' } } });
    const of = (rest: string) => `/instances/${at.id}/publishes/${publish}/devices${rest}`;
    const unreached = async (query = '') =>
      (await admin(server, 'GET', of(query))).json as { devices: { state: string }[] };
    const found = await eventually(unreached, ({ devices }) => devices.length > 0);
    expect(found).toMatchObject({
      devices: [
        {
          id: ann,
          platform: 'fcm',
          userId: 'ann',
          state: 'failed',
          reason: 'no-gateway',
          why: expect.stringContaining('no-gateway'),
          nextAttemptAt: null,
        },
      ],
      next: null,
    });
    expect((await unreached('?reason=no-gateway&platform=fcm&state=failed')).devices).toHaveLength(
      1,
    );
    for (const query of ['?reason=other', '?platform=web', '?state=pruned', '?after=999999999']) {
      expect([query, (await unreached(query)).devices]).toEqual([query, []]);
    }
    const explained = await admin(server, 'GET', of(`/${ann}`));
    expect(explained.json).toMatchObject({
      publish,
      device: ann,
      platform: 'fcm',
      events: [{ what: 'registered' }, { what: 'published' }, { what: 'failed' }],
    });
    expect((await admin(server, 'GET', of(`/${bob}`))).json).toMatchObject({
      events: [{ what: 'registered' }, { what: 'published' }, { what: 'not-in-audience' }],
    });
    const noPublish = of('').replace(publish, `pubid-${UNKNOWN}`);
    for (const [unknown, error] of [
      [of(`/fcm-${UNKNOWN}`), 'has no such device'],
      [noPublish, 'There is no publish'],
    ] as const) {
      const { status, json } = await admin(server, 'GET', unknown);
      expect([status, json]).toEqual([404, { error: expect.stringContaining(error) }]);
    }
    await admin(server, 'DELETE', path(`/${ann}`, at.id));
    expect(await unreached()).toMatchObject({ devices: [{ id: null, state: 'failed' }] });
  });
});

describe('a user in the admin API', () => {
  it('is shown with the data of both products', async () => {
    const at = await newInstance(server);
    const app = await newApp(server);
    const id = await registeredOf(at, 'ann');
    await registeredOf(at, 'bob');
    const publish = await published(at, { users: ['ann'], fcm: { notification: { title: 'Hi' } } });
    await planned(at, publish, 1);
    await using client = await app.connect();
    await using other = await app.connect();
    client.send(app.signIn(client, { id: 'ann' }));
    expect((await client.receive()).event).toBe('pusher:signin_success');
    await client.subscribe('lobby');
    await other.subscribe('lobby');
    const show = (query: string) => admin(server, 'GET', `/users/ann${query}`);
    const both = await show(`?app=${app.id}&instance=${at.id.toUpperCase()}`);
    expect(both.json).toMatchObject({
      user: 'ann',
      app: {
        id: app.id,
        online: true,
        sinceMs: expect.any(Number),
        lastSeenMs: null,
        servers: server.nodes.map(() => ({ name: expect.any(String), away: false })),
        connections: [{ socketId: client.socketId, user: 'ann', channelNames: ['lobby'] }],
        moreConnections: false,
      },
      push: {
        id: at.id,
        devices: [{ id, userId: 'ann' }],
        moreDevices: false,
        publishes: [{ publish, device: id }],
        looked: 1,
      },
    });
    expect((await show(`?app=${app.id}`)).json).toMatchObject({ push: null });
    // Who has not signed in is known as a member of a presence channel.
    await using guest = await app.connect();
    const member = JSON.stringify({ user_id: 'ann' });
    await guest.subscribe('presence-room', app.auth(guest, 'presence-room', member));
    const { json } = await show(`?app=${app.id}&channel=presence-room`);
    const { connections } = (json as { app: { connections: { socketId: string }[] } }).app;
    expect(connections.map(({ socketId }) => socketId).toSorted()).toEqual(
      [client.socketId, guest.socketId].toSorted(),
    );
    expect((await show(`?app=${app.id}&channel=room`)).status).toBe(400);
    expect((await admin(server, 'GET', `/users/eve?instance=${at.id}`)).json).toEqual({
      user: 'eve',
      app: null,
      push: { id: at.id, devices: [], moreDevices: false, publishes: [], looked: 0 },
    });
    expect((await show('')).status).toBe(400);
    expect((await show('?app=nowhere')).status).toBe(404);
    expect((await show(`?instance=${UNKNOWN}`)).status).toBe(404);
  });
});

describe('fanfare devices', () => {
  const run = (...args: readonly string[]) =>
    fanfare(server.directory, ['devices', ...args, '--config', 'config.json']);

  it('lists devices beside a running server', async () => {
    const { exitCode, stdout } = await run('list', INSTANCE.id.toUpperCase());
    expect(exitCode).toBe(0);
    for (const id of ids) expect(stdout).toContain(`${id}  registered 20`);
    expect(stdout).toContain('never accepted');
    expect(stdout).not.toContain('d-x:');
    const json = await run('list', INSTANCE.id, '--platform', 'web', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject([{ id: ids[1], platform: 'web' }]);
    const [first = ''] = ids;
    const found = await run('list', INSTANCE.id, '--id', first.slice(0, 14), '--json');
    expect(JSON.parse(found.stdout)).toMatchObject([{ id: first }]);
    expect((await run('list', INSTANCE.id, '--user', 'nobody')).stdout).toContain('no such device');
    expect((await run('list', INSTANCE.id, '--id', 'fcm-1')).stderr).toContain('--id must be');
    expect((await run('list', INSTANCE.id, '--limit', '1')).stdout).toContain('There may be more');
    expect((await run('list', INSTANCE.id, '--older-than', '1d')).stdout).toContain('no such');
  });

  it('escapes control characters', async () => {
    const headers = { 'user-agent': 'evil \u009b2J' };
    const body = { token: 'terminal', metadata: {} };
    await ask(server, 'POST', device('fcm', NEIGHBOUR.id), { body, headers });
    const { stdout } = await run('list', NEIGHBOUR.id);
    expect(stdout).toContain('evil');
    expect(stdout).not.toMatch(/[\u0080-\u009f]/);
  });

  it('removes matching devices, and never all by mistake', async () => {
    const extra = await registered(server, 'apns');
    const counted = await run('remove', INSTANCE.id, '--platform', 'apns', '--dry-run');
    expect(counted.stdout).toContain(`1 device of instance ${INSTANCE.id} would be removed`);
    expect((await ask(server, 'GET', device(`apns/${extra}`))).status).toBe(200);
    const args = ['--never-accepted', '--platform', 'apns', '--not-seen-for', '0m', '--json'];
    const removed = await run('remove', INSTANCE.id, ...args);
    expect(JSON.parse(removed.stdout)).toEqual({
      instance: INSTANCE.id,
      devices: 1,
      dryRun: false,
    });
    expect((await ask(server, 'GET', device(`apns/${extra}`))).status).toBe(404);
    for (const [wrong, why] of [
      [['remove', INSTANCE.id], 'which devices?'],
      [['remove', INSTANCE.id, '--older-than', 'long'], '--older-than must be like 30d'],
      [['remove', INSTANCE.id, '--platform', 'x'], '--platform must be one of'],
      [['remove'], 'of which instance?'],
      [['list', INSTANCE.id, 'more'], 'unexpected "more"'],
    ] as const) {
      const refused = await run(...wrong);
      expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining(why)]);
    }
    const unknown = await run('remove', crypto.randomUUID(), '--never-accepted');
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('no instance')]);
  });
});

it('removed devices free room for others at once', async () => {
  const full = await newInstance(server, { limits: { devices: 2 } });
  const registering = device('fcm', full.id);
  await registered(full, 'fcm');
  await registered(full, 'web');
  const body = { token: 'one more', metadata: {} };
  expect((await ask(full, 'POST', registering, { body })).status).toBe(400);
  const another = { token: 'one-more', metadata: {} };
  expect((await ask(full, 'POST', registering, { body: another })).status).toBe(429);
  await admin(server, 'POST', path('/remove', full.id), { body: { neverAccepted: true } });
  expect((await ask(full, 'POST', registering, { body: another })).status).toBe(200);
});
