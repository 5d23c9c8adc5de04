import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeFcm, startFakeFcm } from '../../../src/fake-gateways/fcm/fake-fcm.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import {
  ask,
  device,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  published,
  registered,
  registeredOf,
  startPush,
  statusOf,
} from '../../protocol/push/exchange.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';

setDefaultTimeout(180_000);

const DEAD_TOKEN = 'd-x:the-token-of-an-app-that-was-removed';

/** The answer of FCM for a dead token. */
const UNREGISTERED = JSON.stringify({
  error: {
    code: 404,
    status: 'NOT_FOUND',
    details: [
      {
        '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
        errorCode: 'UNREGISTERED',
      },
    ],
  },
});

const news = { interests: ['news'], fcm: { notification: { title: 'Hi' } } };

let folder: string;
let fcm: FakeFcm;
let server: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-devices-'));
  fcm = await startFakeFcm();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const settings = {
    serviceAccountFile: file('account.json', fcm.accountFile),
    origin: fcm.origin,
    caFile: file('ca.pem', fcm.ca),
  };
  fcm.script.forToken(DEAD_TOKEN, { act: 'answer', status: 404, body: UNREGISTERED });
  [server, browser] = await Promise.all([
    startPush({
      instance: { name: 'shop', fcm: settings },
      config: { admin: { port: 0, password: PASSWORD } },
    }),
    startChromium(),
  ]);
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
  await fcm[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const inInstance = (path: string, id: string = INSTANCE.id) => `/push/${id}${path}`;
const asAdmin = () => ({ ...server, adminPassword: PASSWORD });

/** Registers a device with the interest `news`. */
async function reader(change: object = {}): Promise<string> {
  const id = await registered(server, 'fcm', change);
  const body = { interests: ['news'] };
  await ask(server, 'PUT', device(`fcm/${id}/interests`), { headers: JSON_HEADERS, body });
  return id;
}

/** Waits until a publish is over. */
async function over(publish: string): Promise<void> {
  await eventually(
    () => statusOf(server, publish),
    ({ state }) => state === 'finished',
  );
}

/** Publishes to a device that gets it and to one whose app was removed. */
async function publishedToTwo() {
  const [alive, dead] = [await reader(), await reader({ token: DEAD_TOKEN })];
  const publish = await published(server, news);
  await over(publish);
  return { alive, dead, publish };
}

it('explains why a device did not get a publish, and leads there from the publish', async () => {
  const { alive, dead, publish } = await publishedToTwo();
  const { page, complaints } = await openDashboard(
    server,
    browser,
    inInstance(`/publishes/${publish}`),
  );
  // The reason leads to its devices, and a device to its timeline.
  const reason = page.getByRole('row').filter({ hasText: 'UNREGISTERED' });
  await reason.getByRole('link', { name: '1' }).click();
  await page.getByText('1 device: ').waitFor();
  expect(await lookFaults(page)).toEqual([]);
  await page.getByRole('link', { name: dead }).click();
  await page.getByText('The server removed it').waitFor();
  const timeline = page.getByRole('list', { name: 'What happened' });
  await timeline.getByText('token dead').waitFor();
  expect(await timeline.getByRole('listitem').allTextContents()).toMatchObject([
    expect.stringContaining('registered'),
    expect.stringContaining('published'),
    expect.stringContaining('Its token is no longer valid'),
  ]);
  await page.getByRole('heading', { name: 'Last publishes for it' }).waitFor();
  // The other one is found by its id, with the publish that was accepted.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find anything' }).waitFor();
  await page.keyboard.type(alive.slice(0, 14));
  await page.getByRole('option', { name: new RegExp(alive), selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('FCM accepts its token').waitFor();
  await page.getByRole('link', { name: 'news' }).waitFor();
  const row = page.getByRole('row').filter({ hasText: 'accepted' }).first();
  await row.getByRole('link').click();
  await timeline.getByText('FCM accepted it.').waitFor();
  expect(page.url()).toContain(`publish=${publish}`);
  expect(await lookFaults(page)).toEqual([]);
  const text = await page.content();
  const { json } = await admin(asAdmin(), 'GET', `/instances/${INSTANCE.id}/devices/${alive}`);
  const { begins } = (json as { registered: { token: { begins: string } } }).registered.token;
  expect(text).toContain(`${begins}…`);
  expect(text).not.toContain(DEAD_TOKEN.slice(8));
  expect(complaints).toEqual([]);
  await page.close();
});

it('finds devices by user, interest and platform, and keeps the filter in the address', async () => {
  const sue = await registeredOf(server, 'sue');
  const { page, complaints } = await openDashboard(server, browser, inInstance('/devices'));
  await page.getByRole('row').nth(1).waitFor();
  const search = page.getByRole('searchbox', { name: 'A user, interest:news' });
  await search.fill('sue');
  await page.getByText('1 device of user sue.').waitFor();
  expect(new URL(page.url()).search).toBe('?user=sue');
  await page.getByRole('link', { name: sue }).waitFor();
  expect(await lookFaults(page)).toEqual([]);
  await search.fill('interest:nobody-has-this');
  await page.getByText('No device fits').waitFor();
  expect(new URL(page.url()).search).toBe('?interest=nobody-has-this');
  await page.getByRole('button', { name: 'Remove the filter' }).click();
  await page.getByRole('combobox', { name: 'Platform' }).selectOption('browsers');
  await page.getByText('0 devices on browsers').waitFor();
  await page.goto(page.url().replace(/\/push\/.*/, inInstance('/devices', NEIGHBOUR.id)));
  await page.getByText('No device is registered').waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});

it('removes a device after its name was typed, and explains what an unknown id may be', async () => {
  const id = await registered(server);
  const { page } = await openDashboard(server, browser, inInstance(`/devices/${id}`));
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('textbox', { name: 'Type' }).fill(id.slice(0, 12));
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('it never registered here').waitFor();
  expect(await lookFaults(page)).toEqual([]);
  const { status } = await admin(asAdmin(), 'GET', `/instances/${INSTANCE.id}/devices/${id}`);
  expect(status).toBe(404);
  await page.close();
});

it('shows one user in both products', async () => {
  const app = await newApp(asAdmin());
  const id = await registeredOf(server, 'ann');
  const publish = await published(server, { users: ['ann'], fcm: news.fcm });
  await over(publish);
  await using client = await app.connect();
  client.send(app.signIn(client, { id: 'ann' }));
  expect((await client.receive()).event).toBe('pusher:signin_success');
  await client.subscribe('lobby');
  const path = `/apps/${app.id}/connections`;
  const { page, complaints } = await openDashboard(server, browser, path);
  await page.getByRole('link', { name: 'ann', exact: true }).click();
  await page.getByText('1 connection now, 1 device.').waitFor();
  expect(new URL(page.url()).pathname).toBe('/dashboard/users/ann');
  await page.getByRole('link', { name: client.socketId }).waitFor();
  await page.getByRole('link', { name: 'lobby' }).waitFor();
  const online = page.getByRole('region', { name: 'Online' });
  expect(await online.textContent()).toMatch(/Since(?:\d+ \w+ )?\d\d:\d\d$/);
  await page.getByRole('link', { name: id }).waitFor();
  await page.getByText('FCM accepted it.').waitFor();
  expect(await lookFaults(page)).toEqual([]);
  await page
    .getByRole('main')
    .getByRole('combobox', { name: 'Push instance' })
    .selectOption('No push instance');
  await page.getByText('1 connection now.').waitFor();
  // Who has not signed in is found from the members of a presence channel.
  await using guest = await app.connect();
  const member = JSON.stringify({ user_id: 'bea' });
  await guest.subscribe('presence-room', app.auth(guest, 'presence-room', member));
  await page.goto(page.url().replace(/\/users\/.*/, `/apps/${app.id}/channels/presence-room`));
  await page.getByRole('link', { name: 'bea' }).click();
  await page.getByText('1 connection now, 0 devices.').waitFor();
  await page.getByRole('link', { name: guest.socketId }).waitFor();
  await page.goto(page.url().replace('/users/bea', '/users/nobody'));
  await page.getByText('No connection of this user').waitFor();
  await page.getByRole('region', { name: 'Offline' }).getByText('not known').waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});
