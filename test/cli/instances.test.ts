import { describe, expect, it } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { instanceSettings } from '../../src/config/settings/push-settings.ts';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import { StoredInstances } from '../../src/stores/tenants/instance-store.ts';
import { type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

interface ShownInstance {
  readonly id: string;
  readonly name: string;
  readonly secretKeys: readonly [string, ...string[]];
  readonly settings: { readonly web: { readonly vapid: Readonly<Record<string, string>> } };
}

async function create(directory: string, ...args: string[]): Promise<ShownInstance> {
  const { stdout } = await fanfare(directory, ['instances', 'create', '--json', ...args]);
  return JSON.parse(stdout);
}

async function show(directory: string, id: string, ...args: string[]): Promise<ShownInstance> {
  const { stdout } = await fanfare(directory, ['instances', 'show', id, '--json', ...args]);
  return JSON.parse(stdout);
}

describe('fanfare instances', () => {
  it('creates a valid instance, and prints the credentials for SDKs', async () => {
    using directory = temporaryDirectory();
    const { exitCode, stdout } = await fanfare(directory.path, [
      'instances',
      'create',
      '--name',
      'shop',
    ]);
    expect(exitCode).toBe(0);
    const [id = ''] = /[0-9a-f-]{36}(?= \(shop\)$)/m.exec(stdout) ?? [];
    expect(stdout).toMatch(/^ {2}secret key +[0-9A-F]{64}$/m);
    expect(stdout).toMatch(/^ {2}VAPID public key +B[\w-]{86}$/m);
    expect(stdout).toContain(`fanfare instances change ${id} --vapid-subject mailto:`);

    const whole = await show(directory.path, id.toUpperCase(), '--secret');
    const { name, secretKeys, settings } = whole;
    expect(instanceSettings.safeParse({ ...settings, id, name, secretKeys }).success).toBe(true);
    expect(stdout).toContain(secretKeys[0]);
    expect(stdout).not.toContain(settings.web.vapid['privateKey'] ?? '');
  });

  it('shows secrets only on request', async () => {
    using directory = temporaryDirectory();
    const { id, secretKeys } = await create(directory.path, '--name', 'shop');
    const [secret] = secretKeys;
    const { settings } = await show(directory.path, id, '--secret');
    const privateKey = settings.web.vapid['privateKey'] ?? '';
    expect(privateKey).toMatch(/^[\w-]{43}$/);
    for (const args of [['list'], ['list', '--json'], ['show', id], ['show', id, '--json']]) {
      const { stdout } = await fanfare(directory.path, ['instances', ...args]);
      expect(stdout).toContain(id);
      expect(stdout).toContain(`${secret.slice(0, 8)}…`);
      expect(stdout).not.toContain(secret.slice(0, 9));
      expect(stdout).not.toContain(privateKey);
    }
    const { stdout } = await fanfare(directory.path, ['instances', 'show', id, '--secret']);
    expect(stdout).toContain(secret);
    expect(stdout).toContain(privateKey);
  });

  it('hides all of a short secret key', async () => {
    using directory = temporaryDirectory();
    const { id } = await create(directory.path);
    await changeStore(directory.path, (store) => store.addKey(id, 'hunter2-hunter2'));
    const { stdout } = await fanfare(directory.path, ['instances', 'show', id]);
    expect(stdout).toMatch(/secret key +… /);
    expect(stdout).not.toContain('hunter');
  });

  it('changes only the given settings', async () => {
    using directory = temporaryDirectory();
    const { id, settings } = await create(
      directory.path,
      '--vapid-subject',
      'https://shop.example',
    );
    expect(settings.web.vapid['subject']).toBe('https://shop.example');
    const change = ['instances', 'update', id];
    await fanfare(directory.path, [...change, '--name', 'shop']);
    await fanfare(directory.path, [...change, '--vapid-subject', 'mailto:ops@shop.example']);
    const changed = await show(directory.path, id);
    expect(changed).toMatchObject({
      name: 'shop',
      settings: { web: { vapid: { ...settings.web.vapid, subject: 'mailto:ops@shop.example' } } },
    });
    expect(await fanfare(directory.path, change)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('change what?'),
    });
    for (const command of ['create', 'change']) {
      const args = command === 'create' ? [] : [id];
      const refused = [...args, '--vapid-subject', 'ops@shop.example'];
      expect(await fanfare(directory.path, ['instances', command, ...refused])).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('--vapid-subject must begin with mailto: or https://'),
      });
    }
  });

  it('links an instance to an app, and unlinks it', async () => {
    using directory = temporaryDirectory();
    const { id } = await create(directory.path, '--app', '17');
    const linked = async () => (await show(directory.path, id)).settings;
    expect(await linked()).toMatchObject({ app: '17' });
    const change = ['instances', 'change', id, '--app'];
    await fanfare(directory.path, [...change, '18']);
    expect(await linked()).toMatchObject({ app: '18' });
    await fanfare(directory.path, [...change, '']);
    expect(await linked()).not.toHaveProperty('app');
  });

  it('takes a VAPID private key from a file, and shows the public one', async () => {
    using directory = temporaryDirectory();
    const pair = newP256Pair();
    const file = join(directory.path, 'vapid.pem');
    writeFileSync(file, pair.privateKey.export({ format: 'pem', type: 'sec1' }).toString());
    const option = ['--vapid-private-key-file', file];
    const keys = { publicKey: pair.publicText, privateKey: pair.privateText };

    const created = await create(directory.path, ...option);
    expect(created.settings.web.vapid).toMatchObject({ publicKey: pair.publicText });
    const { id } = await create(directory.path);
    await fanfare(directory.path, ['instances', 'change', id, ...option]);
    expect((await show(directory.path, id, '--secret')).settings.web.vapid).toMatchObject(keys);
    const { stdout } = await fanfare(directory.path, ['instances', 'show', id]);
    expect(stdout).toContain(`VAPID public key   ${pair.publicText}`);
    expect(stdout).not.toContain(pair.privateText);

    writeFileSync(file, 'hunter2');
    const change = ['instances', 'change', id, ...option];
    const { exitCode, stderr } = await fanfare(directory.path, change);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('must be a P-256 private key: base64url, PEM or DER');
    expect(stderr).not.toContain('hunter2');
  });

  it('lets Safari show notifications without a service worker, or not', async () => {
    using directory = temporaryDirectory();
    const made = await create(directory.path, '--declarative', 'on');
    expect(made.settings.web).toMatchObject({ declarative: true, vapid: made.settings.web.vapid });
    const change = ['instances', 'change', made.id, '--declarative'];
    await fanfare(directory.path, [...change, 'off']);
    const { settings } = await show(directory.path, made.id);
    expect<object>(settings.web).toEqual({ ...made.settings.web, declarative: false });
    const { stdout } = await fanfare(directory.path, ['instances', 'show', made.id]);
    expect(stdout).toContain('{"declarative":false}');
    expect(await fanfare(directory.path, [...change, 'yes'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--declarative must be on or off'),
    });
  });

  it('sets time zone, quiet hours and cap, changes each alone, and removes them', async () => {
    using directory = temporaryDirectory();
    const options = ['--time-zone', 'America/Bogota', '--quiet-hours', '22:00-07:30'];
    const made = await create(directory.path, ...options, '--cap', '3/24');
    const quietHours = { from: '22:00', to: '07:30' };
    const cap = { notifications: 3, hours: 24 };
    const timeZone = 'America/Bogota';
    expect(made.settings).toMatchObject({ timeZone, quietHours, cap });
    const change = (...args: string[]) =>
      fanfare(directory.path, ['instances', 'change', made.id, ...args]);
    expect((await change('--cap', '1000/168')).stdout).toContain('"notifications":1000');
    const changed = { timeZone, quietHours, cap: { notifications: 1000, hours: 168 } };
    expect((await show(directory.path, made.id)).settings).toMatchObject(changed);
    expect((await change('--quiet-hours', '', '--cap', '')).exitCode).toBe(0);
    const { settings } = await show(directory.path, made.id);
    expect(settings).toMatchObject({ timeZone });
    expect(Object.keys(settings).filter((name) => name in changed)).toEqual(['timeZone']);
  });

  it.each([
    ['--time-zone', ['Berlin', '+02:00', '', 'Europe/Berlin\n']],
    ['--quiet-hours', ['22:00', '22:00-22:00', '22-07', '24:00-07:00', '22:00-07:30-08:00']],
    ['--cap', ['3', '0/24', '3/0', '1001/24', '3/169', '3/24/1', '-1/24', '3.5/24']],
  ])('refuses a wrong %s', async (option, values) => {
    using directory = temporaryDirectory();
    for (const value of values) {
      const given = `${option}=${value}`;
      expect(await fanfare(directory.path, ['instances', 'create', given])).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(`${option} must be`),
      });
    }
  });

  it('keeps the VAPID private key when it changes the subject', async () => {
    using directory = temporaryDirectory();
    const { id } = await create(directory.path);
    const before = await show(directory.path, id, '--secret');
    await fanfare(directory.path, [
      'instances',
      'change',
      id,
      '--vapid-subject',
      'https://a.example',
    ]);
    const after = await show(directory.path, id, '--secret');
    expect(after.settings.web.vapid).toEqual({
      ...before.settings.web.vapid,
      subject: 'https://a.example',
    });
  });

  it('keeps old and new secret keys valid during a rotation, and never removes the last one', async () => {
    using directory = temporaryDirectory();
    const { id, secretKeys } = await create(directory.path);
    const [old] = secretKeys;
    const rotate = (...args: string[]) =>
      fanfare(directory.path, ['instances', 'rotate', id, ...args]);

    const rotated = await rotate();
    expect(rotated.stdout).toContain(
      `fanfare instances rotate ${id} --remove ${old.slice(0, 8)}\n`,
    );
    const both = (await show(directory.path, id, '--secret')).secretKeys;
    expect(both).toEqual([old, expect.stringMatching(/^[0-9A-F]{64}$/)]);
    expect(rotated.stdout).toContain(both[1] ?? '');
    expect(rotated.stdout).not.toContain(old);

    expect(await rotate('--remove', old.slice(0, 7))).toMatchObject({ exitCode: 1 });
    expect(await rotate('--remove', 'F'.repeat(64))).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('no such secret key'),
    });
    const removed = await rotate('--remove', old.slice(0, 8), '--json');
    expect(JSON.parse(removed.stdout).secretKeys).toEqual([`${both[1]?.slice(0, 8)}…`]);
    expect(await rotate('--remove', both[1] ?? '')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('the only secret key'),
    });
  });

  it('asks for the whole key if several start with the same characters', async () => {
    using directory = temporaryDirectory();
    const { id } = await create(directory.path);
    await changeStore(directory.path, async (store) => {
      await store.addKey(id, 'SAMESAME-1');
      await store.addKey(id, 'SAMESAME-2');
      await store.addKey(id, 'SAMESAME');
    });
    const rotate = (key: string) =>
      fanfare(directory.path, ['instances', 'rotate', id, '--remove', key]);
    expect((await rotate('SAMESAME')).exitCode).toBe(0);
    expect(await rotate('SAMESAME')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('several secret keys'),
    });
    expect((await rotate('SAMESAME-1')).exitCode).toBe(0);
    expect((await rotate('SAMESAME')).exitCode).toBe(0);
  });

  it('reports what was deleted with an instance', async () => {
    using directory = temporaryDirectory();
    const one = await create(directory.path);
    const two = await create(directory.path);
    await changeStore(directory.path, (store) => store.numberOf(one.id));
    const deleted = await fanfare(directory.path, ['instances', 'delete', one.id]);
    expect(deleted.stdout).toContain(
      `Instance ${one.id} was deleted, with 1 secret key, its VAPID keys, 0 devices`,
    );
    const json = await fanfare(directory.path, ['instances', 'delete', two.id, '--json']);
    expect(JSON.parse(json.stdout)).toEqual({
      id: two.id,
      deleted: true,
      secretKeys: 1,
      devices: 0,
    });
    const listed = await fanfare(directory.path, ['instances', 'list']);
    expect(listed.stdout).toBe('The store has no instance. Create one: fanfare instances create\n');
  });

  it('does not delete an instance of the configuration', async () => {
    const id = crypto.randomUUID();
    const content = JSON.stringify({ push: { instances: [{ id, secretKeys: ['s'] }] } });
    using directory = temporaryDirectory({ 'fanfare.json': content });
    expect(await fanfare(directory.path, ['instances', 'delete', id.toUpperCase()])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('is in the configuration'),
    });
  });

  it('names an instance that does not exist', async () => {
    using directory = temporaryDirectory();
    for (const action of ['show', 'change', 'rotate', 'delete']) {
      const options = action === 'change' ? ['--name', 'x'] : [];
      const ended = await fanfare(directory.path, ['instances', action, 'F00', ...options]);
      expect(ended).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('no instance f00'),
      });
      const bare = await fanfare(directory.path, ['instances', action, ...options]);
      expect(bare).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('Its id is missing'),
      });
    }
  });
});

describe('a running server', () => {
  it('makes an instance at its first start, prints the command that shows its secret key, and serves instances created later', async () => {
    using directory = temporaryDirectory();
    let id = '';
    {
      await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
      id = /instance id +([0-9a-f-]{36})$/m.exec(server.output.stdout)?.[1] ?? '';
      const { secretKeys } = await show(directory.path, id, '--secret');
      expect(server.output.stdout).toContain(
        `  secret key        npx fanfare instances show ${id} --secret\n`,
      );
      expect(server.output.stdout + server.output.stderr).not.toContain(secretKeys[0]);

      const made = await create(directory.path, '--name', 'shop');
      await server.logged(/"Instances changed","instances":2/);
      const known = await vapidKey(server, made.id);
      expect([known.status, await known.json()]).toEqual([
        200,
        { vapidPublicKey: made.settings.web.vapid['publicKey'] },
      ]);
      await fanfare(directory.path, ['instances', 'delete', made.id]);
      await server.logged(/"Instances changed","instances":1/);
      expect((await vapidKey(server, made.id)).status).toBe(404);
      expect(await server.stop()).toBe(0);
    }
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    const { secretKeys } = await show(directory.path, id, '--secret');
    expect(server.output.stdout).toContain(`npx fanfare instances show ${id} --secret`);
    expect(server.output.stdout).not.toContain(secretKeys[0]);
  });

  it('accepts both secret keys during a rotation, and only the new one afterwards', async () => {
    using directory = temporaryDirectory();
    const { id, secretKeys } = await create(directory.path);
    const [old] = secretKeys;
    await fanfare(directory.path, ['instances', 'rotate', id]);
    const [, added = ''] = (await show(directory.path, id, '--secret')).secretKeys;
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    expect([await publish(server, id, old), await publish(server, id, added)]).toEqual([200, 200]);
    await fanfare(directory.path, ['instances', 'rotate', id, '--remove', old.slice(0, 8)]);
    await server.logged(/Instances changed/);
    expect([await publish(server, id, old), await publish(server, id, added)]).toEqual([401, 200]);
  });

  it('takes over the instances of the configuration on SIGHUP, and creates none itself', async () => {
    const push = (instances: object[]) =>
      JSON.stringify({ push: { instances }, store: { url: 'sqlite:data/fanfare.db' } });
    using directory = temporaryDirectory({ 'fanfare.json': push([]) });
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    expect(server.output.stdout).toContain('There is no push instance');
    const instances = [{ id: crypto.randomUUID(), secretKeys: ['s'] }];
    writeFileSync(join(directory.path, 'fanfare.json'), push(instances));
    server.process.kill('SIGHUP');
    await server.logged(/"Instances changed","instances":1/);
    expect(await publish(server, instances[0]?.id ?? '', 's')).toBe(200);
    const listed = await fanfare(directory.path, ['instances', 'list', '--json']);
    expect(listed.stdout).toBe('[]\n');
  });
});

function vapidKey({ pushPort }: Fanfare, id: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${pushPort}/device_api/v1/instances/${id}/web-vapid-public-key`);
}

/** Publishes, and returns the status of the answer. */
async function publish({ pushPort }: Fanfare, id: string, secretKey: string): Promise<number> {
  const path = `/publish_api/v1/instances/${id}/publishes/interests`;
  const answer = await fetch(`http://127.0.0.1:${pushPort}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ interests: ['a'], web: { notification: { title: 't' } } }),
  });
  return answer.status;
}

/** Changes the store of a directory in ways that the command line does not offer. */
async function changeStore(
  directory: string,
  change: (store: StoredInstances) => Promise<unknown>,
): Promise<void> {
  await using database = await openDatabase(`sqlite:${directory}/data/fanfare.db`);
  await change(new StoredInstances(database));
}
