import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReceivedNotification } from '../../../src/fake-gateways/received.ts';
import { type FakeGateways, startFakeGateways } from '../../../src/fake-gateways/start.ts';
import { type Autopush, startAutopush } from '../../../testing/browsers/autopush.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type Chromium, startWholeChromium } from '../chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';
import { allowPush, clickNotification, deliverPush } from '../push-in-chromium.ts';

setDefaultTimeout(180_000);

/** Push in the dashboard: what is written there, sent from there, and shown by its own browser. */

const parts = new AsyncDisposableStack();
const received: ReceivedNotification[] = [];
let server: Fanfare;
let autopush: Autopush;
let gateways: FakeGateways;
let browser: Chromium;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-compose-'));
  parts.defer(() => rmSync(directory, { recursive: true, force: true }));
  [gateways, server, autopush] = await Promise.all([
    startFakeGateways({
      host: '127.0.0.1',
      ports: { control: 0, apns: 0, fcm: 0, web: 0 },
      directory,
      onReceived: (one) => received.push(one),
    }),
    startFanfare({
      config: {
        admin: { port: 0, password: PASSWORD },
        push: { host: '127.0.0.1', port: 0 },
      },
    }),
    startAutopush(),
  ]);
  parts.use(gateways);
  parts.use(server);
  parts.use(autopush);
  browser = parts.use(
    await startWholeChromium(async (context) => void (await allowPush(context, autopush))),
  );
});
afterAll(async () => {
  await parts.disposeAsync();
});

const ask = async (method: string, path: string, body?: object) => {
  const { status, text, json } = await admin({ ...server, adminPassword: PASSWORD }, method, path, {
    body,
  });
  if (status >= 300) throw new Error(`${status} ${text}`);
  return json as Record<string, unknown>;
};

/** An instance whose browsers may use the push service of this test. */
async function newInstance(name: string, settings: object = {}): Promise<string> {
  const web = { allowedHosts: ['127.0.0.1', 'localhost'], allowPrivateAddresses: true };
  return String((await ask('POST', '/instances', { name, web, ...settings }))['id']);
}

async function addDevices(id: string, interest: string, many: number): Promise<void> {
  const devices = `http://127.0.0.1:${server.pushPort}/device_api/v1/instances/${id}/devices/fcm`;
  const post = (url: string, body: object) =>
    fetch(url, { method: 'POST', body: JSON.stringify(body) });
  await Promise.all(
    Array.from({ length: many }, async () => {
      const made = await post(devices, { token: randomUUID() });
      const device = (await made.json()) as { id: string };
      await post(`${devices}/${device.id}/interests/${interest}`, {});
    }),
  );
}

it('shows what a publish would do while it is written, and sends it', async () => {
  const id = await newInstance('shop');
  await addDevices(id, 'donuts', 2);
  const { page, complaints } = await openDashboard(server, browser, `/push/${id}/compose`);
  await page.getByRole('textbox', { name: 'Names' }).fill('donuts');
  await page.getByText('2 devices would get it now: 0 apns · 2 fcm · 0 web.').waitFor();
  await page.getByRole('textbox', { name: 'Title' }).fill('Fresh donuts');
  const looks = page.getByRole('region', { name: 'What they see' });
  expect(await looks.getByText('Fresh donuts').count()).toBe(3);
  await page.getByRole('checkbox', { name: 'iPhone' }).uncheck();
  expect(await looks.getByText('Fresh donuts').count()).toBe(2);

  // Form and JSON are the same publish.
  await page.getByRole('tab', { name: 'JSON' }).click();
  const json = page.getByRole('textbox', { name: 'Body' });
  const body = JSON.parse(await json.inputValue());
  expect(body).toEqual({
    interests: ['donuts'],
    fcm: { notification: { title: 'Fresh donuts', body: 'It works' } },
    web: { notification: { title: 'Fresh donuts', body: 'It works' } },
  });
  await json.fill(JSON.stringify({ ...body, web: { time_to_live: -1 } }));
  await page.getByText('web.time_to_live').waitFor();
  expect(await page.getByRole('button', { name: /^Send/ }).first().isDisabled()).toBe(true);
  await json.fill(JSON.stringify({ ...body, fcm: { ...body.fcm, priority: 'high' } }));
  await page.getByRole('tab', { name: 'Form' }).click();
  await page.getByText(/^Request of fcm/).click();
  const request = page.getByRole('region', { name: 'Exact request for fcm' });
  // It shows the request before until the server has described this one.
  await request.filter({ hasText: '"priority": "HIGH"' }).waitFor();

  await page.getByRole('button', { name: 'Send to 2 devices' }).click();
  await page.getByRole('heading', { level: 1, name: /donuts|pubid-/ }).waitFor();
  expect(page.url()).toMatch(/\/publishes\/pubid-/);
  expect(complaints).toEqual([]);
  await page.close();
});

it('writes what only browsers have', async () => {
  const id = await newInstance('browsers');
  const { page, complaints } = await openDashboard(server, browser, `/push/${id}/compose`);
  const own = page.getByRole('group', { name: 'In browsers' });
  await own.getByRole('combobox', { name: 'Urgency' }).selectOption('high');
  await own.getByRole('textbox', { name: 'Number on the icon' }).fill('3');
  const topic = own.getByRole('textbox', { name: 'Topic' });
  await topic.fill('spike');
  await page.getByText('web.topic').waitFor();
  await topic.fill('chat-7');
  await page.getByText('web.topic').waitFor({ state: 'detached' });
  await page.getByText(/^Request of web/).click();
  const request = page.getByRole('region', { name: 'Exact request for web' });
  await request.getByText('topic: chat-7').waitFor();
  expect(await request.textContent()).toContain('urgency: high');

  const json = page.getByRole('textbox', { name: 'Body' });
  await page.getByRole('tab', { name: 'JSON' }).click();
  expect(JSON.parse(await json.inputValue()).web).toEqual({
    notification: { title: 'Hello', body: 'It works' },
    urgency: 'high',
    app_badge: 3,
    topic: 'chat-7',
  });
  await page.getByRole('tab', { name: 'Form' }).click();
  expect(await topic.inputValue()).toBe('chat-7');
  await page.getByRole('checkbox', { name: 'Browser' }).uncheck();
  await own.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
  await page.close();
});

it('sends the updates of live activities to broadcast channels, which get nothing else', async () => {
  const { id, secretKeys } = (await ask('POST', '/instances', {
    name: 'matches',
    apns: gateways.settings.apns,
  })) as { id: string; secretKeys: [string] };
  const api = `http://127.0.0.1:${server.pushPort}/publish_api/v1/instances/${id}`;
  const created = await fetch(`${api}/apns-channels`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretKeys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      bundleId: 'com.example.app',
      storage: 'latest',
      interests: ['match-7'],
    }),
  });
  expect(created.status).toBe(200);
  const channel = (await created.json()) as { id: string; channel: string };
  const path = `/push/${id}/compose?interests=match-7`;
  const { page, complaints } = await openDashboard(server, browser, path);
  for (const name of ['Android', 'Browser']) await page.getByRole('checkbox', { name }).uncheck();
  await page.getByText('No device would get it').waitFor();
  const apple = page.getByRole('group', { name: 'On Apple devices' });
  await apple.getByRole('combobox', { name: 'Push type' }).selectOption('liveactivity');
  await apple.getByRole('textbox', { name: 'State' }).fill('{"goals": 1}');
  await page.getByText(/^1 device would get it now: 1 apns/).waitFor();
  await apple.getByRole('combobox', { name: 'Event' }).selectOption('start');
  await apple.getByRole('textbox', { name: 'Type of its attributes' }).fill('Match');
  await page.getByText('No device would get it').waitFor();
  await apple.getByRole('combobox', { name: 'Event' }).selectOption('end');
  await page.getByRole('button', { name: 'Send to 1 device' }).click();
  await page.waitForURL(/\/publishes\/pubid-/);
  await page.getByText('Accepted').first().waitFor();
  const arrived = await eventually(
    () => received.filter(({ to }) => to === channel.channel),
    (some) => some.length > 0,
  );
  expect(arrived).toMatchObject([
    {
      status: 200,
      headers: { 'apns-channel-id': channel.channel, 'apns-push-type': 'liveactivity' },
      message: { aps: { event: 'end', 'content-state': { goals: 1 } } },
    },
  ]);

  // The dashboard shows it among the devices.
  await page.goto(page.url().replace(/\/publishes\/.*/, `/devices/${channel.id}`));
  await page.getByText('channel-latest').first().waitFor();
  expect(await lookFaults(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});

it('is accessible and fits, whatever is written', async () => {
  const id = await newInstance('A shop with a name that is longer than its place');
  const names = encodeURIComponent(`not valid!,${'long-'.repeat(30)}`);
  const path = `/push/${id}/compose?interests=${names}`;
  const { page, complaints } = await openDashboard(server, browser, path);
  await page.getByRole('textbox', { name: 'Text' }).fill('Wordswithoutspaces'.repeat(20));
  await page.getByText('The server would refuse it.').waitFor();
  await page.getByText(/^Request of web/).click();
  await page.getByRole('region', { name: 'Exact request for web' }).waitFor();
  expect(await lookFaults(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});

it('asks for the number before it sends to many devices', async () => {
  const id = await newInstance('many');
  await addDevices(id, 'all', 100);
  const { page } = await openDashboard(server, browser, `/push/${id}/compose?interests=all`);
  await page.getByRole('button', { name: 'Send to 100 devices' }).click();
  const dialog = page.getByRole('dialog');
  const send = dialog.getByRole('button', { name: 'Send to 100 devices' });
  expect(await send.isDisabled()).toBe(true);
  await dialog.getByRole('textbox').fill('100');
  await send.click();
  await page.waitForURL(/\/publishes\/pubid-/);
  await page.close();
});

it('makes this browser a device, which shows what is sent to it', async () => {
  const id = await newInstance('here');
  const { page, complaints } = await openDashboard(server, browser, `/push/${id}/compose`);
  await page.getByRole('button', { name: 'Make this browser a device' }).click();
  await page.getByRole('button', { name: 'Send to this browser' }).click();
  await page.getByText('Waiting for the browser to show it').waitFor();
  const link = page.getByRole('link', { name: 'See the publish' });
  const publishId = (await link.getAttribute('href'))?.split('/').at(-1) ?? '';
  // The message has left the server, for the subscription of this browser.
  const { status } = await autopush.pushed.next();
  expect(status).toBe(201);
  const pusher = { instanceId: id, publishId, hasDisplayableContent: true, hasData: false };
  await deliverPush(
    page,
    { notification: { title: 'Hello', body: 'It works' }, data: { pusher } },
    '/dashboard/',
  );
  await page.getByText(/^Shown after [\d,]+ ms/).waitFor();
  const reported = (what: string) =>
    eventually(
      () => ask('GET', `/instances/${id}/publishes/${publishId}`),
      (publish) => publish[what] === 1,
    );
  await reported('delivered');
  await clickNotification(page);
  await reported('opened');

  // It is still the device after the page was left.
  await page.reload();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('button', { name: 'Make this browser a device' }).waitFor();
  expect(await ask('GET', `/instances/${id}/devices`)).toMatchObject({ devices: [] });
  expect(complaints).toEqual([]);
  await page.close();
});

it('keeps a credential once its gateway has accepted it, and never shows it', async () => {
  const { serviceAccountFile, ...fcm } = gateways.settings.fcm;
  const { privateKeyFile, ...apns } = gateways.settings.apns;
  const account = readFileSync(String(serviceAccountFile), 'utf8');
  const key = readFileSync(String(privateKeyFile), 'utf8');
  const wrong = JSON.stringify({ ...JSON.parse(account), client_email: 'nobody@example.org' });
  const id = await newInstance('keys', {
    apns: { ...apns, privateKeyFile, keyId: 'OTHERKEY01' },
    fcm: { ...fcm, serviceAccountFile },
  });
  const { page, complaints } = await openDashboard(server, browser, `/push/${id}/credentials`);
  await page.getByText('Google: nothing sent since the start').waitFor();
  const google = page.getByRole('region', { name: 'Google' });
  await google.getByRole('button', { name: 'Check' }).click();
  await google.getByText('Google takes the credential').waitFor();

  // One that the gateway refuses is not kept.
  await google.getByRole('button', { name: 'Replace' }).click();
  const drop = async (region: typeof google, label: string, name: string, text: string) => {
    const buffer = Buffer.from(text);
    await region.getByLabel(label).setInputFiles({ name, mimeType: 'text/plain', buffer });
    await region.getByRole('button', { name: 'Check and keep' }).click();
  };
  await drop(google, 'Service account', 'account.json', wrong);
  await google.getByText('Google refuses the credential').waitFor();
  expect(await lookFaults(page)).toEqual([]);
  expect((await ask('GET', `/instances/${id}`))['fcm']).toMatchObject({ serviceAccountFile });
  await drop(google, 'Service account', 'account.json', account);
  await page.getByText('Kept. It is used from now on.').waitFor();
  expect((await ask('GET', `/instances/${id}`))['fcm']).toEqual({ metadata: false, ...fcm });

  // The key id is in the name of Apple's file.
  const apple = page.getByRole('region', { name: 'Apple' });
  await apple.getByRole('button', { name: 'Check' }).click();
  await apple.getByText('Apple refuses the credential').waitFor();
  await apple.getByRole('button', { name: 'Replace' }).click();
  await drop(apple, 'Key file', `AuthKey_${apns['keyId']}.p8`, key);
  await apple.getByText('the store').waitFor();
  await apple.getByRole('button', { name: 'Check' }).click();
  await apple.getByText('Apple takes the credential').waitFor();
  expect(await page.content()).not.toContain('PRIVATE KEY');
  expect(complaints).toEqual([]);
  await page.close();
});
