import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeGateways, startFakeGateways } from '../../src/fake-gateways/start.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  type Instance,
  newInstance,
  published,
  registered,
  statusOf,
} from '../protocol/push/exchange.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from './dashboard-page.ts';

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let server: Fanfare;
let gateways: FakeGateways;
let browser: Chromium;
beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-dashboard-push-'));
  parts.defer(() => rmSync(directory, { recursive: true, force: true }));
  [gateways, server, browser] = await Promise.all([
    startFakeGateways({
      host: '127.0.0.1',
      ports: { control: 0, apns: 0, fcm: 0, web: 0 },
      directory,
      onReceived: () => undefined,
    }),
    startFanfare({
      config: { admin: { port: 0, password: PASSWORD }, push: { host: '127.0.0.1', port: 0 } },
    }),
    startChromium(),
  ]);
  parts.use(gateways);
  parts.use(server);
  parts.use(browser);
});
afterAll(() => parts.disposeAsync());

/** An instance that reaches the fake of FCM. */
function makeInstance(name: string): Promise<Instance> {
  const { settings } = gateways;
  return newInstance({ ...server, adminPassword: PASSWORD }, { name, fcm: settings.fcm });
}

/** Registers a device that is subscribed to `hello`. */
async function subscribed(instance: Instance, token: string): Promise<void> {
  const id = await registered(instance, 'fcm', { token });
  const path = device(`fcm/${id}/interests/hello`, instance.id);
  expect((await ask(instance, 'POST', path)).status).toBe(200);
}

/** Publishes to `hello` at once, and waits for the end. */
async function delivered(instance: Instance): Promise<string> {
  const body = { interests: ['hello'], fcm: { notification: { title: 'Hi' } } };
  const id = await published(instance, body);
  await eventually(
    () => statusOf(instance, id),
    ({ state }) => state === 'finished',
  );
  return id;
}

/** Lets FCM refuse what it is sent. */
async function refuse(how: object): Promise<void> {
  const body = JSON.stringify({ gateway: 'fcm', ...how });
  const answer = await fetch(`${gateways.controlUrl}/script`, { method: 'POST', body });
  expect(answer.status).toBe(204);
}

/** An hour from now. */
const later = () => new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');

describe('the publishes of an instance', () => {
  it('are listed, and each shows its result and why devices did not get it', async () => {
    const instance = await makeInstance('shop');
    await Promise.all(['a', 'b', 'c'].map((token) => subscribed(instance, token)));
    await refuse({ to: 'c', status: 404, error: 'UNREGISTERED' });
    const id = await delivered(instance);
    const path = `/push/${instance.id}/publishes`;
    const { page, complaints } = await openDashboard(server, browser, path);
    await page.getByText('2 devices reached, 1 not').waitFor();
    expect(await lookFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 844 });
    await page.getByRole('link', { name: 'hello' }).click();
    await page.getByText('gateways accepted 2 of 3 devices').waitFor();
    expect(page.url()).toEndWith(`${path}/${id}`);
    const why = page.getByRole('region', { name: 'Why not' });
    expect(await why.textContent()).toContain('UNREGISTERED');
    await page.getByRole('button', { name: 'Table' }).click();
    expect(
      await page
        .getByRole('row', { name: /Android/ })
        .first()
        .textContent(),
    ).toContain('32');
    expect(await lookFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('can be cancelled before they are sent, after a confirmation', async () => {
    const instance = await makeInstance('to cancel');
    const id = await published(instance, {
      interests: ['hello'],
      sendAt: later(),
      fcm: { notification: { title: 'Later' } },
    });
    const path = `/push/${instance.id}/publishes`;
    const { page, complaints } = await openDashboard(server, browser, `${path}?state=scheduled`);
    // The payload is there until the publish is over.
    await page.getByRole('link', { name: 'hello' }).click();
    await page.getByText('Later').waitFor();
    await page.getByRole('button', { name: 'Cancel publish' }).click();
    // The dialog has the focus in its field.
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('cancel');
    await page.keyboard.press('Enter');
    await page.getByText(/Cancelled \d/).waitFor();
    expect(await statusOf(instance, id)).toMatchObject({ state: 'cancelled' });
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('are found by their id, whatever instance is shown, and are followed', async () => {
    const instance = await makeInstance('found');
    const id = await published(instance, { interests: ['hello'], sendAt: later(), fcm: {} });
    const { page } = await openDashboard(server, browser);
    await page.getByRole('combobox', { name: 'Push instance' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Publishes' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).fill(id);
    await page.getByRole('option', { name: id, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Goes out').waitFor();
    expect(page.url()).toEndWith(`/push/${instance.id}/publishes/${id}`);
    const path = `/instances/${instance.id}/publishes/${id}/cancel`;
    await admin({ ...server, adminPassword: PASSWORD }, 'POST', path);
    await page.getByText(/Cancelled \d/).waitFor();
    await page.close();
  });
});

it('explains why devices wait for a gateway, and leads from Home to its credential', async () => {
  const instance = await makeInstance('refused');
  await subscribed(instance, 'x');
  await refuse({ to: 'x', status: 401, error: 'UNAUTHENTICATED' });
  const id = await published(instance, { interests: ['hello'], fcm: { data: { a: 'b' } } });
  const path = `/push/${instance.id}/publishes/${id}`;
  const { page, complaints } = await openDashboard(server, browser, path);
  const pause = page.getByText('has paused Firebase');
  await pause.waitFor();
  expect(await pause.textContent()).toContain('1 device waits for it');
  await page.getByRole('link', { name: 'Home' }).click();
  await page.getByText(`refuses the credential of instance ${instance.id}`).waitFor();
  await page.getByRole('link', { name: 'Check the credential' }).click();
  await page.getByRole('heading', { name: 'Credentials' }).waitFor();
  expect(page.url()).toEndWith(`/push/${instance.id}/credentials`);
  expect(complaints).toEqual([]);
  await page.close();
});

it('keeps the link to the page and the buttons below it in view in a low window', async () => {
  const { id } = await makeInstance('low');
  const { page } = await openDashboard(server, browser, `/push/${id}/credentials`);
  await page.setViewportSize({ width: 1280, height: 500 });
  const end = async (name: string, role: 'link' | 'button') => {
    const { y, height } = (await page.getByRole(role, { name }).boundingBox()) ?? {
      y: 0,
      height: 0,
    };
    return y + height;
  };
  await page.getByRole('combobox', { name: 'App' }).waitFor();
  await page.reload();
  const link = await eventually(
    () => end('Credentials', 'link'),
    (y) => y > 0 && y < 500,
  );
  expect(await end('Keys', 'button')).toBeWithin(link, 500);
  await page.close();
});

it('reports what does not exist', async () => {
  const { id } = await makeInstance('empty');
  const { page } = await openDashboard(server, browser, `/push/${id}/publishes`);
  await page.getByText('Nothing was published yet').waitFor();
  await page.getByRole('button', { name: 'cancelled' }).click();
  await page.getByText('All publishes of the last 30 days were searched').waitFor();
  expect(page.url()).toEndWith('?state=cancelled');
  expect(await lookFaults(page)).toEqual([]);
  const nowhere = `http://127.0.0.1:${server.adminPort}/dashboard/push`;
  const gone = 'pubid-00000000-0000-4000-8000-000000000000';
  await page.goto(`${nowhere}/${id}/publishes/${gone}`);
  await page.getByText(`There is no publish ${gone}`).waitFor();
  await page.goto(`${nowhere}/00000000-0000-4000-8000-000000000000/publishes`);
  await page.getByText('There is no instance').waitFor();
  expect(await page.getByText('Asking').count()).toBe(0);
  await page.close();
});
