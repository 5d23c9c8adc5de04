import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import PushNotifications from '@pusher/push-notifications-server';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE } from '../../testing/servers/push-server.ts';
import { InstalledApp } from './installed-app.ts';
import { deviceOf, interestsOf, startPush } from './installed-devices.ts';
import { androidSdk } from './mobile-sdks.ts';

/** What only the official SDK for Android does, modelled by its requests and its reactions to answers. */

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const requests = new PushRequests();
const backend = new PushNotifications({ instanceId: INSTANCE.id, secretKey: INSTANCE.secretKey });
let server: Fanfare;

beforeAll(async () => {
  server = await startPush();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const fetchUserToken = (userId: string) => String(backend.generateToken(userId)['token']);

describe('an app on Android', () => {
  it('is the device that an older SDK registered with its token, and changes no other', async () => {
    const [token, nextToken] = androidSdk.newPushTokens();
    await using other = await InstalledApp.install(androidSdk, server, fetchUserToken);
    await other.start(nextToken);
    await using old = await InstalledApp.install(androidSdk, server, fetchUserToken);
    await old.start(token);

    await using app = await InstalledApp.install(androidSdk, server, fetchUserToken);
    const previous = [old.deviceId, other.deviceId, `fcm-${UNKNOWN}`, 'client-of-the-beta'];
    expect(await app.start(token, previous)).toBe('done');

    expect(app.deviceId).toBe(old.deviceId);
    expect(await deviceOf(server, other.deviceId)).toBeDefined();
    expect(await deviceOf(server, app.deviceId)).toBeDefined();
  });

  it('takes over the token of another device', async () => {
    const [token, nextToken] = androidSdk.newPushTokens();
    await using app = await InstalledApp.install(androidSdk, server, fetchUserToken);
    await app.start(token);
    await app.addInterest('news');
    await using before = await InstalledApp.install(androidSdk, server, fetchUserToken);
    await before.start(nextToken);

    expect(await app.refreshToken(nextToken)).toBe('done');
    // Repeated because the answer was lost.
    expect(await app.refreshToken(nextToken)).toBe('done');

    expect(await deviceOf(server, before.deviceId)).toBeUndefined();
    expect(await interestsOf(server, app.deviceId)).toEqual(['news']);
    // Its old token is free.
    await using after = await InstalledApp.install(androidSdk, server, fetchUserToken);
    await after.start(token);
    expect(await deviceOf(server, app.deviceId)).toBeDefined();
  });

  it('registers again with a new token after its device was removed', async () => {
    const [token, nextToken] = androidSdk.newPushTokens();
    await using app = await InstalledApp.install(androidSdk, server, fetchUserToken);
    await app.start(token);
    await app.setUser('carl');
    await app.addInterest('news');
    await requestPush(server, requests.deleteUser('carl'));
    app.takeConversation();

    expect(await app.refreshToken(nextToken)).toBe('done');

    expect(app.takeConversation()).toEqual([
      'set token: 404',
      'register: 200',
      'set interests: 200',
      'set user: 200',
      'set token: 200',
    ]);
    expect(await deviceOf(server, app.deviceId)).toMatchObject({ userId: 'carl' });
  });
});
