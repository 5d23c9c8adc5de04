import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { type OtherSdk, otherSdks, USER } from './push-other-sdks.ts';
import { type Transcript, TranscriptConnection, transcript, withHead } from './transcript.ts';

/** The official server libraries of other languages, modelled by their requests. */

const DAY_SECONDS = 24 * 3600;

const requests = new PushRequests();
let server: Fanfare;

beforeAll(async () => {
  server = await startFanfare({
    config: {
      push: pushSettings({ ...instanceSettings(), limits: { publishesPerSecond: 0 } }),
    },
  });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function send(request: Transcript) {
  await using connection = await TranscriptConnection.open(server);
  return await connection.sends(request);
}

/** Registers a device without a user. */
async function register(): Promise<string> {
  const { status, json } = await requestPush(server, requests.registerFcm(crypto.randomUUID()));
  expect(status).toBe(200);
  return String(json['id']);
}

/** Registers a device of a user. */
async function registerFor(userId: string): Promise<string> {
  const id = await register();
  expect((await requestPush(server, requests.setUser(id, userId))).status).toBe(200);
  return id;
}

/** The user of a device; `undefined` if the device does not exist. */
async function userOf(deviceId: string): Promise<unknown> {
  const { status, json } = await requestPush(server, requests.readDevice(deviceId));
  return status === 404 ? undefined : json['userId'];
}

/** A token as the library makes it, valid for a day. */
function tokenOf(sdk: OtherSdk): string {
  const signed = sdk
    .token(Math.floor(Date.now() / 1000) + DAY_SECONDS)
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
  return `${signed}.${createHmac('sha256', INSTANCE.secretKey).update(signed).digest('base64url')}`;
}

describe.each(otherSdks.map((sdk) => [sdk.name, sdk] as const))('%s', (_, sdk) => {
  for (const [method, request] of sdk.publishes) {
    it(`${method}: is answered with 200 and only the id of the publish`, async () => {
      const { status, headers, body } = await send(request);

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('content-length')).toBe(String(body.length));
      expect(body).toMatch(/^\{"publishId":"pubid-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"\}\n$/);
      const { publishId } = JSON.parse(body);
      expect((await requestPush(server, requests.readPublish(publishId))).json).toMatchObject({
        publishId,
      });
    });

    it(`${method}: gets the reason of a refusal as status, title and text`, async () => {
      const unknown = '00000000-0000-4000-8000-000000000000';
      const rows = [
        [withHead(request, INSTANCE.secretKey, 'wrong'), 401, 'Unauthorized: Incorrect Secret Key'],
        [
          withHead(request, INSTANCE.id, unknown),
          404,
          'Instance not found: Could not find the instance',
        ],
      ] as const;
      for (const [wrong, status, said] of rows) {
        const answer = await send(wrong);
        const { error, description } = JSON.parse(answer.body);
        expect([answer.status, `${error}: ${description}`]).toEqual([status, said]);
        expect(answer.headers.get('content-type')).toBe('application/json');
      }
    });
  }

  it('makes a token that signs a user in', async () => {
    const id = await register();
    const { status, json } = await requestPush(server, {
      method: 'PUT',
      target: `/device_api/v1/instances/${INSTANCE.id}/devices/fcm/${id}/user`,
      headers: { authorization: `Bearer ${tokenOf(sdk)}` },
    });
    expect([status, json]).toEqual([200, {}]);
    expect(await userOf(id)).toBe(USER);
    await requestPush(server, requests.deleteUser(USER));
  });

  it('deletes a user with all devices and no other user, and can repeat that', async () => {
    const { user, request } = sdk.deletes;
    const devices = [await registerFor(user), await registerFor(user)];
    // A plus sign in the path is not a space.
    const similar = [`${user} `, user.slice(0, -1), user.replaceAll('+', ' ')];
    const others = similar.filter((other) => other !== user);
    const left = await Promise.all(others.map(async (other) => await registerFor(other)));

    for (const _ of [1, 2]) {
      const { status, headers, body } = await send(request);
      expect([status, headers.get('content-length'), body]).toEqual([200, '0', '']);
      for (const id of devices) expect(await userOf(id)).toBeUndefined();
    }

    expect(await Promise.all(left.map((id) => userOf(id)))).toEqual(others);
  });
});

it('Ruby gets an error for a character in an interest that only the Ruby library accepts', async () => {
  const [first] = otherSdks.find(({ name }) => name === 'Ruby')?.publishes ?? [];
  const [head = '', body = ''] = Buffer.from(first?.[1].bytes ?? [])
    .toString()
    .split('\r\n\r\n');
  // The same length as before, so that Content-Length is right.
  const answer = await send(transcript(head.split('\r\n'), body.replace('donuts', 'do:nut')));
  expect([answer.status, JSON.parse(answer.body)]).toEqual([
    422,
    {
      error: 'Unprocessable Entity',
      description: expect.stringMatching(/^`interests\.0`: must be 1 to 164 of /),
    },
  ]);
});
