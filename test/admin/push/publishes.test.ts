import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin } from '../../../testing/clients/admin-api.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import {
  type Instance,
  newInstance,
  published,
  registered,
  startPush,
  UNKNOWN,
} from '../../protocol/push/exchange.ts';

/** The proxy has an address of its own on this machine. */
const PROXY = '127.0.0.2';

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly payloads: string | null;
  readonly target: object;
  readonly reasons: readonly object[];
}

let server: Fanfare;
beforeAll(async () => {
  server = await startPush({
    config: {
      admin: {
        port: 0,
        proxy: { trust: [PROXY], userHeader: 'x-user', groupsHeader: 'x-groups' },
        roles: [
          { group: 'view', role: 'viewer' },
          { group: 'other', role: 'admin', instances: [UNKNOWN] },
        ],
      },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const LATER = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');

async function listed({ id }: Instance, query = ''): Promise<readonly Shown[]> {
  const { json, status } = await admin(server, 'GET', `/instances/${id}/publishes${query}`);
  expect(status).toBe(200);
  return (json as { publishes: Shown[] }).publishes;
}

async function shown({ id }: Instance, publish: string): Promise<Shown> {
  const { json } = await admin(server, 'GET', `/instances/${id}/publishes/${publish}`);
  return json as Shown;
}

describe('the publishes of an instance', () => {
  it('are listed, and shown with why devices did not get them', async () => {
    const instance = await newInstance(server);
    await registered(instance, 'fcm');
    const id = await published(instance, {
      interests: ['hello', 'shop'],
      sendAt: LATER,
      fcm: { notification: { title: 'Hi' } },
      texts: { de: { title: 'Hallo' } },
      urgent: true,
      perSecond: 10,
    });
    expect(await listed(instance, '?state=scheduled')).toMatchObject([
      { id, state: 'scheduled', target: { kind: 'interests', count: 2, names: ['hello', 'shop'] } },
    ]);
    expect(await listed(instance, '?state=finished')).toEqual([]);
    expect(await shown(instance, id)).toMatchObject({
      id,
      payloads: JSON.stringify({
        fcm: { notification: { title: 'Hi' } },
        texts: { de: { title: 'Hallo' } },
        perSecond: 10,
        urgent: true,
      }),
      seconds: null,
      pauses: [],
      reasons: [],
    });
  });

  it('explain why a device did not get one', async () => {
    const instance = await newInstance(server);
    const { status } = await setInterest(instance, await registered(instance, 'fcm'));
    expect(status).toBe(200);
    const id = await published(instance, { interests: ['hello'], fcm: { data: {} } });
    const done = await eventually(
      () => shown(instance, id),
      ({ state }) => state === 'finished',
    );
    // The instance has no credential for FCM.
    expect(done).toMatchObject({
      platforms: { fcm: { planned: 1, failed: 1 } },
      reasons: [
        {
          platform: 'fcm',
          reason: 'no-gateway',
          devices: 1,
          why: expect.stringContaining('no-gateway'),
          advice: expect.stringMatching(/\w/),
        },
      ],
      payloads: null,
    });
  });

  it('are cancelled once, by operators, and the audit list names the publish', async () => {
    const instance = await newInstance(server);
    const id = await published(instance, { interests: ['hello'], sendAt: LATER, web: {} });
    const path = `/instances/${instance.id}/publishes/${id}/cancel`;
    expect((await as('view', 'POST', path)).status).toBe(403);
    const logged = server.logsNext(/Publish cancelled/);
    const first = await admin(server, 'POST', path);
    expect(first.json).toEqual({ id, state: 'cancelled', cancelled: true });
    expect(await logged).toContain(id);
    const again = await admin(server, 'POST', path);
    expect(again.json).toEqual({ id, state: 'cancelled', cancelled: false });
    const { text } = await admin(server, 'GET', '/audit');
    expect(text).toContain(id);
  });

  it('of users are named only to those who may see personal data, and payloads too', async () => {
    const instance = await newInstance(server);
    const id = await published(instance, {
      users: ['ann', 'bob'],
      sendAt: LATER,
      web: { notification: { title: 'secret plans' } },
    });
    expect(await shown(instance, id)).toMatchObject({
      target: { kind: 'users', count: 2, names: ['ann', 'bob'] },
    });
    for (const path of ['', `/${id}`]) {
      const target = `/instances/${instance.id}/publishes${path}`;
      const { body, status } = await as('view', 'GET', target);
      expect(status).toBe(200);
      expect(body).toContain('"count":2');
      expect(body).not.toContain('"ann"');
      expect(body).not.toContain('secret plans');
    }
    const users = Array.from({ length: 101 }, (_, n) => `user-${n}`);
    const many = await published(instance, { users, sendAt: LATER, web: {} });
    expect(await shown(instance, many)).toMatchObject({
      target: { count: 101, names: users.slice(0, 100) },
    });
  });

  it('of others, and those that are not there, are not found', async () => {
    const instance = await newInstance(server);
    const other = await newInstance(server);
    const id = await published(other, { interests: ['hello'], sendAt: LATER, web: {} });
    for (const publish of [id, `pubid-${UNKNOWN}`, 'nonsense']) {
      for (const [method, rest] of [
        ['GET', ''],
        ['POST', '/cancel'],
      ] as const) {
        const target = `/instances/${instance.id}/publishes/${publish}${rest}`;
        expect([publish, (await admin(server, method, target)).status]).toEqual([publish, 404]);
      }
    }
    expect(await listed(instance)).toEqual([]);
  });

  it('are found by their id alone, by those who may see the instance', async () => {
    const instance = await newInstance(server);
    const id = await published(instance, { interests: ['hello'], sendAt: LATER, web: {} });
    const found = await admin(server, 'GET', `/publishes/${id}`);
    expect(found.json).toEqual({ id, instance: instance.id });
    expect((await as('view', 'GET', `/publishes/${id}`)).status).toBe(200);
    expect((await as('other', 'GET', `/publishes/${id}`)).status).toBe(404);
    expect((await admin(server, 'GET', `/publishes/pubid-${UNKNOWN}`)).status).toBe(404);
  });
});

describe('fanfare push', () => {
  it('lists publishes, and cancels one', async () => {
    const instance = await newInstance(server);
    const config = join(server.directory, 'config.json');
    const run = (...args: string[]) => {
      const url = `http://127.0.0.1:${server.adminPort}`;
      return fanfare(server.directory, ['push', ...args, '--url', url, '--config', config]);
    };
    expect(await run('list', instance.id)).toMatchObject({ exitCode: 0, stdout: 'No publish.\n' });
    const id = await published(instance, { users: ['ann', 'bob'], sendAt: LATER, web: {} });
    expect((await run('list', instance.id)).stdout).toMatch(
      new RegExp(`^${id}  \\S+Z  scheduled +0/0  ann, bob\\n$`),
    );
    expect((await run('cancel', instance.id, id)).stdout).toBe(`Publish ${id} was cancelled.\n`);
    expect((await run('cancel', instance.id, id)).stdout).toBe(`Publish ${id} was over already.\n`);
    const cancelled = await run('list', instance.id, '--state', 'cancelled', '--json');
    expect(JSON.parse(cancelled.stdout)).toMatchObject([{ id, state: 'cancelled' }]);
    expect((await run('cancel', instance.id, 'pubid-x')).exitCode).toBe(1);
    expect((await run('cancel', instance.id)).exitCode).toBe(2);
    expect((await run('list', instance.id, '--state', 'odd')).exitCode).toBe(2);
  });
});

/** Subscribes a device to `hello`. */
function setInterest({ id, pushPort }: Instance, device: string): Promise<Response> {
  const path = `/device_api/v1/instances/${id}/devices/fcm/${device}/interests/hello`;
  return fetch(`http://127.0.0.1:${pushPort}${path}`, { method: 'POST' });
}

/** Asks as a user of a group. */
async function as(group: string, method: string, path: string) {
  await using http = await RawHttp.open({ port: server.adminPort }, { from: PROXY });
  const headers = { 'x-user': 'vera', 'x-groups': group, 'content-type': 'application/json' };
  return await http.request({ method, target: `/api/v1${path}`, headers });
}
