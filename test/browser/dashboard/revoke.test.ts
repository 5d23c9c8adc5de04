import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';

setDefaultTimeout(180_000);

let server: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  [server, browser] = await Promise.all([
    startFanfare({ config: { admin: { port: 0, password: PASSWORD } } }),
    startChromium(),
  ]);
});
afterAll(() => Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]));

const asAdmin = () => ({ ...server, adminPassword: PASSWORD });

it('revokes the grants of a user after the id was typed', async () => {
  const app = await newApp(asAdmin(), { grants: {} });
  await using client = await app.connect();
  const grants = { channels: { 'private-team': ['subscribe'] } };
  client.send(app.signIn(client, { id: 'ann', grants }));
  client.send({ event: 'pusher:subscribe', data: { channel: 'private-team', auth: '' } });
  expect((await client.receive()).event).toBe('pusher:signin_success');
  expect((await client.receive()).event).toBe('pusher_internal:subscription_succeeded');
  const { page, complaints } = await openDashboard(server, browser, `/users/ann?app=${app.id}`);
  await page.getByRole('link', { name: client.socketId }).waitFor();
  await page.getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Revoke' }).isEnabled()).toBe(false);
  await page.getByRole('textbox', { name: 'Type' }).fill('ann');
  expect(await lookFaults(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Revoked. Connections').waitFor();
  expect(await client.closed).toEqual({ code: 4200, reason: 'Grant revoked, please reconnect' });
  const { json } = await admin(asAdmin(), 'GET', `/apps/${app.id}/revocations`);
  expect(json).toMatchObject({ revocations: [{ userId: 'ann' }] });
  expect(complaints).toEqual([]);
  await page.close();
});

it('offers nothing to revoke in an app that takes no grants', async () => {
  const app = await newApp(asAdmin());
  const { page } = await openDashboard(server, browser, `/users/ann?app=${app.id}`);
  await page.getByText('No connection of this user').waitFor();
  expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
  await page.close();
});
