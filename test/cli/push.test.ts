import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import type { DeviceResult } from '../../src/push/model/delivery.ts';
import type { DeviceId, Recipient } from '../../src/push/model/device.ts';
import type { PublishId } from '../../src/push/model/publish.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import { StoredAudience } from '../../src/stores/push/devices/audience-source.ts';
import { StoredDeliveries } from '../../src/stores/push/jobs/delivery-store.ts';
import { StoredInstances } from '../../src/stores/tenants/instance-store.ts';
import { type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

/** An instance of the configuration, which is asked first. */
const CONFIGURED = { id: crypto.randomUUID(), secretKeys: ['C'.repeat(64)] };

interface Tenant {
  readonly id: string;
  readonly secretKeys: readonly string[];
}

const directory = temporaryDirectory({
  'fanfare.json': JSON.stringify({ push: { instances: [CONFIGURED] } }),
});
let server: Fanfare;
/** An instance of the store. */
let stored: Tenant;

beforeAll(async () => {
  const { stdout } = await fanfare(directory.path, ['instances', 'create', '--json']);
  stored = JSON.parse(stdout);
  server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const HOUR_MS = 3_600_000;
const urlOf = ({ pushPort }: Fanfare) => `http://127.0.0.1:${pushPort}`;

/** Runs a command against the server. */
const push = (...args: readonly string[]) =>
  fanfare(directory.path, ['push', ...args, '--url', `http://127.0.0.1:${server.adminPort}`]);

async function send(
  method: string,
  path: string,
  body: object,
  { secretKeys: [key] }: Tenant = stored,
): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${urlOf(server)}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  const text = await answer.text();
  return text === '' ? {} : JSON.parse(text);
}

/** Publishes for an hour later, so that the server does nothing with it meanwhile. */
async function publish(interest: string, of: Tenant = stored): Promise<PublishId> {
  const { publishId } = await send(
    'POST',
    `/publish_api/v1/instances/${of.id}/publishes/interests`,
    {
      interests: [interest],
      fcm: { notification: { title: 'Hello' } },
      sendAt: new Date(Date.now() + HOUR_MS).toISOString(),
    },
    of,
  );
  return publishId as PublishId;
}

async function register(interest: string, of: Tenant = stored): Promise<DeviceId> {
  const path = `/device_api/v1/instances/${of.id}/devices/fcm`;
  const body = {
    token: `fcm:${crypto.randomUUID()}`,
    knownPreviousClientIds: [],
    metadata: { sdkVersion: '1.10.0', androidVersion: '16' },
  };
  const { id } = await send('POST', path, body, of);
  await send('PUT', `${path}/${id}/interests`, { interests: [interest] }, of);
  return id as DeviceId;
}

/** Does what the server would do in an hour: plans the publish and stores the results of its devices. */
async function deliver(
  id: PublishId,
  interest: string,
  outcomes: readonly ((to: Recipient) => DeviceResult)[],
): Promise<void> {
  await using database = await openDatabase(`sqlite:${directory.path}/data/fanfare.db`);
  const store = new StoredDeliveries(database);
  const audience = new StoredAudience(database);
  const instance = await new StoredInstances(database).numberOf(stored.id);
  const inAnHour = Date.now() + HOUR_MS + 1000;
  const untilMs = inAnHour + HOUR_MS;
  const claims = await store.claimPlans({
    nowMs: inAnHour,
    untilMs,
    limit: 100,
    except: [],
  });
  const found = claims.find((claim) => claim.publish.id === id)?.publish;
  if (found === undefined) throw new Error('the publish is not to be planned');
  const devices = await audience.numbers({
    instance,
    kind: 'interests',
    name: interest,
    after: 0,
    limit: 100,
  });
  const planned = { apns: 0, fcm: devices.length, web: 0 };
  const upTo = devices.at(-1) ?? 0;
  const added = await store.addPage({
    publish: found.number,
    page: { after: 0, upTo, devices, planned },
    claimedUntilMs: untilMs,
  });
  if (added === undefined) throw new Error('the page was not added');
  await store.endPlanning({ publish: found.number, after: upTo, nowMs: Date.now() });
  const recipients = await audience.recipients(instance, devices);
  const job = {
    what: 'page',
    page: added.page,
    publish: found,
    devices,
    claimedUntilMs: untilMs,
  } as const;
  const results = recipients.flatMap((to, at) => outcomes[at]?.(to) ?? []);
  await store.settle({ job, results, nowMs: Date.now() });
}

const accepted = ({ number, platform, userId }: Recipient): DeviceResult => ({
  what: 'accepted',
  device: number,
  platform,
  userId,
});

const refused = ({ number, platform, userId }: Recipient): DeviceResult => ({
  what: 'failed',
  device: number,
  platform,
  userId,
  attempts: 2,
  reason: 'INVALID_ARGUMENT',
  words: 'Invalid value at message.data',
});

const dead = ({ number, platform, token, seenAtMs }: Recipient): DeviceResult => ({
  what: 'pruned',
  device: number,
  platform,
  token,
  seenAtMs,
  attempts: 1,
  reason: 'UNREGISTERED',
  words: '',
});

const later = ({ number, platform }: Recipient): DeviceResult => ({
  what: 'retry',
  device: number,
  platform,
  attempts: 1,
  dueAtMs: Date.now() + HOUR_MS,
  reason: 'UNAVAILABLE',
  words: '',
});

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;

describe('fanfare push explain', () => {
  it('prints the timeline of one device, of an instance of the configuration', async () => {
    const [device, id] = [await register('a', CONFIGURED), await publish('a', CONFIGURED)];
    const { exitCode, stdout, stderr } = await push('explain', id, device);
    expect([exitCode, stderr]).toEqual([0, '']);
    const [title, ...lines] = stdout.split('\n');
    expect(title).toBe(`Publish ${id} and device ${device} (fcm) of instance ${CONFIGURED.id}`);
    expect(
      lines.filter((line) => /^\S/.test(line)).map((line) => line.replace(TIME, 'TIME')),
    ).toEqual([
      'TIME  registered',
      'TIME  published',
      'TIME  scheduled',
      'now                       waiting',
    ]);
    expect(stdout).toContain(
      '    Judging by its present interests or user, the publish is for this device.',
    );
  });

  it('finds the instance of the store that has the publish, and prints JSON as it came', async () => {
    const [device, id] = [await register('other'), await publish('b')];
    const { stdout } = await push('explain', id, device, '--json');
    expect(JSON.parse(stdout)).toEqual({
      publish: id,
      device,
      platform: 'fcm',
      events: [
        expect.objectContaining({ what: 'registered', at: expect.stringMatching(TIME) }),
        expect.objectContaining({ what: 'published' }),
        expect.objectContaining({ what: 'scheduled' }),
        expect.objectContaining({
          what: 'not-in-audience',
          at: null,
          advice: expect.stringContaining('interests'),
        }),
      ],
    });
  });

  it('prints the answer of the gateway, and advice', async () => {
    const outcomes = [accepted, refused, dead, later];
    const devices: DeviceId[] = [];
    for (const _ of outcomes) devices.push(await register('c'));
    const id = await publish('c');
    await deliver(id, 'c', outcomes);
    const explained = await Promise.all(devices.map((device) => push('explain', id, device)));
    const [taken = '', failed = '', gone = '', waits = ''] = explained.map(({ stdout }) => stdout);
    expect(taken).toContain(
      '  accepted\n    FCM accepted it.\n    → The device has not reported it',
    );
    expect(failed).toContain(
      '  failed\n    Given up after 2 attempts: FCM finds the message malformed, or larger than 4,096 bytes (INVALID_ARGUMENT). The gateway said: "Invalid value at message.data".\n    → See the field that FCM names',
    );
    expect(gone).toContain('(UNREGISTERED). The device was removed.');
    expect(waits).toMatch(
      /1 attempt failed so far: .*\(UNAVAILABLE\)\. The next attempt is due at 2/,
    );
    expect(explained.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);

    const { exitCode, stdout } = await push('status', id);
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith(`Publish ${id} of instance ${stored.id}\n  state      delivering: `);
    expect(stdout).toContain('  reported   delivered by 0 devices, opened by 0 devices\n');
    const rows = stdout.split('\n').filter((line) => /^ {2}(devices|fcm|web) /.test(line));
    expect(rows).toEqual([
      '  devices  planned  accepted  retrying  failed  pruned  expired  cancelled',
      '  fcm            4         1         1       1       1        0          0',
      '  web            0         0         0       0       0        0          0',
    ]);
    expect(stdout).toContain('Why devices did not get it, or are waiting:\n');
    expect(stdout).toMatch(
      /\n {2}1 device of fcm: .*\(UNREGISTERED\)\n {4}→ Nothing, if the app was removed/,
    );
    expect(stdout).toContain(`fanfare push explain ${id} DEVICE-ID`);
    const json = JSON.parse((await push('status', id, '--json')).stdout);
    expect(json).toMatchObject({ id, platforms: { fcm: { planned: 4 } } });
  });

  it('reports what is unknown, and exits with 1', async () => {
    const [id, device] = [await publish('d'), await register('d')];
    const unknown = `pubid-${crypto.randomUUID()}`;
    for (const [args, why] of [
      [
        ['explain', unknown, device],
        `There is no publish ${unknown}. Publishes are kept for 30 days`,
      ],
      [['status', unknown], `There is no publish ${unknown}`],
      [['explain', device, id], `There is no publish ${device}`],
      [['explain', id, `fcm-${crypto.randomUUID()}`], 'The instance has no such device'],
      [['explain', id, 'phone'], 'That is no device id'],
      [['cancel', stored.id, unknown], `There is no publish ${unknown}`],
    ] as const) {
      const { exitCode, stdout, stderr } = await push(...args);
      expect([exitCode, stdout, stderr]).toEqual([1, '', expect.stringContaining(why)] as never);
    }
  });

  it('refuses arguments that it cannot use with 2', async () => {
    const id = `pubid-${crypto.randomUUID()}`;
    for (const [args, why] of [
      [['explain'], 'PUBLISH-ID is missing'],
      [['explain', id], 'DEVICE-ID is missing'],
      [['explain', id, 'web-1', 'x'], 'unexpected "x"'],
      [['status', id, 'x'], 'unexpected "x"'],
      [['status', id, '--url', '127.0.0.1:6003'], '--url must be like'],
      [['send', stored.id, '{', '}'], 'unexpected "}"; put BODY in quotes'],
    ] as const) {
      const ended = await fanfare(directory.path, ['push', ...args], {
        FANFARE_ADMIN_PORT: '6003',
      });
      expect([ended.exitCode, ended.stderr]).toEqual([2, expect.stringContaining(why)] as never);
    }
    const { exitCode, stderr } = await fanfare(directory.path, ['push', 'status', id], FREE_PORTS);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('give its --url')] as never);
  });

  it('reports that no server answers, or that another program or version does', async () => {
    const id = `pubid-${crypto.randomUUID()}`;
    using other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) =>
        url.includes('/old') ? Response.json({ id }) : new Response('<h1>\u001b[2J</h1>'),
    });
    const status = (url: string) => fanfare(directory.path, ['push', 'status', id, '--url', url]);
    expect(await status(other.url.origin)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('is not an admin API of Fanfare'),
    });
    expect(await status(`${other.url.origin}/old`)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('/old answers like another version of Fanfare'),
    });
    await other.stop(true);
    expect(await status(other.url.origin)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(
        'does not answer: nothing listens there (ECONNREFUSED). Is the server running? Check --url.',
      ),
    });
  });

  it('says where it has the address of a server from that does not answer', async () => {
    using own = temporaryDirectory({ 'fanfare.json': JSON.stringify({ admin: { port: 1 } }) });
    const source = join(own.path, 'fanfare.json');
    const status = await fanfare(own.path, ['push', 'status', `pubid-${crypto.randomUUID()}`]);
    expect(status.stderr).toContain(
      `of admin.host and admin.port in ${source}; --config and --url`,
    );
    using none = temporaryDirectory();
    const bare = await fanfare(none.path, ['tail', '3'], { FANFARE_ADMIN_PORT: '1' });
    expect(bare.stderr).toContain('no configuration file was found here');
  });
});
