import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { type Autopush, startAutopush } from '../../../testing/browsers/autopush.ts';
import { FIREFOX_START_MAX_MS } from '../../../testing/browsers/firefox.ts';
import { type FirefoxTab, startFirefoxTab } from '../../../testing/browsers/firefox-tab.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { isLong } from '../../../testing/long-run.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { PASSWORD } from '../dashboard-page.ts';
import { emptyPages, fullPages, type Row, withIds } from './page-table.ts';
import { SEED_CONFIG, type Seed, seed } from './seed.ts';

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let server: Fanfare;
let tab: FirefoxTab;
let seeded: Seed;
let autopush: Autopush;
beforeAll(async () => {
  const config = { ...SEED_CONFIG.config, admin: { port: 0, password: PASSWORD } };
  autopush = parts.use(await startAutopush());
  [tab, server] = await Promise.all([
    startFirefoxTab({ autopush }),
    startFanfare({ ...SEED_CONFIG, config }),
  ]);
  parts.use(tab);
  parts.use(server);
  seeded = parts.use(await seed({ ...server, adminPassword: PASSWORD }));
}, FIREFOX_START_MAX_MS);
afterAll(() => parts.disposeAsync());

it('Firefox shows every page light and dark, wide and narrow, without a message in its console', async () => {
  await tab.open(`http://127.0.0.1:${server.adminPort}/dashboard/no/such/page`);
  await tab.until(`document.querySelector('input[type=password]') !== null`);
  await tab.evaluate(`{
    const field = document.querySelector('input[type=password]');
    field.value = ${JSON.stringify(PASSWORD)};
    field.dispatchEvent(new Event('input', { bubbles: true }));
    // Once the page has seen what was typed.
    requestAnimationFrame(() => field.form.requestSubmit());
  }`);
  const wrong: string[] = [];
  for (const [template, shown, first] of [...fullPages, ...ownPages()]) {
    const path = withIds(template, seeded);
    const text = withIds(shown, seeded);
    await tab.evaluate(`{
      history.pushState(null, '', ${JSON.stringify(`/dashboard${path}`)});
      dispatchEvent(new PopStateEvent('popstate'));
    }`);
    const has = (wanted: string) =>
      `document.querySelector('main')?.textContent.includes(${JSON.stringify(wanted)}) === true`;
    if (first !== undefined) {
      await tab.until(has(first));
      await seeded.sendBeside();
    }
    await tab.until(has(text)).catch(() => wrong.push(`${path} has no "${text}"`));
    wrong.push(...(await sizeFaults(path)));
  }
  expect(wrong).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

it('Firefox becomes a device, and shows what the dashboard sends to it', async () => {
  const asked = { ...server, adminPassword: PASSWORD };
  const web = { allowedHosts: ['127.0.0.1', 'localhost'], allowPrivateAddresses: true };
  const { json: made } = await admin(asked, 'POST', '/instances', { body: { web } });
  const { id } = made as { id: string };
  const origin = `http://127.0.0.1:${server.adminPort}`;
  await tab.open(`${origin}/dashboard/no/such/page`);
  await tab.evaluate(`fetch('/api/v1/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ password: ${JSON.stringify(PASSWORD)} }),
  }).then(({ status }) => status)`);
  await tab.open(`${origin}/dashboard/push/${id}/compose`);
  const button = (text: string) =>
    `[...document.querySelectorAll('button')].find((one) => one.textContent.includes(${JSON.stringify(text)}) && !one.disabled)`;
  for (const text of ['Make this browser a device', 'Send to this browser']) {
    await tab.until(`${button(text)} !== undefined`);
    await tab.evaluate(`${button(text)}.click()`);
  }
  await tab.until(`document.querySelector('main').textContent.includes('Shown after')`);
  // The service worker has reported to the server.
  await eventually(
    () => admin(asked, 'GET', `/instances/${id}/publishes`),
    ({ text }) => text.includes('"delivered":1'),
  );
  expect(tab.complaints).toEqual([]);
});

/** The widths that a page may have, each with the colours in which it is looked at. */
const looks = [
  [390, isLong ? ['dark', 'light'] : ['dark']],
  [1280, isLong ? ['dark', 'light'] : ['light']],
] as const;

/** What does not fit in the widths and colours that a page may have. */
async function sizeFaults(path: string): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [width, themes] of looks) {
    await tab.resize(width, 844);
    for (const theme of themes) {
      const look = await tab.evaluate(`{
        document.documentElement.dataset.theme = '${theme}';
        const { scrollWidth, clientWidth } = document.documentElement;
        const [, red, green, blue] = /(\\d+), (\\d+), (\\d+)/.exec(getComputedStyle(document.body).backgroundColor);
        const isDark = Number(red) + Number(green) + Number(blue) < 384;
        (innerWidth === ${width} ? '' : 'not resized ') +
          (scrollWidth > clientWidth ? 'scrolls sideways ' : '') +
          (isDark === ${String(theme === 'dark')} ? '' : 'has the other colours');
      }`);
      if (look !== '') faults.push(`${path} ${theme} ${width}: ${look}`);
    }
  }
  return faults;
}

/** The empty pages that look the same on a server that is in use. */
function ownPages(): readonly Row[] {
  return emptyPages.filter(([path]) => /^\/(apps|no)\//.test(path));
}
