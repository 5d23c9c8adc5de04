import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { changeStore } from '../../testing/databases/change-store.ts';
import { untrusted } from '../../testing/servers/certificates.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { holdStore } from '../failure/store-trouble.ts';
import { PushLibraryProcess, type PushLibrarySetup } from './push-library-process.ts';

/** The official server library of Beams, unchanged from npm, in Node and Bun. */

const SLOW = { id: '1d1f8b7e-6a52-4c1e-9b5f-3f0c6a7d2e41', secretKey: 'the key of a slow one' };
const CROWDED = { id: '2d1f8b7e-6a52-4c1e-9b5f-3f0c6a7d2e41', secretKey: 'the key of a full one' };
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

/** Longer than the pause between two checks of the store. */
const SOON_MS = 15_000;

const PUBLISH_ID = /^pubid-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ACCEPTED = { publishId: expect.stringMatching(PUBLISH_ID) };

const HELLO = { web: { notification: { title: 'Hello' } } };

/** User ids that must be encoded in a path, or that could be confused with each other. */
const USERS = [
  'ann',
  'ann lee',
  'ann+lee',
  'ann%20lee',
  'ann/lee',
  'ann%2Flee',
  'ann\\lee',
  'zoë ☃ 👋',
  '100%',
  '?a=b#c',
  `!'()*~`,
  '@:;,&=$',
  '.',
  '..',
  'ü'.repeat(82),
];

const requests = new PushRequests();
let server: Fanfare;

beforeAll(async () => {
  server = await startFanfare({
    config: {
      push: pushSettings(
        unhurried(),
        { id: SLOW.id, secretKeys: [SLOW.secretKey], limits: { publishesPerSecond: 1 } },
        { id: CROWDED.id, secretKeys: [CROWDED.secretKey], limits: { devices: 1 } },
      ),
    },
  });
  await register('one', new PushRequests(CROWDED));
  // As if the limit had been lowered after gateways had accepted two.
  await changeStore(server, `UPDATE instance_numbers SET accepted = 2 WHERE id = '${CROWDED.id}'`);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** The instance without a limit of publishes per second. */
function unhurried(): object {
  return { ...instanceSettings(), limits: { publishesPerSecond: 0 } };
}

async function register(token: string, of = requests): Promise<string> {
  const { status, json } = await requestPush(server, of.registerFcm(token));
  expect(status).toBe(200);
  return String(json['id']);
}

/** The user of a device; `undefined` if the device does not exist. */
async function userOf(deviceId: string): Promise<unknown> {
  const { status, json } = await requestPush(server, requests.readDevice(deviceId));
  if (status === 404) return undefined;
  expect(status).toBe(200);
  return json['userId'];
}

/** The status of a publish that a call returned. */
async function statusOf(accepted: unknown): Promise<unknown> {
  const { publishId } = accepted as { publishId: string };
  const { status, json } = await requestPush(server, requests.readPublish(publishId));
  expect(status).toBe(200);
  expect(json).toMatchObject({ publishId });
  return json;
}

for (const [runtime, command] of [
  ['Node', 'node'],
  ['Bun', process.execPath],
] as const) {
  describe(`@pusher/push-notifications-server in ${runtime}`, () => {
    let library: PushLibraryProcess;
    beforeAll(() => {
      library = PushLibraryProcess.start(command, server);
    });
    afterAll(() => {
      library[Symbol.dispose]();
    });

    /** Registers a device of a user, with a token of the library. */
    async function registerFor(userId: string, pushToken: string): Promise<string> {
      const id = await register(`${runtime}-${pushToken}`);
      const token = await library.generateToken(userId);
      const { status } = await requestPush(server, {
        method: 'PUT',
        target: `/device_api/v1/instances/${INSTANCE.id}/devices/fcm/${id}/user`,
        headers: { authorization: `Bearer ${token}` },
      });
      expect(status).toBe(200);
      return id;
    }

    describe('publishToInterests', () => {
      it('gets the id of the publish, which finds its status', async () => {
        const accepted = await library.publishToInterests(['donuts'], HELLO);

        expect(accepted).toEqual(ACCEPTED);
        expect(await statusOf(accepted)).toMatchObject({
          state: expect.stringMatching(/^(planning|delivering|finished)$/),
          sendAt: null,
          delivered: 0,
          opened: 0,
        });
      });

      it('accepts every field of its types, for all platforms', async () => {
        const accepted = await library.publishToInterests(['_-=@,.;AZaz09', 'x'.repeat(164)], {
          webhookUrl: 'https://name:password@example.org/publishes',
          apns: {
            collapse_id: 'news',
            expiration: 1_900_000_000,
            priority: 10,
            aps: {
              alert: {
                title: 'Zoë ☃',
                body: '<b>1/2</b>',
                'title-loc-key': 'TITLE',
                'title-loc-args': ['1'],
                'action-loc-key': 'VIEW',
                'loc-key': 'BODY',
                'loc-args': ['2'],
                'launch-image': 'hello.png',
              },
              badge: 3,
              sound: 'default',
              'content-available': '1',
              category: 'news',
              'thread-id': 'today',
            },
            data: { some: { more: [1, true, null] } },
          },
          fcm: {
            time_to_live: 3600,
            collapse_key: 'news',
            priority: 'high',
            notification: {
              title: 'Zoë ☃',
              body: '1/2',
              android_channel_id: 'news',
              icon: 'news',
              sound: 'default',
              tag: 'news',
              color: '#ff0000',
              click_action: 'OPEN',
              body_loc_key: 'BODY',
              body_loc_args: ['1'],
              title_loc_key: 'TITLE',
              title_loc_args: ['2'],
            },
            data: { some: 'more' },
          },
          web: {
            time_to_live: 60,
            notification: {
              title: 'Zoë ☃',
              body: '1/2',
              icon: 'https://example.org/icon.png',
              deep_link: 'https://example.org/news?id=1#top',
              hide_notification_if_site_has_focus: true,
            },
            data: { some: { more: 1 } },
          },
        });
        expect(accepted).toEqual(ACCEPTED);
      });

      it('accepts 100 interests, repeated ones included', async () => {
        const interests = Array.from({ length: 99 }, (_, n) => `interest-${n}`);
        const accepted = await library.publishToInterests([...interests, 'interest-1'], HELLO);
        expect(accepted).toEqual(ACCEPTED);
      });

      it('passes on sendAt, which its types do not have', async () => {
        const sendAt = new Date(Date.now() + 3_600_000).toISOString();
        const request = { ...HELLO, sendAt };
        const accepted = await library.publishToInterests(['donuts'], request);
        expect(await statusOf(accepted)).toMatchObject({ state: 'scheduled', sendAt });
      });
    });

    it('publish does the same and warns that it is deprecated', async () => {
      const accepted = await library.publish(['donuts'], HELLO);
      expect(accepted).toEqual(ACCEPTED);
      expect(library.warnings).toEqual([
        '`publish` is deprecated. Use `publishToInterests` instead.',
      ]);
      await statusOf(accepted);
    });

    it('publishToUsers accepts one user and 1000 users, with any names', async () => {
      for (const users of [['ann'], USERS, Array.from({ length: 1000 }, (_, n) => `${n} `)]) {
        const accepted = await library.publishToUsers(users, HELLO);
        expect(accepted).toEqual(ACCEPTED);
        await statusOf(accepted);
      }
    });

    it('generateToken makes a token that signs a user in, and deleteUser removes only that user', async () => {
      const left = new Map<string, string>();
      for (const [n, userId] of USERS.entries()) {
        const id = await registerFor(userId, `device-${n}`);
        expect(await userOf(id)).toBe(userId);
        left.set(id, userId);
      }

      for (const [id, userId] of left) {
        // The answer is empty, and the library returns nothing.
        expect(await library.deleteUser(userId)).toBeUndefined();
        left.delete(id);
        expect([userId, await userOf(id)]).toEqual([userId, undefined]);
        for (const [other, name] of left) expect(await userOf(other)).toBe(name);
      }
    });

    it('deleteUser removes all devices of a user, and succeeds when repeated', async () => {
      const ids = [await registerFor('zoë/1 +2', 'first'), await registerFor('zoë/1 +2', 'second')];
      expect(await library.deleteUser('zoë/1 +2')).toBeUndefined();
      for (const id of ids) expect(await userOf(id)).toBeUndefined();
      expect(await library.deleteUser('zoë/1 +2')).toBeUndefined();
    });

    describe('over TLS', () => {
      let directory: string;
      let secure: Fanfare;
      const trusting = () => ({ NODE_EXTRA_CA_CERTS: join(directory, 'cert.pem') });

      beforeAll(async () => {
        directory = mkdtempSync(join(tmpdir(), 'fanfare-tls-'));
        const tls = { certFile: join(directory, 'cert.pem'), keyFile: join(directory, 'key.pem') };
        writeFileSync(tls.certFile, untrusted.cert);
        writeFileSync(tls.keyFile, untrusted.key);
        secure = await startFanfare({ config: { push: pushSettings(instanceSettings()), tls } });
      });
      afterAll(async () => {
        await secure[Symbol.asyncDispose]();
        rmSync(directory, { recursive: true });
      });

      it('publishes and deletes as without TLS', async () => {
        using process = PushLibraryProcess.start(command, secure, trusting());
        const library = process.as(secure, { protocol: 'https' });
        expect(await library.publishToInterests(['donuts'], HELLO)).toEqual(ACCEPTED);
        expect(await library.publishToUsers(['zoë'], HELLO)).toEqual(ACCEPTED);
        expect(await library.deleteUser('zoë')).toBeUndefined();
        await expect(library.publishToInterests([''], HELLO)).rejects.toThrow(/^422 /);
      });

      it('fails but does not crash if it does not trust the certificate, or uses http', async () => {
        using trustful = PushLibraryProcess.start(command, secure, trusting());
        for (const failing of [library.as(secure, { protocol: 'https' }), trustful]) {
          await expectFailure(failing, () => failing.publishToInterests(['donuts'], HELLO), /./);
        }
      });
    });

    describe('reports the reason of a refusal', () => {
      type Ask = (library: PushLibraryProcess) => Promise<unknown>;

      const publishing: readonly Ask[] = [
        (library) => library.publishToInterests(['donuts'], HELLO),
        (library) => library.publish(['donuts'], HELLO),
        (library) => library.publishToUsers(['ann'], HELLO),
      ];
      const anything: readonly Ask[] = [...publishing, (library) => library.deleteUser('ann')];

      async function expectAll(asks: readonly Ask[], setup: PushLibrarySetup, said: string) {
        const stranger = library.as(server, setup);
        for (const ask of asks) await expectFailure(stranger, () => ask(stranger), said);
      }

      it('401 if the key is wrong, or that of another instance', async () => {
        for (const secretKey of ['wrong', '', ' ', SLOW.secretKey, INSTANCE.secretKey.slice(1)]) {
          await expectAll(anything, { secretKey }, '401 Unauthorized - Incorrect Secret Key');
        }
      });

      it('404 if the instance does not exist', async () => {
        for (const instanceId of [UNKNOWN, 'my-instance', '%2F..', '%']) {
          await expectAll(
            anything,
            { instanceId },
            '404 Instance not found - Could not find the instance',
          );
        }
      });

      it('400 if the instance id is empty', async () => {
        await expectAll(
          anything,
          { instanceId: '' },
          '400 Incomplete Request - The instance-id is missing from the path',
        );
      });

      it('422 if a publish breaks a rule, with the field and the rule', async () => {
        // Only code without types can send these.
        const odd = (request: object) => request as typeof HELLO;
        const rows: readonly [Ask, string][] = [
          [
            (library) => library.publishToInterests(['donuts'], odd({})),
            '`apns`: one of apns, fcm and web is required',
          ],
          [
            (library) => library.publishToInterests(['donuts', ''], HELLO),
            '`interests.1`: must be 1 to 164 of the letters A to Z and a to z, digits, and _ - = @ , . ;',
          ],
          [
            (library) => library.publishToUsers(['ann', ''], HELLO),
            '`users.1`: the user id is empty',
          ],
          [
            (library) => library.publishToUsers(['ü'.repeat(83)], HELLO),
            '`users.0`: the user id is too long: the limit is 164 bytes of UTF-8',
          ],
          [
            (library) => library.publishToInterests(['donuts'], odd({ apns: { data: {} } })),
            '`apns.aps`: aps is required',
          ],
        ];
        for (const [ask, why] of rows) {
          await expectFailure(library, () => ask(library), `422 Unprocessable Entity - ${why}`);
        }
      });

      it('400 if a publish is too large, and accepts one that is just small enough', async () => {
        const long = { web: { data: { text: 'x'.repeat(3000) } }, fcm: { data: { text: 'x' } } };
        expect(await library.publishToInterests(['donuts'], long)).toEqual(ACCEPTED);
        // No name is too long, and their number is within the limit.
        const names = Array.from({ length: 100 }, (_, n) => `${n}-`.padEnd(164, 'x'));
        await expectFailure(
          library,
          () => library.publishToInterests(names, HELLO),
          '400 Bad request - The body is larger than 10 KiB',
        );
        expect(await library.publishToUsers(names, HELLO)).toEqual(ACCEPTED);
        const unknown = { ...HELLO, more: 'x'.repeat(200 * 1024) };
        await expectFailure(
          library,
          () => library.publishToUsers(['ann'], unknown),
          '400 Bad request - The body is larger than 200 KiB',
        );
      });

      it('400 or 404 if the user id is invalid', async () => {
        const rows = [
          ['', '404 Not found - There is no such path'],
          ['ü'.repeat(83), "400 Bad request - 'User id' is too long, max length is 164"],
          ['ann\u0000', /^400 Bad request - 'User id' ./],
        ] as const;
        for (const [userId, said] of rows) {
          await expectFailure(library, () => library.deleteUser(userId), said);
        }
      });

      it('402 if the instance has more devices than its limit, but still deletes users', async () => {
        const setup = { instanceId: CROWDED.id, secretKey: CROWDED.secretKey };
        const said =
          '402 Payment Required - The instance has 2 devices that a gateway has accepted, and its limit is 1';
        await expectAll(publishing, setup, said);
        expect(await library.as(server, setup).deleteUser('ann')).toBeUndefined();
      });

      it('429 if it publishes too often', async () => {
        const hasty = library.as(server, { instanceId: SLOW.id, secretKey: SLOW.secretKey });
        // On a slow machine, more than one publish may be accepted.
        const refused = await firstFailure(() => hasty.publishToInterests(['donuts'], HELLO));
        expect(refused).toBe(
          '429 Rate Limited - Too many requests in quick succession: at most 1 per second',
        );
        expect(await hasty.deleteUser('ann')).toBeUndefined();
      });

      it('503 while the store is unavailable, and publishes again afterwards', async () => {
        await using server = await startFanfare({
          config: { push: pushSettings(unhurried()) },
          onlyOne: 'sqlite-file',
        });
        const waiting = library.as(server);
        const asks = [
          () => waiting.publishToInterests(['donuts'], HELLO),
          () => waiting.publishToUsers(['ann'], HELLO),
          () => waiting.deleteUser('ann'),
        ];
        {
          await using _lock = await holdStore(server);
          for (const ask of asks) {
            await expectFailure(
              waiting,
              ask,
              /^503 Service Unavailable - The store cannot be used now: ./,
            );
          }
        }
        expect(await firstSuccess(() => waiting.publishToInterests(['donuts'], HELLO))).toEqual(
          ACCEPTED,
        );
      });

      it('no status if there is no server, but an error', async () => {
        const closed = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
        const pushPort = Number(closed.port);
        await closed.stop(true);
        const lost = library.as({ pushPort });
        await expectFailure(lost, () => lost.publishToInterests(['donuts'], HELLO), /./);
      });
    });
  });
}

/** Expects that a call fails with this message and that the process still runs. */
async function expectFailure(
  library: PushLibraryProcess,
  ask: () => Promise<unknown>,
  said: string | RegExp,
): Promise<void> {
  const failure = await ask().then(
    (value) => `It gave ${JSON.stringify(value)}`,
    (error) => String(error.message),
  );
  if (typeof said === 'string') expect(failure).toBe(said);
  else expect(failure).toMatch(said);
  await expect(library.generateToken('')).rejects.toThrow('userId cannot be the empty string');
}

/** Repeats a call until it fails; returns the message. */
async function firstFailure(ask: () => Promise<unknown>): Promise<string> {
  for (let times = 0; times < 50; times++) {
    try {
      await ask();
    } catch (error) {
      return String((error as Error).message);
    }
  }
  throw new Error('It never failed');
}

/** Repeats a call until it succeeds, as a backend does after Retry-After. */
async function firstSuccess(ask: () => Promise<unknown>): Promise<unknown> {
  const deadlineMs = Date.now() + SOON_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > deadlineMs) throw error;
      expect((error as Error).message).toStartWith('503 ');
    }
  }
}
