import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { connect } from '../../testing/clients/official-client.ts';
import { signedTarget } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { openDashboard, PASSWORD } from './dashboard-page.ts';

setDefaultTimeout(180_000);

const LIVE = `/apps/${APP.id}/live`;

let server: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  [server, browser] = await Promise.all([
    startFanfare({ config: { admin: { port: 0, password: PASSWORD } } }),
    startChromium(),
  ]);
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
});

/** Sends events to a channel as a backend does, ten in a request. */
async function send(channel: string, number = 1): Promise<void> {
  for (let sent = 0; sent < number; sent += 10) {
    const batch = Array.from({ length: Math.min(10, number - sent) }, (_, index) => ({
      channel,
      name: 'message',
      data: JSON.stringify({ id: sent + index, deep: { text: '<b>Hi</b>' } }),
    }));
    const body = JSON.stringify({ batch });
    const target = signedTarget('POST', `/apps/${APP.id}/batch_events`, { body });
    const response = await fetch(`http://127.0.0.1:${server.port}${target}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    if (response.status !== 200) throw new Error(await response.text());
  }
}

function rowsOf(page: Page): Locator {
  return page.getByRole('listbox', { name: /^Live events/ }).getByRole('option');
}

/** Opens the live page, and waits until the stream is open. */
async function openLive(query = ''): Promise<{ page: Page; complaints: readonly string[] }> {
  const tab = await openDashboard(server, browser, LIVE + query);
  await tab.page
    .getByText(/^Connected\./)
    .first()
    .waitFor();
  return tab;
}

it('shows who received an event, and the channel that was meant where nobody did', async () => {
  using client = connect(server);
  await client.subscribe('my-channel').subscribed();
  const { page, complaints } = await openLive();
  await send('my-channel');
  await rowsOf(page)
    .filter({ hasText: /API.*my-channel.*→ received by 1/ })
    .waitFor();
  await send('my.channel');
  await rowsOf(page)
    .filter({ hasText: /received by nobody.*did you mean my-channel/ })
    .click();
  const panel = page.getByRole('region', { name: 'One record' });
  expect(await panel.textContent()).toContain('Did you mean my-channel?');
  // Text of strangers is text.
  expect(await panel.locator('.json').textContent()).toContain('<b>Hi</b>');

  // The link is the record itself.
  const other = await openDashboard(server, browser, LIVE + new URL(page.url()).hash);
  const shown = other.page.getByRole('region', { name: 'One record' });
  expect(await shown.textContent()).toContain('my.channel');
  expect(complaints).toEqual([]);
  await Promise.all([page.close(), other.page.close()]);
});

it('shows long names of events to their end, and says that the only subscriber was excepted', async () => {
  using client = connect(server);
  await client.subscribe('orders').subscribed();
  const { page, complaints } = await openLive('?channel=orders');
  const body = JSON.stringify({
    name: 'App\\Events\\OrderShipped',
    channel: 'orders',
    data: '{}',
    socket_id: client.pusher.connection.socket_id,
  });
  const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
  const headers = { 'content-type': 'application/json' };
  await fetch(`http://127.0.0.1:${server.port}${target}`, { method: 'POST', body, headers });
  const row = rowsOf(page).filter({ hasText: 'The only subscriber was excepted' });
  await row.waitFor();
  /** The parts of the name that are cut. */
  const cut = () =>
    row
      .locator('.what > *')
      .evaluateAll((parts) =>
        parts.flatMap((part) =>
          part.scrollWidth > part.clientWidth ? (part.textContent ?? '') : [],
        ),
      );
  expect(await row.locator('.what').textContent()).toBe('App\\Events\\OrderShipped');
  expect(await cut()).toEqual([]);
  await row.click();
  await page.getByRole('region', { name: 'One record' }).getByText('toOthers()').waitFor();
  // Beside the panel, the beginning makes room.
  expect(await cut()).toEqual(['App\\Events\\']);
  await page.keyboard.press('Escape');

  // What is there comes before what may be there.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('orders');
  const found = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
  await found.filter({ hasText: 'User orders' }).waitFor();
  expect(await found.first().textContent()).toBe('orderstest');
  expect(await found.first().getAttribute('aria-selected')).toBe('true');
  await page.keyboard.press('Escape');

  // All pages are in sight while only their icons are.
  await page.setViewportSize({ width: 900, height: 844 });
  const hidden = await page
    .locator('.side .nav')
    .evaluate((nav) => nav.scrollHeight - nav.clientHeight);
  expect(hidden).toBe(0);
  expect(complaints).toEqual([]);
  await page.close();
});

it('is walked by keyboard: rows, panel, pause, filter', async () => {
  const { page, complaints } = await openLive('?channel=walked');
  await send('walked', 5);
  const rows = rowsOf(page);
  await rows.nth(4).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await rows.nth(1).getAttribute('aria-selected')).toBe('true');
  // The rows do not move while one is chosen.
  await send('walked', 3);
  await page.getByRole('button', { name: '3 new' }).waitFor();
  expect(await rows.count()).toBe(5);
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'One record' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await rows.nth(7).waitFor();
  await page.keyboard.press('p');
  await send('walked', 2);
  await page.getByText('2 new (paused)').waitFor();
  await page.keyboard.press('p');
  await rows.nth(9).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type(' nothing-like-this');
  await page.getByText('Nothing passes the filter').waitFor();
  await page.getByRole('button', { name: 'Remove the filter' }).click();
  await rows.first().waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});

it('can be stopped under a flood of events, and draws only the rows that are seen', async () => {
  const { page, complaints } = await openLive('?channel=flood');
  const flood = send('flood', 3000);
  await rowsOf(page).nth(20).waitFor();
  await page.keyboard.press('p');
  await page.getByRole('button', { name: 'Go on' }).waitFor();
  await flood;
  await page.keyboard.press('p');
  const list = page.getByRole('listbox', { name: /^Live events/ });
  // A stream shows a part of a flood, so more are sent until there are hundreds.
  await eventually(
    async () => {
      await send('flood', 50);
      return await list.evaluate(({ scrollHeight }) => scrollHeight);
    },
    (height) => height > 5000,
  );
  expect(await rowsOf(page).count()).toBeLessThan(60);
  await page.keyboard.press('p');
  await page.keyboard.press('c');
  await rowsOf(page).first().waitFor({ state: 'detached' });
  // The flood stays in the last minute, as a strip, as bars and as a table.
  const strip = page.getByRole('button', { name: /^The last minute: [\d,]{3,} events a second/ });
  await strip.click();
  await page.getByRole('button', { name: 'Table' }).click();
  const seconds = page.getByRole('dialog').getByRole('row').filter({ hasText: 's ago' });
  expect(await seconds.filter({ hasText: /ago[\d,]{3,}$/ }).count()).toBeGreaterThan(0);
  expect(complaints).toEqual([]);
  await page.close();
});

it('shows what is missing after a lost stream', async () => {
  const { page } = await openDashboard(server, browser);
  const hello = `event: hello\ndata: {"node":"a","app":"${APP.id}"}\n\n`;
  await page.route(
    '**/stream*',
    (route) => route.fulfill({ contentType: 'text/event-stream', body: hello }),
    { times: 1 },
  );
  await page.goto(`http://127.0.0.1:${server.adminPort}/dashboard${LIVE}`);
  await page.getByRole('alert').getByText('The stream was lost').waitFor();
  await rowsOf(page)
    .filter({ hasText: /missing: the connection was lost/ })
    .waitFor();
  await page
    .getByText(/^Connected\./)
    .first()
    .waitFor();
  await page.close();
});

it('shows how many events a page has missed that read too slowly, where they are missing', async () => {
  const { page } = await openLive();
  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const record = (n: number) => ({ n, atMs: n, node: 'a', kind: 'api', event: `event-${n}` });
  const batch = (n: number, missed: number, skipped: object) =>
    event('batch', { events: [record(n)], updates: [], skipped, missed });
  const hello = event('hello', { nodes: [], payloads: 'show' });
  await page.route('**/stream*', (route) =>
    route.fulfill({
      contentType: 'text/event-stream',
      body: hello + batch(1, 0, { api: 7 }) + batch(900, 898, { api: 1202, client: 3 }),
    }),
  );
  await page.reload();
  await rowsOf(page).filter({ hasText: 'event-900' }).waitFor();
  const texts = await rowsOf(page).allTextContents();
  expect(texts.slice(0, 3)).toEqual([
    expect.stringContaining('event-900'),
    '┈ 1,205 events missing: this page read too slowly ┈',
    expect.stringContaining('event-1'),
  ]);
  await page.close();
});
