import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeFcm } from '../../src/fake-gateways/fcm/fake-fcm.ts';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { FakePushService } from '../../src/fake-gateways/web/fake-push-service.ts';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

/** Two instances of one server, between which devices move. */

const [FIRST, SECOND] = ['1', '2'].map((digit) => ({
  id: `${digit.repeat(8)}-1111-4111-8111-111111111111`,
  secretKeys: [digit.repeat(64)],
})) as unknown as readonly [Tenant, Tenant];

interface Tenant {
  readonly id: string;
  readonly secretKeys: readonly [string];
}

const stops = new AsyncDisposableStack();
afterAll(() => stops.disposeAsync());

const { path } = stops.use(temporaryDirectory());
const { publicText, privateText } = newP256Pair();
let server: Fanfare;
let fcm: Awaited<ReturnType<typeof startFakeFcm>>;

const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(path, name), content);
  return name;
};

beforeAll(async () => {
  fcm = stops.use(await startFakeFcm());
  write('account.json', fcm.accountFile);
  write('ca.pem', fcm.ca);
  const more = {
    fcm: { serviceAccountFile: 'account.json', origin: fcm.origin, caFile: 'ca.pem' },
    web: {
      vapid: { publicKey: publicText, privateKey: privateText, subject: 'mailto:a@example.org' },
    },
    limits: { importRowsPerSecond: 0 },
  };
  const instances = [FIRST, SECOND].map((tenant) => ({ ...tenant, ...more }));
  write('fanfare.json', JSON.stringify({ push: { instances } }));
  server = stops.use(await spawnFanfare(['serve'], path, FREE_PORTS));
}, 60_000);

const devices = (action: string, ...args: readonly string[]) =>
  fanfare(path, ['devices', action, ...args, '--url', `http://127.0.0.1:${server.pushPort}`]);

/** Imports a file into the first instance, under a name of its own. */
let imports = 0;
async function bring(file: string, ...args: readonly string[]) {
  const name = `import-${++imports}`;
  const ended = await devices('import', FIRST.id, file, '--name', name, '--json', ...args);
  return { ...ended, name, json: ended.stdout === '' ? {} : JSON.parse(ended.stdout) };
}

const OF_BROWSER = 'https://updates.push.services.mozilla.com';
const subscriptionOf = () =>
  JSON.parse(
    Buffer.from(new FakePushService(OF_BROWSER).subscribe(publicText).token, 'base64').toString(),
  );

describe('devices import', () => {
  it('reads OneSignal, packed or not, and says what became of each row', async () => {
    const { endpoint, keys } = subscriptionOf();
    const rows = [
      'identifier,device_type,language,external_user_id,web_auth,web_p256,timezone_id,notification_types,tags',
      `${'ab'.repeat(32)},0,de,ann,,,Europe/Berlin,1,"{""plan"":""gold""}"`,
      'onesignal-1,1,en,bob,,,,1,',
      `${endpoint},5,,,${keys.auth},${keys.p256dh},,1,`,
      'onesignal-2,1,,,,,,-2,',
      'onesignal-3,7,,,,,,1,',
      `${'cd'.repeat(32)},0,,,,,Nowhere,1,`,
    ];
    const file = write('onesignal.csv.gz', Bun.gzipSync(Buffer.from(rows.join('\n'))));
    const asked = ['--from', 'onesignal', '--bundle', 'com.example.app', '--tags'];
    const dry = await bring(file, ...asked, '--dry-run');
    const { json, exitCode, name } = await bring(file, ...asked, '--report', 'report.csv');
    expect(exitCode).toBe(1);
    expect(json).toEqual({
      import: name,
      dryRun: false,
      rows: 6,
      created: 3,
      updated: 0,
      unchanged: 0,
      unsubscribed: 1,
      refused: 2,
      reasons: {
        'device_type is 7: Safari before version 16 cannot be reached by Web Push': 1,
        'timeZone must be a time zone of the IANA database, for example Europe/Berlin': 1,
      },
    });
    expect(dry.json).toMatchObject({ dryRun: true, created: 3, refused: 2 });
    expect(readFileSync(join(path, 'report.csv'), 'utf8').split('\n').sort()).toEqual([
      '',
      '5,device_type,is 7: Safari before version 16 cannot be reached by Web Push',
      '6,timeZone,"must be a time zone of the IANA database, for example Europe/Berlin"',
      'row,field,reason',
    ]);
  });

  it('reads tokens and subscriptions, with interests for all', async () => {
    const more = ['--interest', 'news', '--interest', 'moved'];
    const tokens = await bring(write('tokens.txt', 'one\ntwo\n'), '--from', 'fcm', ...more);
    expect(tokens).toMatchObject({ exitCode: 0, json: { created: 2 } });
    const web = write('web.ndjson', `${JSON.stringify({ subscription: subscriptionOf() })}\n`);
    expect(await bring(web, '--from', 'webpush', ...more)).toMatchObject({ json: { created: 1 } });
    const { stdout } = await fanfare(path, [
      'devices',
      'list',
      FIRST.id,
      '--interest',
      'moved',
      '--json',
    ]);
    expect(JSON.parse(stdout)).toHaveLength(3);
  });

  it('of many rows sends them in several requests', async () => {
    const rows = Array.from({ length: 2_500 }, (_, n) => `many-${n}`);
    const { json } = await bring(write('many.txt', rows.join('\n')), '--from', 'fcm');
    expect(json).toMatchObject({ rows: 2_500, created: 2_500, refused: 0 });
  });

  it('lets Google check the tokens, and shows nothing', async () => {
    fcm.arrivals.clear();
    const { json } = await bring(write('check.txt', 'checked\n'), '--from', 'fcm', '--validate');
    expect(json.publish).toMatch(/^pubid-/);
    await fcm.arrivals.reaches(1);
    const [arrival] = fcm.arrivals.list();
    expect(JSON.parse(arrival?.payload ?? '{}')).toMatchObject({
      validate_only: true,
      message: { token: 'checked' },
    });
  });

  it.each([
    [['tokens.txt'], '--from is missing'],
    [['tokens.txt', '--from', 'x'], '--from must be one of'],
    [['missing.txt', '--from', 'fcm'], 'missing.txt does not exist'],
    [['tokens.txt', '--from', 'onesignal'], 'names no column "identifier"'],
    [['tokens.txt', '--from', 'fcm', '--rows-per-second', '0'], '--rows-per-second must be'],
  ])('ends with 2 if it is called as %j', async (args, message) => {
    const { exitCode, stderr } = await devices('import', FIRST.id, ...args);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(message),
    });
  });

  it('says what the server refuses', async () => {
    const wrong = ['--from', 'fcm', '--secret-key', 'X'];
    const { exitCode, stderr } = await devices('import', FIRST.id, 'tokens.txt', ...wrong);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('refuses with 401: Incorrect Secret Key');
    const name = await devices('import', FIRST.id, 'tokens.txt', '--from', 'fcm', '--name', 'a b');
    expect(name.stderr).toContain('refuses with 422: `import`: must be');
  });
});

describe('devices export', () => {
  it('writes what another instance takes, which then reaches the same devices', async () => {
    await devices('export', FIRST.id, 'all.ndjson');
    expect(statSync(join(path, 'all.ndjson')).mode & 0o777).toBe(0o600);
    const lines = readFileSync(join(path, 'all.ndjson'), 'utf8').trim().split('\n');
    const moved = await devices('import', SECOND.id, 'all.ndjson', '--json');
    expect(moved.exitCode).toBe(0);
    expect(JSON.parse(moved.stdout)).toMatchObject({ created: lines.length, refused: 0 });

    fcm.arrivals.clear();
    const requests = new PushRequests({ id: SECOND.id, secretKey: SECOND.secretKeys[0] });
    const publish = { interests: ['moved'], fcm: { notification: { title: 'Hello' } } };
    expect((await requestPush(server, requests.publish(publish))).status).toBe(200);
    await fcm.arrivals.reaches(2);
    expect(
      fcm.arrivals
        .list()
        .map(({ token }) => token)
        .sort(),
    ).toEqual(['one', 'two']);

    const again = await devices('export', FIRST.id, 'all.ndjson');
    expect(again).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('cannot be created'),
    });
  });
});

it('finds the server and the key in the configuration', async () => {
  const environment = { FANFARE_PUSH_PORT: String(server.pushPort) };
  const args = ['devices', 'undo-import', FIRST.id, 'nothing', '--dry-run'];
  expect(await fanfare(path, args, environment)).toMatchObject({
    exitCode: 0,
    stdout: '0 devices of the import nothing would be removed.\n',
  });
});

describe('devices undo-import', () => {
  it('removes the devices of one import', async () => {
    const rows = Array.from({ length: 1_200 }, (_, n) => `undone-${n}`);
    const { name } = await bring(write('undone.txt', rows.join('\n')), '--from', 'fcm');
    const dry = await devices('undo-import', FIRST.id, name, '--dry-run');
    expect(dry.stdout).toBe(`1200 devices of the import ${name} would be removed.\n`);
    const { stdout } = await devices('undo-import', FIRST.id, name);
    expect(stdout).toBe(`1200 devices of the import ${name} removed.\n`);
  });
});
