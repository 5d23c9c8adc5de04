import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { admin, everyServerTakes } from '../../testing/clients/admin-api.ts';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const CONFIGURED = {
  id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  secretKeys: ['configured-secret'],
};
const config = { push: { port: 0, instances: [CONFIGURED] } };

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ config });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Shown {
  readonly id: string;
  readonly secretKeys: readonly [string, ...string[]];
  readonly web: { readonly vapid: Readonly<Record<string, string>> };
}

async function make(settings: object = {}): Promise<Shown> {
  const { status, json, text } = await admin(server, 'POST', '/instances', { body: settings });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return json as Shown;
}

async function show(id: string): Promise<Shown> {
  return (await admin(server, 'GET', `/instances/${id}?secrets=true`)).json as Shown;
}

describe('the instances of the admin API', () => {
  it('are created with all that SDKs and browsers need, and served at once', async () => {
    const made = await make({ name: 'shop', limits: { devices: 7 } });
    expect(made).toMatchObject({
      name: 'shop',
      source: 'store',
      limits: { devices: 7, publishesPerSecond: 100 },
      whenUserIsFull: 'refuse',
      web: { allowPrivateAddresses: false },
      webhooks: [],
    });
    expect(made.secretKeys).toEqual([expect.stringMatching(/^[0-9A-F]{64}$/)]);
    expect(made.web.vapid['publicKey']).toMatch(/^B[\w-]{86}$/);
    expect(await show(made.id.toUpperCase())).toEqual(made);
  });

  it('are named in lower case in the log and in the audit list, however the path spells them', async () => {
    const { id } = await make();
    const path = `/instances/${id.toUpperCase()}`;
    await admin(server, 'PATCH', path, { body: { name: 'renamed' } });
    await admin(server, 'PATCH', path, { body: { name: 1 } });
    await admin(server, 'DELETE', path);
    const { json } = await admin(server, 'GET', '/audit');
    const { entries } = json as { entries: { operation: string; subject: string }[] };
    expect(entries.slice(0, 3).map(({ operation, subject }) => [operation, subject])).toEqual([
      ['deleteInstance', id],
      ['changeInstance', id],
      ['changeInstance', id],
    ]);
    const log = JSON.stringify((await admin(server, 'GET', `/log?text=${id}`)).json);
    expect(log).toContain('Instance changed');
    expect(log).toContain('Instance deleted');
    expect(log).not.toContain(id.toUpperCase());
  });

  it('may bring an id and keys of their own, so that an instance can move here', async () => {
    const { web } = await make();
    const id = crypto.randomUUID();
    const body = { id: id.toUpperCase(), secretKeys: ['moved'], web: { vapid: web.vapid } };
    expect(await make(body)).toMatchObject({
      id,
      secretKeys: ['moved'],
      web: { vapid: web.vapid },
    });
    for (const taken of [id, CONFIGURED.id]) {
      expect(await admin(server, 'POST', '/instances', { body: { id: taken } })).toMatchObject({
        status: 409,
        json: { error: `id: instance ${taken} already exists`, field: 'id' },
      });
    }
  });

  it('have a VAPID subject that Apple takes', async () => {
    const { id, web } = await make();
    const vapid = { ...web.vapid, subject: 'mailto:ops@localhost' };
    const refused = {
      status: 400,
      json: { error: expect.stringContaining('localhost'), field: 'web.vapid.subject' },
    };
    const change = (settings: object) =>
      admin(server, 'PATCH', `/instances/${id}`, { body: { web: settings } });
    expect(await admin(server, 'POST', '/instances', { body: { web: { vapid } } })).toMatchObject(
      refused,
    );
    expect(await change({ vapid })).toMatchObject(refused);
    expect(await show(id)).toMatchObject({ web: { vapid: web.vapid } });
    expect(await change({ vapid, allowPrivateAddresses: true })).toMatchObject({ status: 200 });
  });

  it('take a VAPID private key in any form, or its file, and keep and show the pair', async () => {
    const pair = newP256Pair();
    const pem = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const der = pair.privateKey.export({ format: 'der', type: 'sec1' }).toString('base64');
    using directory = temporaryDirectory();
    const privateKeyFile = join(directory.path, 'vapid.pem');
    writeFileSync(privateKeyFile, pem);
    const kept = { publicKey: pair.publicText, privateKey: pair.privateText };
    for (const given of [{ privateKey: pem }, { privateKey: der }, { privateKeyFile }]) {
      const { id, web } = await make({ web: { vapid: given } });
      expect(web.vapid).toEqual({ ...kept, subject: 'mailto:push@example.com' });
      expect((await show(id)).web.vapid).toMatchObject(kept);
      const { id: other } = await make();
      const path = `/instances/${other}`;
      await admin(server, 'PATCH', path, { body: { web: { vapid: given } } });
      expect((await show(other)).web.vapid).toMatchObject(kept);
    }
    const { id } = await make();
    for (const [vapid, field] of [
      [{ privateKey: 'hunter2' }, 'web.vapid.privateKey'],
      [{ privateKeyFile: `${privateKeyFile}.old` }, 'web.vapid.privateKeyFile'],
      [{ privateKey: pem, privateKeyFile }, 'web.vapid'],
    ] as const) {
      const body = { web: { vapid } };
      const refused = await admin(server, 'PATCH', `/instances/${id}`, { body });
      expect(refused).toMatchObject({ status: 400, json: { field } });
      expect(refused.text).not.toContain('hunter2');
    }
  });

  it('may be without web push', async () => {
    expect(await make({ web: null })).not.toHaveProperty('web');
  });

  it('show their secrets only when they are created or on request', async () => {
    const hook = { url: 'https://example.com/', events: ['v1.UserNotificationOpen'] };
    const { id, secretKeys, web } = await make({ webhooks: [{ ...hook, secret: 'hook-secret' }] });
    const secrets = [secretKeys[0], web.vapid['privateKey'] ?? '', 'hook-secret'];
    for (const path of ['/instances', `/instances/${id}`]) {
      const { text } = await admin(server, 'GET', path);
      expect(text).toContain(web.vapid['publicKey'] ?? '');
      expect(text).toContain(`${secretKeys[0].slice(0, 8)}…`);
      for (const secret of secrets) expect(text).not.toContain(secret);
      expect(text).not.toContain('configured-secret');
      const { text: withSecrets } = await admin(server, 'GET', `${path}?secrets=true`);
      for (const secret of secrets) expect(withSecrets).toContain(secret);
    }
    const { text } = await admin(server, 'PATCH', `/instances/${id}`, { body: { name: 'x' } });
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  it('are changed only in the given settings', async () => {
    const made = await make({ name: 'before', limits: { devices: 7 } });
    const subject = 'mailto:ops@example.org';
    const apns = { teamId: 't', keyId: 'k', privateKeyFile: 'a.p8', environment: 'auto' };
    const path = `/instances/${made.id}`;
    const changed = await admin(server, 'PATCH', path, {
      body: {
        name: 'after',
        whenUserIsFull: 'replace-oldest',
        limits: { publishesPerSecond: 5 },
        web: { vapid: { subject }, allowedHosts: ['push.example.org'] },
        apns,
      },
    });
    expect(changed).toMatchObject({ status: 200, json: { name: 'after' } });
    expect(await show(made.id)).toMatchObject({
      name: 'after',
      whenUserIsFull: 'replace-oldest',
      limits: { devices: 7, publishesPerSecond: 5 },
      web: { vapid: { ...made.web.vapid, subject }, allowedHosts: ['push.example.org'] },
      apns: { ...apns, origin: null, caFile: null },
    });
    const cleared = await admin(server, 'PATCH', path, {
      body: { apns: null, web: { caFile: null } },
    });
    expect(cleared.json).not.toHaveProperty('apns');
    expect(cleared.json).toMatchObject({
      web: { caFile: null, allowedHosts: ['push.example.org'] },
    });
  });

  it('are linked to an app, and unlinked by null', async () => {
    const path = `/instances/${(await make({ app: 'a' })).id}`;
    const linked = await admin(server, 'PATCH', path, { body: { app: 'b' } });
    expect(linked.json).toMatchObject({ app: 'b' });
    const unlinked = await admin(server, 'PATCH', path, { body: { app: null } });
    expect(unlinked.status).toBe(200);
    expect(unlinked.json).not.toHaveProperty('app');
  });

  it('are checked as a whole, and stay the same if their settings do not fit together', async () => {
    const made = await make();
    const other = await make();
    const { publicKey = '' } = other.web.vapid;
    const path = `/instances/${made.id}`;
    for (const [body, field, rule] of [
      [{ web: { vapid: { publicKey } } }, 'web.vapid', 'do not belong together'],
      [{ web: { vapid: { subject: 'ops' } } }, 'web.vapid.subject', 'must begin with'],
      [{ apns: { teamId: 't' } }, 'apns.keyId', 'required'],
      [{ whenUserIsFull: 'evict' }, 'whenUserIsFull', 'must be one of'],
      [{ secretKeys: ['x'] }, 'secretKeys', 'unknown setting'],
      [{ limits: { device: 1 } }, 'limits.device', 'unknown setting'],
    ] as const) {
      expect(await admin(server, 'PATCH', path, { body })).toMatchObject({
        status: 400,
        json: { field, error: expect.stringContaining(rule) },
      });
    }
    expect(await show(made.id)).toEqual(made);
    for (const [body, field] of [
      [{ secretKeys: ['same', 'same'] }, 'secretKeys'],
      [{ secretKeys: [] }, 'secretKeys'],
      [{ secretKeys: ['a', ' b'] }, 'secretKeys[1]'],
      [{ id: 'shop' }, 'id'],
      [{ web: { vapid: { publicKey } } }, 'web.vapid'],
    ] as const) {
      expect(await admin(server, 'POST', '/instances', { body })).toMatchObject({
        status: 400,
        json: { field },
      });
    }
  });

  it('are not changed by a dry run, which shows what would change, but no secret', async () => {
    const made = await make();
    const path = `/instances/${made.id}`;
    const { publicKey: earlier } = made.web.vapid;
    const { publicKey = '', privateKey = '' } = (await make()).web.vapid;
    const body = { limits: { devices: 7 }, web: { vapid: { publicKey, privateKey } } };
    const tried = await admin(server, 'PATCH', `${path}?dry-run`, { body });
    expect((tried.json as { changes: unknown }).changes).toEqual([
      expect.objectContaining({ setting: 'limits.devices', after: 7 }),
      { setting: 'web.vapid.publicKey', before: earlier, after: publicKey },
      { setting: 'web.vapid.privateKey' },
    ]);
    expect(tried.text).not.toContain(privateKey);
    expect(await show(made.id)).toEqual(made);
    const misfit = { web: { vapid: { publicKey } } };
    expect(await admin(server, 'PATCH', `${path}?dry-run`, { body: misfit })).toMatchObject({
      status: 400,
      json: { field: 'web.vapid' },
    });
  });

  it('have several secret keys while they are rotated, and never none', async () => {
    const { id, secretKeys } = await make();
    const [old] = secretKeys;
    const path = `/instances/${id}/keys`;
    const added = await admin(server, 'POST', path);
    const { secretKey } = added.json as { secretKey: string };
    expect([added.status, (await show(id)).secretKeys]).toEqual([201, [old, secretKey]]);

    const removed = await admin(server, 'DELETE', `${path}/${old.slice(0, 8)}`);
    expect(removed).toMatchObject({
      status: 200,
      json: { secretKeys: [`${secretKey.slice(0, 8)}…`] },
    });
    expect((await admin(server, 'DELETE', `${path}/${old}`)).status).toBe(404);
    expect((await admin(server, 'DELETE', `${path}/${secretKey}`)).status).toBe(409);
    expect((await show(id)).secretKeys).toEqual([secretKey]);
  });

  it("show whether an old secret key is still in use, by requests and by users' tokens", async () => {
    const { id, secretKeys } = await make();
    const [old] = secretKeys;
    const path = `/instances/${id}/keys`;
    const added = (await admin(server, 'POST', path)).json as { secretKey: string };
    await everyServerTakes(server, `/instances/${id}`);
    const uses = async () => {
      const { json, text } = await admin(server, 'GET', path);
      expect(text).not.toContain(old);
      return (json as { keys: readonly object[] }).keys;
    };
    const nameOf = (key: string) => ({ key: `${key.slice(0, 8)}…` });
    const names = [nameOf(old), nameOf(added.secretKey)] as const;
    const wrong = new PushRequests({ id, secretKey: `${old.slice(0, -1)}!` });
    expect((await requestPush(server, wrong.deleteUser('u'))).status).toBe(401);
    expect(await uses()).toEqual(names);

    const current = new PushRequests({ id, secretKey: added.secretKey });
    expect((await requestPush(server, current.deleteUser('u'))).status).toBe(200);
    const atMs = expect.any(Number);
    const requested = { ...names[1], lastUsedAtMs: atMs, lastRequestAtMs: atMs };
    expect(await uses()).toEqual([names[0], requested]);

    // The token is of the old key, though the device is unknown.
    const ofOld = new PushRequests({ id, secretKey: old });
    expect((await requestPush(server, ofOld.setUser(`fcm-${randomUUID()}`, 'u'))).status).not.toBe(
      401,
    );
    expect(await uses()).toEqual([
      { ...names[0], lastUsedAtMs: atMs, lastSignatureAtMs: atMs },
      requested,
    ]);
  });

  it('need the whole key if several start with the same characters', async () => {
    const { id } = await make({ secretKeys: ['SAMESAME-1', 'SAMESAME-2'] });
    const path = `/instances/${id}/keys`;
    expect((await admin(server, 'DELETE', `${path}/SAMESAME`)).status).toBe(409);
    expect((await admin(server, 'DELETE', `${path}/SAMESAME-1`)).status).toBe(200);
  });

  it('have no more than 20 secret keys', async () => {
    const secretKeys = Array.from({ length: 21 }, (_, index) => `k${index}`);
    expect((await admin(server, 'POST', '/instances', { body: { secretKeys } })).status).toBe(400);
    const { id } = await make();
    const path = `/instances/${id}/keys`;
    const added = await Promise.all(secretKeys.map(() => admin(server, 'POST', path)));
    expect(added.filter(({ status }) => status === 201)).toHaveLength(19);
    expect(added.filter(({ status }) => status === 409)).toHaveLength(2);
  });

  it('are gone when they are deleted', async () => {
    const { id } = await make();
    const path = `/instances/${id}`;
    expect(await admin(server, 'DELETE', path)).toMatchObject({
      status: 200,
      json: { id, deleted: true, devices: 0 },
    });
    for (const method of ['GET', 'DELETE']) {
      expect(await admin(server, method, path)).toMatchObject({
        status: 404,
        json: { error: `There is no instance ${id}` },
      });
    }
  });

  it('of the configuration are listed, and changed there only', async () => {
    const { json } = await admin(server, 'GET', '/instances');
    expect((json as { instances: object[] }).instances[0]).toMatchObject({
      id: CONFIGURED.id,
      source: 'configuration',
      secretKeys: ['…'],
    });
    const path = `/instances/${CONFIGURED.id}`;
    for (const [method, at, body] of [
      ['PATCH', path, { name: 'x' }],
      ['DELETE', path],
      ['POST', `${path}/keys`],
      ['DELETE', `${path}/keys/configured-secret`],
    ] as const) {
      expect(await admin(server, method, at, { body })).toMatchObject({
        status: 409,
        json: { error: expect.stringContaining('change it there, at push.instances') },
      });
    }
  });

  it('keep every one of many changes at the same time', async () => {
    const { id } = await make();
    const changes = [
      { limits: { devices: 3 } },
      { limits: { publishesPerSecond: 3 } },
      { name: 'x' },
    ];
    await Promise.all(changes.map((body) => admin(server, 'PATCH', `/instances/${id}`, { body })));
    expect(await show(id)).toMatchObject({
      name: 'x',
      limits: { devices: 3, publishesPerSecond: 3 },
    });
  });

  it('keep their changes across a restart', async () => {
    await using first = await startFanfare({ config });
    const { json } = await admin(first, 'POST', '/instances', { body: { name: 'kept' } });
    const { id } = json as Shown;
    await admin(first, 'PATCH', `/instances/${id}`, { body: { limits: { devices: 3 } } });
    await using second = await restart(first, 'SIGKILL');
    expect(await admin(second, 'GET', `/instances/${id}`)).toMatchObject({
      status: 200,
      json: { name: 'kept', limits: { devices: 3 } },
    });
  });
});
