import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { lookFaults, openDashboard, PASSWORD } from '../dashboard-page.ts';
import { LONG_CHANNEL, SEED_CONFIG, type Seed, seed } from './seed.ts';

setDefaultTimeout(120_000);

/** A page below `/dashboard`, a text that is there once it has its data, and a text to wait for before something happens. */
type Row = readonly [path: string, text: string, first?: string];

/** Pages of a server that nobody has used. */
const empty: readonly Row[] = [
  ['', 'Connect this tab'],
  [`/apps/${APP.id}/live`, 'Connected and listening'],
  [`/apps/${APP.id}/channels`, 'No channel is in use'],
  [`/apps/${APP.id}/channels/lobby`, 'Nobody is subscribed'],
  [`/apps/${APP.id}/connections`, 'No client is connected'],
  [`/apps/${APP.id}/connections/1.2`, 'This server has no open connection 1.2'],
  [`/apps/${APP.id}/problems`, 'Nothing was refused since'],
  [`/apps/${APP.id}/webhooks`, 'This app has no webhook endpoint'],
  [`/apps/${APP.id}/webhooks/none`, 'There is no webhook none'],
  [`/apps/${APP.id}/usage`, 'No messages yet'],
  [`/apps/${APP.id}/keys`, APP.key],
  [`/apps/${APP.id}/settings`, 'This app stands in the configuration file'],
  ['/apps/none/live', 'There is no app none'],
  ['/nodes', 'is the only server'],
  ['/log', 'lines, the newest at'],
  ['/no/such/page', 'There is no such page'],
];

/** Pages of a server that is in use, with names as long as they may be. */
const full = ({ app, socket, webhook, refused }: Seed): readonly Row[] => {
  const inApp = (path: string) => `/apps/${app.id}/${path}`;
  return [
    ['', 'Großer Laden'],
    ['/audit', 'createApp'],
    [inApp('live'), '0 heard', 'Connected.'],
    [inApp('channels'), LONG_CHANNEL],
    [inApp(`channels/${LONG_CHANNEL}`), 'алиса'],
    [inApp('channels/cache-scores'), 'Cached event: order.updated'],
    [inApp('connections'), socket],
    [inApp(`connections/${socket}`), LONG_CHANNEL],
    [inApp(`problems?channel=private-orders&socket=${refused}`), 'The client read too slowly'],
    [inApp('send'), 'Send an event as a backend would'],
    [inApp('webhooks'), 'fails: status 503'],
    [inApp(`webhooks/${webhook}`), 'channel_occupied'],
    [inApp('usage'), 'Messages by day'],
    [inApp('connect'), 'From nothing to the first event'],
    [inApp('keys'), app.key],
    [inApp('settings'), 'Take it out of service'],
  ];
};

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
    walk(servers[0], browsers[0], empty),
    walk(servers[1], browsers[1], full(seeded)),
  ]);
  expect(wrong).toEqual([{}, {}]);
});
