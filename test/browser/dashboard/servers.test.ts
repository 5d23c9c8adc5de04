import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { APP, type Fanfare } from '../../../testing/servers/fanfare.ts';
import { TestApp } from '../../../testing/servers/test-app.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { openDashboard, PASSWORD } from '../dashboard-page.ts';

/** The dashboard of one of two servers that act as one. */

setDefaultTimeout(180_000);

let cluster: Cluster;
let first: Fanfare;
let second: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  [cluster, browser] = await Promise.all([startCluster(0), startChromium()]);
  const config = { admin: { port: 0, password: PASSWORD } };
  first = await cluster.add({ config });
  second = await cluster.add({ config });
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]);
});

it('shows the servers of the cluster, and what is where', async () => {
  await using client = await new TestApp(second, APP).connect();
  const { page, complaints } = await openDashboard(first, browser, '/nodes');
  await page.getByText('2 servers act as one, and all answer.').waitFor();
  const rows = page.getByRole('table').getByRole('row');
  const names = await rows.locator('.name .mono').allTextContents();
  expect(names).toHaveLength(2);
  const threads = page.getByRole('region', { name: 'Threads' });
  expect(await threads.getByRole('term').allTextContents()).toEqual(names);

  await page.getByRole('link', { name: 'Connections', exact: true }).click();
  await page.getByText('1 connection, on 2 servers.').waitFor();
  expect(await page.getByRole('row', { name: client.socketId }).textContent()).toContain(
    String(names[1]),
  );
  await page.getByRole('link', { name: client.socketId }).click();
  await page.getByRole('button', { name: 'Disconnect' }).click();
  expect(await client.closed).toMatchObject({ code: 4009 });

  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByText('2 servers together').waitFor();
  expect(complaints).toEqual([]);
});

it('follows the logs of all servers, with its filter in the address and a link from each id', async () => {
  const { page, complaints } = await openDashboard(first, browser, '/log?text=channel%3Dprivate-x');
  await page.getByText('No line fits').waitFor();
  // A refusal is a line of the log.
  await using client = await new TestApp(second, APP).connect();
  client.send({ event: 'pusher:subscribe', data: { channel: 'private-x', auth: 'wrong' } });
  const lines = page.getByRole('region', { name: /^Lines/ }).getByRole('listitem');
  const line = lines.filter({ hasText: 'channel=private-x' });
  await line.waitFor();
  expect(await line.textContent()).toMatch(/server=\S+:\d+$/);
  await page.getByRole('combobox', { name: 'Level' }).selectOption('error');
  await page.getByText('No line fits').waitFor();
  expect(new URL(page.url()).search).toBe('?text=channel%3Dprivate-x&level=error');

  await page.getByRole('button', { name: 'Remove the filter' }).click();
  await line.waitFor();
  await page.keyboard.press('p');
  await page.getByRole('button', { name: /^Go on/ }).waitFor();
  const held = await lines.count();
  // Watching logs a line.
  await openDashboard(first, browser, `/apps/${APP.id}/live`);
  await page.getByText(/^Paused: \d+ newer lines?\.$/).waitFor();
  expect(await lines.count()).toBe(held);
  await page.keyboard.press('p');
  await page.getByRole('link', { name: 'private-x' }).first().click();
  await page.getByRole('heading', { name: 'private-x' }).waitFor();
  expect(complaints).toEqual([]);
});
