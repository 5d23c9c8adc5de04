import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { admin, makeApp } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { axe, openDashboard, PASSWORD } from './dashboard-page.ts';

setDefaultTimeout(180_000);

let server: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  [server, browser] = await Promise.all([
    startFanfare({
      config: {
        admin: { port: 0, password: PASSWORD },
        webhooks: { allowPrivateAddresses: true },
      },
    }),
    startChromium(),
  ]);
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
});

it('offers what it shows as commands that work', async () => {
  const { page, complaints } = await openDashboard(server, browser);
  await page.evaluate(
    `navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }`,
  );
  for (const [link, query, path, command] of [
    ['Home', '', '/conditions', undefined],
    [
      'Live',
      '?kinds=webhook&channel=a*',
      `/apps/${APP.id}/stream?kinds=webhook&prefix=a`,
      `npx fanfare tail ${APP.id} --kinds=webhook --prefix=a`,
    ],
    ['Channels', "?prefix=it's", `/apps/${APP.id}/channels?prefix=it%27s`, undefined],
    [
      'Webhooks',
      '?state=failed',
      `/webhooks?app=${APP.id}&state=failed`,
      `npx fanfare webhooks list --app=${APP.id} --state=failed`,
    ],
    ['Settings', '', `/apps/${APP.id}`, `npx fanfare apps show ${APP.id}`],
  ] as const) {
    await page.getByRole('link', { name: link }).first().click();
    await page.getByRole('heading', { level: 1, name: link === 'Home' ? /./ : link }).waitFor();
    // As a user who opens a copied address.
    await page.evaluate(
      `history.replaceState(null, '', location.pathname + ${JSON.stringify(query)});
      dispatchEvent(new PopStateEvent('popstate'))`,
    );
    await page.getByRole('button', { name: 'curl' }).click();
    const copied = () => page.evaluate('globalThis.copied') as Promise<string>;
    const [, url = ''] = /^curl (?:-N )?-u :PASSWORD '?(\S+?)'?$/.exec(await copied()) ?? [];
    expect(url.slice(url.indexOf('/api/v1') + 7)).toBe(path);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${PASSWORD}` } });
    expect([path, answer.status]).toEqual([path, 200]);
    await answer.body?.cancel();
    const other = page.getByRole('button', { name: 'fanfare' });
    expect(await other.count()).toBe(command === undefined ? 0 : 1);
    if (command === undefined) continue;
    await other.click();
    expect(await copied()).toBe(command);
  }
  expect(complaints).toEqual([]);
  await page.close();
});

it('leads a new app to its first event: this tab connects, sends, and receives it', async () => {
  const { page, complaints } = await openDashboard(server, browser, `/apps/${APP.id}/connect`);
  await page.getByRole('button', { name: 'Connect this tab' }).click();
  await page.getByText('Connected as').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('1 connection received it').waitFor();
  const received = page.getByLabel('What this tab received');
  expect(await received.textContent()).toContain('{"message":"hello"}');
  // Pasting, the first step, was left out.
  expect(await page.locator('.steps > .done').count()).toBe(2);
  expect(await page.content()).not.toContain(APP.secret);
  // From now on, Home shows no first steps.
  await page.getByRole('link', { name: 'Home' }).first().click();
  await page.getByText('Delivered per second').waitFor();
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  expect(await axe(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});

it('is walked through by keyboard alone', async () => {
  const { page, complaints } = await openDashboard(server, browser);
  // The pages of an app are found once the apps are known.
  await page.getByRole('link', { name: 'Settings' }).first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find anything' }).waitFor();
  await page.keyboard.type('setti');
  await page.getByRole('option', { name: /^Settings/, selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByLabel('Messages per day').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.getByRole('textbox', { name: 'Channel' }).focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('nobody-is-here');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Received by nobody.').waitFor();
  // In a field, keys are text.
  await page.keyboard.type('?g');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('checkbox', { name: 'Single keys do something' }).uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.close();
});

it('asks for the password over the page when the session has ended, and then continues', async () => {
  const { page } = await openDashboard(server, browser, `/apps/${APP.id}/send`);
  await page.getByRole('textbox', { name: 'Data' }).fill('what was typed');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('Received by nobody.').waitFor();
  expect(await page.getByRole('textbox', { name: 'Data' }).inputValue()).toBe('what was typed');
  await page.close();
});

it('changes a setting of an app', async () => {
  const { json } = await admin({ ...server, adminPassword: PASSWORD }, 'POST', '/apps', {
    body: { name: 'to change' },
  });
  const { id } = json as { id: string };
  const { page } = await openDashboard(server, browser, `/apps/${id}/settings`);
  const box = page.getByRole('checkbox', { name: 'Clients may send events to each other' });
  const before = await box.isChecked();
  await box.click();
  await page.getByRole('button', { name: 'Save' }).click();
  const review = page.getByRole('dialog', { name: 'Save these changes?' });
  await review.getByRole('row', { name: `clientEvents ${before} ${!before}` }).waitFor();
  expect(await axe(page)).toEqual([]);
  await review.getByRole('button', { name: 'Save 1 change' }).click();
  await page.getByText('Saved.').waitFor();
  const after = await admin({ ...server, adminPassword: PASSWORD }, 'GET', `/apps/${id}`);
  expect(after.json).toMatchObject({ clientEvents: !before });
  await page.close();
});

it('changes the origins of an app, and names the line that is wrong', async () => {
  const { json } = await admin({ ...server, adminPassword: PASSWORD }, 'POST', '/apps', {
    body: { name: 'with origins' },
  });
  const { id } = json as { id: string };
  const { page } = await openDashboard(server, browser, `/apps/${id}/settings`);
  const field = page.getByRole('textbox', { name: /^One on each line/ });
  await field.fill('https://shop.example.com\n\nhttps://shop.example.com/path\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Line 2 .*must be an origin such as/).waitFor();
  await field.fill('https://shop.example.com\n http://localhost:*\n');
  await page.getByRole('button', { name: 'Save' }).click();
  const review = page.getByRole('dialog', { name: 'Save these changes?' });
  await review.getByRole('button', { name: 'Save 1 change' }).click();
  await page.getByText('Saved.').waitFor();
  const after = await admin({ ...server, adminPassword: PASSWORD }, 'GET', `/apps/${id}`);
  expect(after.json).toMatchObject({
    allowedOrigins: ['https://shop.example.com', 'http://localhost:*'],
  });
  expect(await axe(page)).toEqual([]);
  await page.close();
});

it('gives presence channels and users of an app grace, compresses its events, and names the field that is wrong', async () => {
  const { json } = await admin({ ...server, adminPassword: PASSWORD }, 'POST', '/apps', {
    body: { name: 'with grace' },
  });
  const { id } = json as { id: string };
  const { page } = await openDashboard(server, browser, `/apps/${id}/settings`);
  await page.getByRole('button', { name: 'Add a rule for presence' }).click();
  const rule = page.getByRole('group', { name: 'Presence rule 1' });
  const channels = rule.getByRole('textbox', { name: /^Channels/ });
  await channels.fill('room-*');
  await page.getByRole('button', { name: 'Save' }).click();
  await rule.getByText(/must be the name of a presence channel/).waitFor();
  await channels.fill('presence-room-*');
  await rule.getByRole('spinbutton', { name: 'Grace seconds' }).fill('20');
  await rule.getByRole('spinbutton', { name: 'Shown' }).fill('5');
  // Emptied, it is the limit of the app again.
  await rule.getByRole('spinbutton', { name: 'Members' }).fill('7');
  await rule.getByRole('spinbutton', { name: 'Members' }).fill('');
  await page.getByRole('spinbutton', { name: 'Offline seconds' }).fill('30');
  await page.getByRole('spinbutton', { name: 'Compress above bytes' }).fill('1024');
  await page.getByRole('button', { name: 'Save' }).click();
  const review = page.getByRole('dialog', { name: 'Save these changes?' });
  await review.getByRole('button', { name: 'Save 3 changes' }).click();
  await page.getByText('Saved.').waitFor();
  const after = await admin({ ...server, adminPassword: PASSWORD }, 'GET', `/apps/${id}`);
  expect(after.json).toMatchObject({
    offlineSeconds: 30,
    compressAboveBytes: 1024,
    presence: [{ channels: 'presence-room-*', graceSeconds: 20, shown: 5, members: null }],
  });
  expect(await axe(page)).toEqual([]);
  await page.close();
});

it('checks a change of an app in the configuration file, and shows what to write there', async () => {
  const { page } = await openDashboard(server, browser, `/apps/${APP.id}/settings`);
  const field = page.getByRole('spinbutton', { name: 'Channels per trigger' });
  await field.fill('0');
  await page.getByRole('button', { name: 'Show the YAML' }).click();
  await page.getByText(/^limits\.channelsPerTrigger: must be/).waitFor();
  await field.fill('7');
  await page.getByRole('button', { name: 'Show the YAML' }).click();
  const yaml = await page.getByLabel('What to write').textContent();
  expect(Bun.YAML.parse(yaml ?? '')).toEqual({
    channels: { apps: [{ id: APP.id, limits: { channelsPerTrigger: 7 } }] },
  });
  expect(await axe(page)).toEqual([]);
  await page.close();
});

it('is small: at most 40 kB of script for the first page, and 90 kB for all pages', async () => {
  const { page } = await openDashboard(server, browser);
  await page.getByText('Push instances').first().waitFor();
  const loaded = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js'))
      .map(({ name }) => name),
  );
  // Scripts name the scripts that they may load later.
  const sizes = new Map<string, number>();
  const measure = async (url: string) => {
    if (sizes.has(url)) return;
    sizes.set(url, 0);
    const text = await (await page.request.get(url)).text();
    sizes.set(url, Bun.gzipSync(text, { level: 9 }).length);
    const { origin } = new URL(url);
    for (const [path] of text.matchAll(/\/dashboard\/assets\/[\w-]+\.js/g)) {
      await measure(origin + path);
    }
  };
  for (const url of loaded) await measure(url);
  const sum = (urls: Iterable<string>) =>
    [...urls].reduce((total, url) => total + (sizes.get(url) ?? 0), 0);
  expect(sum(loaded)).toBeGreaterThan(10_000);
  expect(sum(loaded)).toBeLessThan(40_000);
  expect(sizes.size).toBeGreaterThan(loaded.length);
  expect(sum(sizes.keys())).toBeLessThan(90_000);
  await page.close();
});

it('tests a webhook endpoint and shows what it answered, as text', async () => {
  using endpoint = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response('<b>nobody is here</b>', { status: 410 }),
  });
  const url = `http://127.0.0.1:${endpoint.port}/hooks`;
  const owner = { ...server, adminPassword: PASSWORD };
  const app = await makeApp(owner, { webhooks: [{ url, events: ['channel_occupied'] }] });
  const { page, complaints } = await openDashboard(server, browser, `/apps/${app.id}/webhooks`);
  const row = page.getByRole('row').filter({ hasText: url });
  await row.getByText('nothing sent yet').waitFor();
  await row.getByRole('button', { name: 'Test' }).click();
  await row.getByText('status 410').waitFor();
  expect(await row.textContent()).toContain('<b>nobody is here</b>');

  // How long its attempts took, once there are any.
  await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
  await client.subscribe('a');
  await eventually(
    async () => {
      const { json } = await admin(owner, 'GET', `/webhook-endpoints?app=${app.id}`);
      return (json as { endpoints: readonly object[] }).endpoints;
    },
    (endpoints) => endpoints.length > 0,
  );
  await page.reload();
  await row.getByRole('button', { name: /^half .+s, 95 % .+s$/ }).click();
  await page.getByRole('dialog').getByText('Attempts by how long they took').waitFor();
  expect(await axe(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});
