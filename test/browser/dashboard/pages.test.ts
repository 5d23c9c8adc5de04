import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import type { Page } from 'playwright-core';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { axe, lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';
import { emptyPages, fullPages, type Row, withIds } from './page-table.ts';
import { SEED_CONFIG, type Seed, seed, wrongAuth } from './seed.ts';

setDefaultTimeout(180_000);

async function start(options: Parameters<typeof startFanfare>[0] = {}): Promise<Fanfare> {
  const proxy = { trust: ['127.0.0.1'], userHeader: 'remote-user', groupsHeader: 'remote-groups' };
  const roles = [{ group: 'ops', role: 'admin' }];
  const admin = { port: 0, password: PASSWORD, proxy, roles };
  const config = { ...options.config, admin };
  return await startFanfare({ ...options, config });
}

const parts = new AsyncDisposableStack();
let servers: readonly [Fanfare, Fanfare];
let browser: Chromium;
let seeded: Seed;
beforeAll(async () => {
  servers = await Promise.all([start(), start(SEED_CONFIG)]);
  for (const server of servers) parts.use(server);
  [browser, seeded] = await Promise.all([
    startChromium(),
    seed({ ...servers[1], adminPassword: PASSWORD }),
  ]);
  parts.use(browser);
  parts.use(seeded);
});
afterAll(() => parts.disposeAsync());

/** One tab for many pages: loading the dashboard anew takes longer than the page. */
interface Walker {
  readonly page: Page;
  /** What the page at `row` has wrong. */
  look(row: Row): Promise<readonly string[]>;
}

async function openWalker(server: Fanfare, browser: Chromium): Promise<Walker> {
  const { page, complaints } = await openDashboard(server, browser, '/no/such/page');
  const main = page.getByRole('main');
  let received = 0;
  let isFrameKnown = false;
  return {
    page,
    async look([path, text, first]) {
      const to = JSON.stringify(`/dashboard${withIds(path, seeded)}`);
      await page.evaluate(
        `history.pushState(null, '', ${to}); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      if (first !== undefined) {
        await main.getByText(first).first().waitFor();
        await seeded.sendBeside();
      }
      await main.getByText(withIds(text, seeded)).first().waitFor();
      const faults = await lookFaults(page, { isFrameKnown });
      isFrameKnown = true;
      // Chromium itself reports what is not there.
      const said = complaints.slice(received).filter((line) => !/status of 404/.test(line));
      received = complaints.length;
      return [...faults, ...said];
    },
  };
}

describe.each([
  ['a server that nobody has used', 0, emptyPages],
  ['a server in use, with names as long as they may be,', 1, fullPages],
] as const)('on %s', (_, which, rows) => {
  let walker: Walker;
  beforeAll(async () => {
    walker = await openWalker(servers[which], browser);
  });
  afterAll(() => walker.page.close());

  // All tests of a page have the same sentence; the path shows which failed.
  for (const row of rows) {
    it(`/dashboard${row[0]} is accessible and fits, light and dark, wide and narrow`, async () => {
      expect(await walker.look(row)).toEqual([]);
    });
  }
});

it('a user without a role is told whom to ask, and for what', async () => {
  const { page } = await browser.open('about:blank');
  await page.setExtraHTTPHeaders({ 'remote-user': 'ann', 'remote-groups': 'staff,dev' });
  await page.goto(`http://127.0.0.1:${servers[0].adminPort}/dashboard`);
  await page.getByRole('heading', { level: 1, name: 'The dashboard cannot be shown' }).waitFor();
  const alert = await page.getByRole('alert').textContent();
  expect(alert).toMatch(/Ask whoever runs it .* you are ann, .* groups of yours: staff, dev$/);
  expect(await axe(page)).toEqual([]);
  await page.close();
});

describe('the most common mistakes are explained on the screen', () => {
  const open = (path: string) => openDashboard(servers[1], browser, path);
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
    const row = page.getByRole('option', {
      name: /my\.channel.*received by nobody.*did you mean my-channel/,
    });
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
    await page.getByRole('row', { name: /a-long-path.*fails: status 503/ }).waitFor();
    await page
      .getByRole('link', { name: /^channel_occupied/ })
      .first()
      .click();
    await page
      .getByRole('row', { name: /an answer.*refused.*503/ })
      .first()
      .waitFor();
    await page.close();
  });
});
