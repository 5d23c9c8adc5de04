import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { fanfare } from '../cli/run-fanfare.ts';
import {
  ask,
  device,
  INSTANCE,
  NEIGHBOUR,
  newInstance,
  registered,
  startPush,
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
    expect(await count(`?registeredBefore=${later()}&seenBefore=${later()}`)).toBe(2);
    expect(await count('?registeredBefore=2020-01-01T00:00:00Z')).toBe(0);
    expect(await count('?seenBefore=2020-01-01T01:00:00%2B01:00')).toBe(0);
  });

  it.each([
    ['?platform=windows', 'platform'],
    ['?neverAccepted=yes', 'neverAccepted'],
    ['?registeredBefore=yesterday', 'registeredBefore'],
    ['?seenBefore=2020-01-01', 'seenBefore'],
    ['?after=-1', 'after'],
    ['?after=1%20OR%201', 'after'],
    ['?limit=0', 'limit'],
    ['?newer=1', 'newer'],
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
