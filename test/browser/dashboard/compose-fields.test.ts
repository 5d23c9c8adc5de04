import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  device,
  type Instance,
  newInstance,
  ask as requestPush,
} from '../../protocol/push/exchange.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { type DashboardTab, lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';

setDefaultTimeout(180_000);

/** What is written in the form that a publish does not need: texts by language, local times, urgency, push types. */

const HOUR_MS = 3_600_000;

const parts = new AsyncDisposableStack();
let server: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  [server, browser] = await Promise.all([
    startFanfare({
      config: { admin: { port: 0, password: PASSWORD }, push: { host: '127.0.0.1', port: 0 } },
    }),
    startChromium(),
  ]);
  parts.use(server);
  parts.use(browser);
});
afterAll(() => parts.disposeAsync());

const asAdmin = () => ({ ...server, adminPassword: PASSWORD });

/** Registers a device of `news`, which says something of itself. */
async function addDevice(
  instance: Instance,
  platform: 'apns' | 'fcm',
  { preferences = {}, ...fields }: { readonly preferences?: object; readonly kind?: string },
): Promise<string> {
  const token = crypto.randomUUID().replaceAll('-', '').repeat(2);
  const bundleIdentifier = platform === 'apns' ? { bundleIdentifier: 'com.example.app' } : {};
  const body = { token, ...bundleIdentifier, interests: ['news'], ...fields };
  const { json } = await requestPush(instance, 'POST', device(platform, instance.id), { body });
  const { id } = json as { id: string };
  const path = device(`${platform}/${id}/preferences`, instance.id);
  const said = await requestPush(instance, 'PUT', path, { body: preferences });
  expect(said.status).toBe(200);
  return id;
}

const compose = ({ id }: Instance) =>
  openDashboard(server, browser, `/push/${id}/compose?interests=news`);

/** The publish as it is written now. */
async function bodyIn({ page }: DashboardTab): Promise<Record<string, unknown>> {
  await page.getByRole('tab', { name: 'JSON' }).click();
  const text = await page.getByRole('textbox', { name: 'Body' }).inputValue();
  await page.getByRole('tab', { name: 'Form' }).click();
  return JSON.parse(text);
}

it('writes texts in other languages, shows their requests, and says who gets which', async () => {
  const instance = await newInstance(asAdmin());
  await addDevice(instance, 'fcm', { preferences: { language: 'de-AT' } });
  await addDevice(instance, 'fcm', { preferences: { language: 'fr' } });
  const tab = await compose(instance);
  const { page, complaints } = tab;
  const languages = page.getByRole('group', { name: 'In other languages' });
  const add = async (language: string) => {
    await languages.getByRole('textbox', { name: 'Another language' }).fill(language);
    await languages.getByRole('button', { name: 'Add the language' }).click();
  };
  await add('de');
  await page.getByText('must have a title or a body').waitFor();
  await languages.getByRole('textbox', { name: 'Title in de' }).fill('Hallo');
  await page.getByText('Of them 1 in de.').waitFor();
  await add('pt-BR');
  await languages.getByRole('textbox', { name: 'Text in pt-BR' }).fill('Oi');
  expect((await bodyIn(tab))['texts']).toEqual({ de: { title: 'Hallo' }, 'pt-BR': { body: 'Oi' } });
  await page.getByText(/^Request of fcm, de/).click();
  const request = page.getByRole('region', { name: 'Exact request for fcm, de' });
  await request.getByText('"Hallo"').waitFor();
  expect(await lookFaults(page)).toEqual([]);

  await languages.getByRole('tab', { name: 'de', exact: true }).click();
  await languages.getByRole('button', { name: 'Remove de' }).click();
  await page.getByText(/^Request of fcm, de/).waitFor({ state: 'detached' });
  expect((await bodyIn(tab))['texts']).toEqual({ 'pt-BR': { body: 'Oi' } });
  await languages.getByRole('button', { name: 'Remove pt-BR' }).click();
  expect(await bodyIn(tab)).not.toHaveProperty('texts');
  await add('not a language');
  await page.getByText('must have language tags as its keys').waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});

it('says who gets it later or not at all, which urgent changes, and schedules by local time', async () => {
  const instance = await newInstance(asAdmin(), { cap: { notifications: 1, hours: 24 } });
  const { id } = instance;
  const timeOf = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);
  const quietHours = { from: timeOf(-HOUR_MS), to: timeOf(2 * HOUR_MS) };
  await addDevice(instance, 'fcm', { preferences: { timeZone: 'UTC', quietHours } });
  const capped = await addDevice(instance, 'fcm', {});
  const first = await compose(instance);
  const says = first.page.getByRole('main').locator('h1 + p');
  await says
    .filter({ hasText: '2 devices would get it, 1 of them later (1 after their' })
    .waitFor();
  await first.page.getByRole('button', { name: 'Send to 2 devices' }).click();
  await first.page.waitForURL(/\/publishes\/pubid-/);
  await first.page.close();
  await eventually(
    async () => (await admin(asAdmin(), 'GET', `/instances/${id}/devices/${capped}`)).text,
    (text) => text.includes('"used":1'),
  );

  const tab = await compose(instance);
  const { page, complaints } = tab;
  const answer = page.getByRole('main').locator('h1 + p');
  await answer.filter({ hasText: '2 devices would not: over the cap.' }).waitFor();
  const urgent = page.getByRole('checkbox', { name: /^Urgent/ });
  await urgent.check();
  await answer.filter({ hasText: /^2 devices would get it now/ }).waitFor();
  const local = new Date(Date.now() + 5 * HOUR_MS).toISOString().slice(0, 16);
  await page.getByLabel('Local time').fill(local);
  await answer.filter({ hasText: /^2 devices would get it, 2 of them later:/ }).waitFor();
  expect(await bodyIn(tab)).toMatchObject({ urgent: true, sendAtLocal: local });
  await page.getByLabel('When').fill(local);
  await page.getByText('cannot be used with sendAt').waitFor();
  await page.getByLabel('When').fill('');
  await page.getByRole('button', { name: 'Schedule for 2 devices' }).click();
  await page.waitForURL(/\/publishes\/pubid-/);
  await page.getByText('Next devices are due').waitFor();
  await page.getByText('sendAtLocal').waitFor();

  await page.goto(page.url().replace(/\/publishes\/.*/, `/devices/${capped}`));
  await page.getByText(/^1 of 1 notification in 24 h; the next 24 h begin after/).waitFor();
  expect(await lookFaults(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});

it('writes live activities with what they need, and reaches the tokens of their kind', async () => {
  const instance = await newInstance(asAdmin());
  await addDevice(instance, 'apns', {});
  await addDevice(instance, 'apns', { kind: 'liveactivity' });
  await addDevice(instance, 'apns', { kind: 'liveactivity-start' });
  await addDevice(instance, 'apns', { kind: 'voip' });
  const tab = await compose(instance);
  const { page, complaints } = tab;
  for (const name of ['Android', 'Browser']) await page.getByRole('checkbox', { name }).uncheck();
  const apple = page.getByRole('group', { name: 'On Apple devices' });
  await apple.getByRole('combobox', { name: 'Push type' }).selectOption('liveactivity');
  const state = apple.getByRole('textbox', { name: 'State' });
  await state.fill('{"minutes": ');
  await apple.getByText('This is not a JSON object yet.').waitFor();
  await state.fill('{"minutes": 7}');
  await page.getByText(/^1 device would get it now: 1 apns/).waitFor();
  await page.getByText(/^Request of apns/).click();
  const request = page.getByRole('region', { name: 'Exact request for apns' });
  await request.getByText('.push-type.liveactivity').waitFor();
  expect((await bodyIn(tab))['apns']).toMatchObject({
    push_type: 'liveactivity',
    aps: { event: 'update', 'content-state': { minutes: 7 } },
  });

  await apple.getByRole('combobox', { name: 'Event' }).selectOption('start');
  await page.getByText('apns.aps.attributes-type').waitFor();
  await apple.getByRole('textbox', { name: 'Type of its attributes' }).fill('Delivery');
  await page.getByRole('button', { name: 'Send to 1 device' }).waitFor();
  expect((await bodyIn(tab))['apns']).toMatchObject({
    aps: { event: 'start', 'attributes-type': 'Delivery', attributes: {} },
  });
  expect(await lookFaults(page)).toEqual([]);

  await apple.getByRole('combobox', { name: 'Push type' }).selectOption('voip');
  await apple.getByRole('textbox', { name: 'Further keys' }).fill('{"call": 1}');
  // Without its type, the publish before had no request.
  await page.getByText(/^Request of apns/).click();
  await request.getByText('.voip').first().waitFor();
  expect((await bodyIn(tab))['apns']).toEqual({ push_type: 'voip', payload: { call: 1 } });
  expect(complaints).toEqual([]);
  await page.close();
});
