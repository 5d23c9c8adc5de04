import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';
import { emptyPages, fullPages, type Row } from './page-table.ts';
import { SEED_CONFIG, type Seed, seed, wrongAuth } from './seed.ts';

setDefaultTimeout(120_000);

async function start(options: Parameters<typeof startFanfare>[0] = {}): Promise<Fanfare> {
  const config = { ...options.config, admin: { port: 0, password: PASSWORD } };
  return await startFanfare({ ...options, config });
}

const parts = new AsyncDisposableStack();
let servers: readonly [Fanfare, Fanfare];
let browsers: readonly [Chromium, Chromium];
let seeded: Seed;
beforeAll(async () => {
  servers = await Promise.all([start(), start(SEED_CONFIG)]);
  for (const server of servers) parts.use(server);
  [browsers, seeded] = await Promise.all([
    Promise.all([startChromium(), startChromium()]),
    seed({ ...servers[1], adminPassword: PASSWORD }),
  ]);
  for (const browser of browsers) parts.use(browser);
  parts.use(seeded);
});
afterAll(() => parts.disposeAsync());

/** Goes through pages in one tab, and gives what is wrong with each. */
async function walk(
  server: Fanfare,
  browser: Chromium,
  rows: readonly Row[],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const { page, complaints } = await openDashboard(server, browser, '/no/such/page');
  const wrong: Record<string, readonly string[]> = {};
  let heard = 0;
  const main = page.getByRole('main');
  for (const [path, text, first] of rows) {
    const to = JSON.stringify(`/dashboard${path}`);
    await page.evaluate(
      `history.pushState(null, '', ${to}); dispatchEvent(new PopStateEvent('popstate'))`,
    );
    if (first !== undefined) {
      await main.getByText(first).first().waitFor();
      await seeded.sendBeside();
    }
    const shown = await main
      .getByText(text)
      .first()
      .waitFor({ timeout: 20_000 })
      .then(
        () => [],
        () => [`"${text}" is not there`],
      );
    const faults = [...shown, ...(await lookFaults(page))];
    // Chromium itself reports what is not there.
    const said = complaints.slice(heard).filter((line) => !/status of 404/.test(line));
    heard = complaints.length;
    if (faults.length + said.length > 0) wrong[path] = [...faults, ...said];
  }
  await page.close();
  return wrong;
}

it('every page is accessible and fits, light and dark, wide and narrow, empty and full', async () => {
  const wrong = await Promise.all([
    walk(servers[0], browsers[0], emptyPages),
    walk(servers[1], browsers[1], fullPages(seeded)),
  ]);
  expect(wrong).toEqual([{}, {}]);
});

describe('the commonest mistakes stand on the screen in words', () => {
  const open = (path: string) => openDashboard(servers[1], browsers[1], path);
  const inApp = (path: string) => `/apps/${seeded.app.id}/${path}`;

  it('a key that no app has, on Home', async () => {
    const { page } = await open('');
    const found = page.getByRole('list', { name: 'What needs you' }).getByRole('listitem');
    await found.filter({ hasText: /1 connection .* had a key that no app has.*Compare/ }).waitFor();
    await page.close();
  });

  it('a bad signature of a backend, an invalid name, a slow client, on Problems', async () => {
    const { page } = await open(inApp('problems'));
    const rows = page.getByRole('row');
    for (const text of [
      /Invalid signature: you should have sent.*Compare the string.*from 127.0.0.1.*backend/s,
      /Invalid channel name.*only letters.*backend/s,
      /read too slowly.*Send it less.*connection/s,
      /Invalid signature: Expected HMAC.*Compare the text.*private-orders.*client/s,
    ]) {
      await rows.filter({ hasText: text }).waitFor();
    }
    expect(await page.content()).not.toContain(seeded.app.secret);
    await page.close();
  });

  it('a wrong channel name, on Live', async () => {
    const { page } = await open(inApp('live'));
    await page.getByText('Connected.').first().waitFor();
    await seeded.sendBeside();
    const row = page.getByRole('option', { name: /my\.channel.*0 heard.*did you mean my-channel/ });
    await row.click();
    await page.getByRole('link', { name: 'my-channel' }).click();
    await page.getByRole('heading', { level: 1, name: 'my-channel' }).waitFor();
    await page.close();
  });

  it('an authorisation for another channel, on Live, and what differs one click later', async () => {
    const { page } = await open(inApp('live'));
    await page.getByText('Connected.').first().waitFor();
    await seeded.subscribeWrongly();
    await page.getByRole('option', { name: /refused.*private-orders.*Invalid signature/ }).click();
    await page.getByRole('link', { name: 'Check its authorisation' }).click();
    const form = page.getByRole('region', { name: 'Why is this authorisation refused?' });
    await form.getByLabel('auth').fill(wrongAuth(seeded.app, { socketId: seeded.refused }));
    await form.getByRole('button', { name: 'Check' }).click();
    await form.getByText(`${seeded.refused}:private-orders`).waitFor();
    await form.getByText('The signature is another').waitFor();
    await page.close();
  });

  it('an endpoint that fails, on Webhooks, and its answer one click later', async () => {
    const { page } = await open(inApp('webhooks'));
    await page
      .getByRole('row', { name: /a-long-path.*fails: status 503.*the oldest waits/ })
      .waitFor();
    await page
      .getByRole('link', { name: /a-long-path/ })
      .first()
      .click();
    await page
      .getByRole('row', { name: /an answer.*refused.*503/ })
      .first()
      .waitFor();
    await page.close();
  });
});
