import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { connect } from '../../../testing/clients/official-client.ts';
import { startAppBackend } from '../../../testing/servers/app-backend.ts';
import { APP, type Fanfare } from '../../../testing/servers/fanfare.ts';
import { INSTANCE, startPush } from '../../protocol/push/exchange.ts';
import {
  publishesLive,
  registers,
  userConnects,
} from '../../protocol/push/publishes/live-users.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';

setDefaultTimeout(180_000);

/** Publishes that reach users in the app, as operators write and read them. */

const parts = new AsyncDisposableStack();
let server: Fanfare;
let browser: Chromium;

beforeAll(async () => {
  server = parts.use(
    await startPush({
      instance: { app: APP.id },
      config: { admin: { port: 0, password: PASSWORD } },
    }),
  );
  browser = parts.use(await startChromium());
  const backend = parts.use(startAppBackend(server));
  const ann = parts.use(connect(server, { backend, user: 'ann' }));
  await ann.signedIn();
  // Answers no ping.
  parts.use(await userConnects(server, 'bob'));
  for (const user of ['ann', 'bob', LONG_USER]) await registers(server, user);
});
afterAll(() => parts.disposeAsync());

const LONG_USER = `${'user-of-a-long-name-'.repeat(8)}`.slice(0, 150);
const of = `/push/${INSTANCE.id}`;

it('asks who is there while a publish is written, and shows who got it, user by user', async () => {
  const { page, complaints } = await openDashboard(server, browser, `${of}/compose`);
  await page.getByRole('combobox', { name: 'To' }).selectOption('users');
  await page.getByRole('textbox', { name: 'Names' }).fill(`ann, bob, ${LONG_USER}`);
  const field = (name: string) => page.getByRole('textbox', { name, exact: true });
  await field('Event in the app').fill('new-message');
  await field('Data of the event').fill('{"room":7}');
  await page.getByText('1 of 3 users would get it instead: 1 silent, 1 absent.').waitFor();
  await page.getByRole('combobox', { name: 'Who is notified' }).selectOption('always');
  await page.getByText('1 of 3 users would get it as well').waitFor();
  await page.getByRole('combobox', { name: 'Who is notified' }).selectOption('');
  const seconds = field('Seconds to answer');
  await seconds.fill('0');
  await page.getByText('live.waitSeconds').waitFor();
  await seconds.fill('1');
  for (const platform of ['iPhone', 'Browser']) {
    await page.getByRole('checkbox', { name: platform }).uncheck();
  }

  // Form and JSON are the same publish, also where the data is no text.
  await page.getByRole('tab', { name: 'JSON' }).click();
  const json = page.getByRole('textbox', { name: 'Body' });
  const body = JSON.parse(await json.inputValue());
  expect(body.live).toEqual({ event: 'new-message', data: '{"room":7}', waitSeconds: 1 });
  const live = { ...body.live, data: { room: 8 } };
  await json.fill(JSON.stringify({ ...body, live }));
  await page.getByRole('tab', { name: 'Form' }).click();
  expect(await field('Data of the event').inputValue()).toBe('{"room":8}');
  await page.getByText('1 of 3 users would get it instead').waitFor();
  expect(await lookFaults(page)).toEqual([]);

  await page.getByRole('button', { name: 'Send to 3 devices' }).click();
  const inTheApp = page.getByRole('region', { name: 'In the app' });
  await inTheApp.getByText('1 of 3 users got it, 1 did not answer, 1 had no connection.').waitFor();
  const row = (text: RegExp) => inTheApp.getByRole('row', { name: text });
  await row(/^ann reached on 1 connection after \d+ ms none$/).waitFor();
  await row(/^bob silent on 1 connection /).waitFor();
  await row(/^user-of-a-long-name-.* absent /).waitFor();
  expect(await lookFaults(page)).toEqual([]);
  await inTheApp.getByRole('button', { name: 'silent' }).click();
  await row(/^ann/).waitFor({ state: 'detached' });
  await row(/^bob/).waitFor();
  await inTheApp.getByRole('button', { name: 'reached' }).click();
  await row(/^ann/).waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});

it('shows all users of a large publish, a page at a time', async () => {
  const users = Array.from({ length: 130 }, (_, number) => `user-${number}`);
  const id = await publishesLive(server, users);
  const { page, complaints } = await openDashboard(server, browser, `${of}/publishes/${id}`);
  const inTheApp = page.getByRole('region', { name: 'In the app' });
  await inTheApp.getByText('0 of 130 users got it, 0 did not answer, 130 had no').waitFor();
  const rows = inTheApp.getByRole('row', { name: /^user-/ });
  await rows.first().waitFor();
  while ((await rows.count()) < users.length) {
    const before = await rows.count();
    await inTheApp.getByRole('button', { name: /more/i }).click();
    await rows.nth(before).waitFor();
  }
  expect(await rows.count()).toBe(users.length);
  expect(complaints).toEqual([]);
  await page.close();
});

it('explains why nobody was asked', async () => {
  const disabled = { id: APP.id, enabled: false, keys: [{ key: APP.key, secret: APP.secret }] };
  await using own = await startPush({
    instance: { app: APP.id },
    config: {
      channels: { host: '127.0.0.1', port: 0, apps: [disabled] },
      admin: { port: 0, password: PASSWORD },
    },
  });
  const id = await publishesLive(own, ['ann']);
  const { page } = await openDashboard(own, browser, `${of}/publishes/${id}`);
  await page.getByText(/Nobody was asked: .*disabled.*Everybody is notified/).waitFor();
  await page.close();
});
