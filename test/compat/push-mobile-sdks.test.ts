import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import PushNotifications from '@pusher/push-notifications-server';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE } from '../../testing/servers/push-server.ts';
import { holdStore } from '../failure/store-trouble.ts';
import { InstalledApp } from './installed-app.ts';
import { deviceOf, interestsOf, pageOf, startPush } from './installed-devices.ts';
import { androidSdk, ios, type MobileSdk } from './mobile-sdks.ts';
import { withHead } from './transcript.ts';

/** The official SDKs for iOS and Android, modelled by their requests and their reactions to answers. */

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const ALLOWED = '_-=@,.;AZaz09';

const requests = new PushRequests();
const instance = { instanceId: INSTANCE.id, secretKey: INSTANCE.secretKey };
/** The backend of the apps. */
const backend = new PushNotifications(instance);
let server: Fanfare;

beforeAll(async () => {
  server = await startPush();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const fetchUserToken = (userId: string) => String(backend.generateToken(userId)['token']);

async function publishTo(interest: string): Promise<string> {
  const body = { interests: [interest], apns: { aps: { alert: 'Hi' } }, fcm: { data: { a: 'b' } } };
  const { status, json } = await requestPush(server, requests.publish(body));
  expect(status).toBe(200);
  return String(json['publishId']);
}

/** Waits until a publish is planned for `count` devices. Their reports count from then on. */
async function planned(publishId: string, devices: number): Promise<void> {
  for (;;) {
    const { json } = await requestPush(server, requests.readPublish(publishId));
    const platforms = Object.values(json['platforms'] as Record<string, { planned: number }>);
    if (platforms.reduce((sum, counts) => sum + counts.planned, 0) >= devices) return;
  }
}

/** The numbers of devices that reported a delivery and an opening. */
async function reportsOf(publishId: string): Promise<readonly unknown[]> {
  const { json } = await requestPush(server, requests.readPublish(publishId));
  return [json['delivered'], json['opened']];
}

const nowSeconds = () => Math.floor(Date.now() / 1000);
const seenInBackground = { appInBackground: true, hasDisplayableContent: true, hasData: false };

const sdks: readonly (readonly [string, MobileSdk])[] = [
  ['iOS', ios],
  ['Android', androidSdk],
];

describe.each(sdks)('an app on %s', (system, sdk) => {
  const install = (where = server) => InstalledApp.install(sdk, where, fetchUserToken);
  let [token, nextToken] = sdk.newPushTokens();
  beforeEach(() => {
    [token, nextToken] = sdk.newPushTokens();
  });
  const ID = new RegExp(`^${sdk.platform}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`);

  it('works from its installation to its removal', async () => {
    await using app = await install();

    // Installed, and started for the first time.
    expect(await app.start(token)).toBe('done');
    await app.launch();
    expect(app.takeConversation()).toEqual([
      'register: 200',
      'set metadata: 200',
      'set interests: 200',
    ]);
    const first = app.deviceId;
    expect(first).toMatch(ID);
    expect(await deviceOf(server, first)).toEqual({
      id: first,
      userId: null,
      metadata:
        sdk === ios
          ? { sdkVersion: '4.0.0', iosVersion: '18.5.0' }
          : { sdkVersion: '1.10.0', androidVersion: '16' },
    });

    // It adds and removes interests.
    expect(await app.addInterest('hello')).toBe('done');
    expect(await app.addInterest('hello')).toBe('done');
    expect(await app.addInterest(ALLOWED)).toBe('done');
    expect(await app.removeInterest('never-added')).toBe('done');
    expect(await interestsOf(server, first)).toEqual([ALLOWED, 'hello']);
    expect(await app.removeInterest(ALLOWED)).toBe('done');
    expect(await app.setInterests(['news', 'sport', ALLOWED])).toBe('done');
    expect(await interestsOf(server, first)).toEqual([ALLOWED, 'news', 'sport']);

    // Its user signs in, and again when the app starts on another day.
    expect(await app.setUser('zoë/7 +1')).toBe('done');
    await app.launch();
    expect(await app.setUser('zoë/7 +1')).toBe('done');
    expect(await deviceOf(server, first)).toMatchObject({ userId: 'zoë/7 +1' });

    // A notification arrives and is opened.
    const publishId = await publishTo('news');
    await planned(publishId, 1);
    const timestampSecs = nowSeconds();
    expect(
      await app.report({ event: 'Delivery', publishId, timestampSecs, ...seenInBackground }),
    ).toBe('done');
    expect(await app.report({ event: 'Open', publishId, timestampSecs })).toBe('done');
    expect(await reportsOf(publishId)).toEqual([1, 1]);

    // The backend removes the user and with it the device. The SDK gets 404 and registers another device.
    expect((await requestPush(server, requests.deleteUser('zoë/7 +1'))).status).toBe(200);
    app.takeConversation();
    expect(await app.addInterest('weather')).toBe('done');
    expect(app.takeConversation()).toEqual([
      'add interest: 404',
      'register: 200',
      'set interests: 200',
      'set user: 200',
      'add interest: 200',
    ]);
    const second = app.deviceId;
    expect(second).toMatch(ID);
    expect(second).not.toBe(first);
    expect(await deviceOf(server, first)).toBeUndefined();
    expect(await deviceOf(server, second)).toMatchObject({ userId: 'zoë/7 +1' });
    expect(await interestsOf(server, second)).toEqual([ALLOWED, 'news', 'sport', 'weather']);

    // The system gives the app another token.
    if (sdk.setToken === undefined) {
      expect(await app.start(nextToken)).toBe('done');
    } else {
      expect(await app.refreshToken(nextToken)).toBe('done');
      expect(app.deviceId).toBe(second);
    }
    expect(await interestsOf(server, app.deviceId)).toEqual([ALLOWED, 'news', 'sport', 'weather']);

    // It is stopped. The request is repeated because the answer was lost.
    const last = app.deviceId;
    for (const _ of [1, 2]) expect(await app.stop()).toBe('done');
    expect(await deviceOf(server, last)).toBeUndefined();

    // After all state was cleared, it starts anew with its old token and without its old data.
    expect(await app.start(nextToken)).toBe('done');
    expect([first, second, last]).not.toContain(app.deviceId);
    expect(await interestsOf(server, app.deviceId)).toEqual([]);
    expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: null });
    expect(await app.setUser('bob')).toBe('done');
  });

  it('reads only an id and an empty set of interests when it registers for the first time', async () => {
    await using app = await install();
    const { status, headers, body } = await app.ask('register', sdk.register(token));
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(JSON.parse(body)).toEqual({
      id: expect.stringMatching(ID),
      initialInterestSet: [],
    });
  });

  it('can use every valid interest in a path without encoding', async () => {
    await using app = await install();
    await app.start(token);
    const names = [...ALLOWED, ALLOWED, 'x'.repeat(164), ';;', ',', '=', 'a@b.c', 'user', 'token'];
    // The HTTP library of the Android SDK refuses these names; iOS does not encode them in the path.
    if (sdk === ios) names.push('..', '.hidden');
    const unique = [...new Set(names)].toSorted();

    for (const name of names) expect([name, await app.addInterest(name)]).toEqual([name, 'done']);
    expect(await interestsOf(server, app.deviceId)).toEqual(unique);
    for (const name of names) {
      expect([name, await app.removeInterest(name)]).toEqual([name, 'done']);
    }
    expect(await interestsOf(server, app.deviceId)).toEqual([]);
    expect(await app.setInterests(unique)).toBe('done');
    expect(await interestsOf(server, app.deviceId)).toEqual(unique);
    expect(await app.setInterests([])).toBe('done');
    expect(await interestsOf(server, app.deviceId)).toEqual([]);

    // A name that the SDK itself refuses is dropped rather than repeated.
    for (const name of ['a:b', 'x'.repeat(165), 'a%20b']) {
      expect(await app.addInterest(name)).toBe('skip');
      expect(await app.removeInterest(name)).toBe('skip');
    }
    expect(await app.setInterests(['fine', 'a:b'])).toBe('skip');
    expect(await interestsOf(server, app.deviceId)).toEqual([]);
  });

  it('uses the same interest if a proxy has encoded its name', async () => {
    await using app = await install();
    await app.start(token);
    const encoded = encodeURIComponent(ALLOWED);
    expect(encoded).toContain('%3B');
    for (const [name, left] of [
      [ALLOWED, [ALLOWED]],
      [encoded, [ALLOWED]],
    ] as const) {
      await app.ask('add interest', sdk.addInterest(app.deviceId, name));
      expect(await interestsOf(server, app.deviceId)).toEqual(left);
    }
    await app.ask('remove interest', sdk.removeInterest(app.deviceId, encoded));
    expect(await interestsOf(server, app.deviceId)).toEqual([]);
  });

  it('gets its interests in pages, always in the same order', async () => {
    await using app = await install();
    await app.start(token);
    const names = Array.from({ length: 250 }, (_, n) => `interest-${n}`).toSorted();
    await app.setInterests(names.toReversed());

    for (const [limit, lengths] of [
      ['', [100, 100, 50]],
      ['limit=100&', [100, 100, 50]],
      ['limit=125&', [100, 100, 50]],
      ['limit=50&', [50, 50, 50, 50, 50]],
    ] as const) {
      const pages: (readonly string[])[] = [];
      let cursor: string | undefined;
      do {
        const query = cursor === undefined ? '' : `cursor=${encodeURIComponent(cursor)}`;
        const { interests, responseMetadata } = await pageOf(
          server,
          app.deviceId,
          `?${limit}${query}`,
        );
        pages.push(interests);
        cursor = responseMetadata.nextCursor;
      } while (cursor !== undefined);
      expect(pages.map(({ length }) => length)).toEqual([...lengths]);
      expect(pages.flat()).toEqual(names);
    }
  });

  it('gets no answer that its push token is wrong when its user cannot sign in, and does not repeat the request', async () => {
    await using app = await install();
    await app.start(token);
    const other = (over: object) => new PushNotifications({ ...instance, ...over });
    const tokens = [
      'not a token',
      'a.b.c',
      String(other({ secretKey: 'wrong' }).generateToken('ann')['token']),
      String(other({ instanceId: UNKNOWN }).generateToken('ann')['token']),
    ];
    for (const userToken of tokens) {
      expect(await app.setUser('ann', userToken)).toBe('bad user token');
    }
    expect(app.takeConversation()).toEqual([
      'register: 200',
      'set user: 401',
      'set user: 401',
      'set user: 401',
      'set user: 403',
    ]);
    expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: null });
  });

  it('keeps its user: another user cannot sign in on the same device', async () => {
    await using app = await install();
    await app.start(token);
    expect(await app.setUser('ann')).toBe('done');
    expect(await app.setUser('bob')).toBe('skip');
    expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: 'ann' });
  });

  it('is refused if its user already has 100 devices on this platform', async () => {
    await using app = await install();
    const user = `many on ${system}`;
    const userToken = fetchUserToken(user);
    const pushToken = (n: number) =>
      sdk === ios ? n.toString(16).padStart(64, '0') : `of-many:${n}`;
    const signIn = async (n: number) => {
      await app.start(pushToken(n));
      return await app.ask('set user', sdk.setUser(app.deviceId, userToken));
    };
    for (let n = 0; n < 100; n++) expect((await signIn(n)).status).toBe(200);

    const refused = await signIn(100);
    expect([refused.status, JSON.parse(refused.body).error]).toEqual([422, 'Unprocessable Entity']);
    // iOS does not know this answer.
    expect(sdk.decide('set user', refused)).toBe(sdk === ios ? 'retry' : 'skip');
    // With one device less, there is room again.
    await app.start(pushToken(99));
    await app.stop();
    expect((await signIn(100)).status).toBe(200);
  });

  it('counts once per notification, however often it reports it', async () => {
    await using app = await install();
    await app.start(token);
    await app.addInterest('reported');
    const publishId = await publishTo('reported');
    await planned(publishId, 1);
    const delivery = {
      event: 'Delivery',
      publishId,
      timestampSecs: nowSeconds(),
      ...seenInBackground,
    } as const;
    for (let times = 0; times < 3; times++) expect(await app.report(delivery)).toBe('done');
    expect(await reportsOf(publishId)).toEqual([1, 0]);

    const open = { event: 'Open', publishId, timestampSecs: nowSeconds() } as const;
    for (let times = 0; times < 3; times++) expect(await app.report(open)).toBe('done');
    expect(await reportsOf(publishId)).toEqual([1, 1]);
  });

  it('does not register again after a report about an unknown publish or device', async () => {
    await using app = await install();
    await app.start(token);
    await app.addInterest('known');
    const known = await publishTo('known');
    await planned(known, 1);
    const report = (deviceId: string, publishId: string) =>
      sdk.report({ event: 'Open', publishId, deviceId, timestampSecs: nowSeconds() });
    const { deviceId } = app;
    const rows = [
      report(deviceId, `pubid-${UNKNOWN}`),
      report(deviceId, 'what-is-this'),
      report(`${sdk.platform}-${UNKNOWN}`, known),
      report('what-is-this', known),
      withHead(report(deviceId, known), INSTANCE.id, UNKNOWN),
      withHead(report(deviceId, known), INSTANCE.id, INSTANCE.id.toUpperCase()),
    ];
    for (const row of rows) {
      expect(sdk.decide('report', await app.ask('report', row))).toBe('done');
    }
    // The last report was for this instance.
    expect(await reportsOf(known)).toEqual([0, 1]);

    const bad = withHead(report(deviceId, known), INSTANCE.id, 'my-instance');
    expect(sdk.decide('report', await app.ask('report', bad))).toBe('skip');
  });

  it('stays the same device when it registers its token again', async () => {
    await using before = await install();
    await before.start(token);
    await before.addInterest('old');
    await before.setUser('ann');

    await using app = await install();
    expect(await app.start(token)).toBe('done');

    expect(app.deviceId).toBe(before.deviceId);
    expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: 'ann' });
    expect(await interestsOf(server, app.deviceId)).toEqual(['old']);
    // A device with another token stays.
    await using other = await install();
    await other.start(nextToken);
    expect(await deviceOf(server, app.deviceId)).toBeDefined();
  });

  it('is answered with 200 for the deletion of any device id, and does not repeat it', async () => {
    await using app = await install();
    await app.start(token);
    const ids = [
      app.deviceId,
      app.deviceId,
      `${sdk.platform}-${UNKNOWN}`,
      `web-${UNKNOWN}`,
      UNKNOWN,
      'what-is-this',
      'x'.repeat(1000),
      '%00',
      '%',
    ];
    for (const id of ids) {
      const answer = await app.ask('delete', sdk.delete(id));
      expect([id, answer.status, sdk.decide('delete', answer)]).toEqual([id, 200, 'done']);
    }
    expect(await deviceOf(server, app.deviceId)).toBeUndefined();
  });

  it('registers again after each request about a device that does not exist', async () => {
    await using app = await install();
    const id = `${sdk.platform}-${UNKNOWN}`;
    for (const [job, request] of [
      ['set metadata', sdk.setMetadata(id)],
      ['add interest', sdk.addInterest(id, 'news')],
      ['remove interest', sdk.removeInterest(id, 'news')],
      ['set interests', sdk.setInterests(id, ['news'])],
      ['set user', sdk.setUser(id, fetchUserToken('ann'))],
      ...(sdk.setToken === undefined ? [] : [['set token', sdk.setToken(id, token)] as const]),
    ] as const) {
      const answer = await app.ask(job, request);
      expect([job, answer.status, sdk.decide(job, answer)]).toEqual([job, 404, 'register again']);
    }
  });

  it('migrates from another server with any device id of that server', async () => {
    for (const id of [`${sdk.platform}-${UNKNOWN}`, UNKNOWN, 'd-123']) {
      await using app = await install();
      await app.start(token);
      await app.setUser('ann');
      await app.setInterests(['news']);
      app.deviceId = id;
      app.takeConversation();

      expect(await app.removeInterest('sport')).toBe('done');

      expect(app.takeConversation()).toEqual([
        'remove interest: 404',
        'register: 200',
        'set interests: 200',
        'set user: 200',
        'remove interest: 200',
      ]);
      expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: 'ann' });
      expect(await interestsOf(server, app.deviceId)).toEqual(['news']);
    }
  });

  it('waits while the store is unavailable, keeps its device, and continues afterwards', async () => {
    await using server = await startPush({ onlyOne: 'sqlite-file' });
    await using app = await install(server);
    await app.start(token);
    const { deviceId } = app;
    app.takeConversation();
    const publishId = `pubid-${UNKNOWN}`;
    const open = { event: 'Open', publishId, timestampSecs: nowSeconds() } as const;
    const jobs = [
      ['add interest', sdk.addInterest(deviceId, 'news'), () => app.addInterest('news')],
      ['set user', sdk.setUser(deviceId, fetchUserToken('ann')), () => app.setUser('ann')],
      ['report', sdk.report({ ...open, deviceId }), () => app.report(open)],
      ['delete', sdk.delete(deviceId), () => app.stop()],
    ] as const;
    {
      await using _lock = await holdStore(server);
      for (const [job, request] of jobs) {
        const answer = await app.ask(job, request);
        expect([job, answer.status, sdk.decide(job, answer)]).toEqual([job, 503, 'retry']);
      }
    }
    for (const [, , does] of jobs) expect(await does()).toBe('done');
    expect(app.deviceId).toBe(deviceId);
    const said = new Set(app.takeConversation());
    for (const [job] of jobs) {
      said.delete(`${job}: 503`);
      expect(said.delete(`${job}: 200`)).toBe(true);
    }
    expect([...said]).toEqual([]);
  });
});

describe('an app on iOS', () => {
  it('may omit Content-Length if there is no body', async () => {
    await using app = await InstalledApp.install(ios, server, fetchUserToken);
    await app.start(ios.newPushTokens()[0]);
    const bare = [
      ['add interest', ios.addInterest(app.deviceId, 'news')],
      ['set user', ios.setUser(app.deviceId, fetchUserToken('ann'))],
    ] as const;
    for (const [job, request] of bare) {
      const answer = await app.ask(job, withHead(request, '\r\nContent-Length: 0', ''));
      expect(answer.status).toBe(200);
    }
    expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: 'ann' });
    expect(await interestsOf(server, app.deviceId)).toEqual(['news']);
  });

  it('registers without the name of its bundle, also on a Mac', async () => {
    await using app = await InstalledApp.install(ios, server, fetchUserToken);
    const [token] = ios.newPushTokens();
    const register = ios.register(token);
    const bytes = Buffer.from(register.bytes).toString();
    for (const [from, to] of [
      // The same length as before, so that Content-Length is right.
      ['"com.example.Shop"', '"missing-bundle-id"'],
      ['"iosVersion":"18.5.0"', '"macosVersion":"15.5.0"'],
    ] as const) {
      const longer = to.length - from.length;
      const length = Number(/Content-Length: (\d+)/.exec(bytes)?.[1]);
      const changed = bytes
        .replace(from, to)
        .replace(`Content-Length: ${length}`, `Content-Length: ${length + longer}`);
      const answer = await app.ask('register', { ...register, bytes: Buffer.from(changed) });
      expect(ios.decide('register', answer)).toBe('done');
    }
  });
});
