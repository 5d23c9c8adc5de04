import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import type { Page } from 'playwright-core';
import { admin } from '../../../testing/clients/admin-api.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { openDashboard, PASSWORD } from '../dashboard-page.ts';

setDefaultTimeout(180_000);

let server: Fanfare;
let browser: Chromium;
beforeAll(async () => {
  [server, browser] = await Promise.all([
    startFanfare({
      config: {
        admin: {
          port: 0,
          password: PASSWORD,
          proxy: {
            trust: ['127.0.0.1'],
            userHeader: 'Remote-User',
            groupsHeader: 'Remote-Groups',
          },
          roles: [{ group: 'guests', role: 'viewer' }],
        },
      },
    }),
    startChromium(),
  ]);
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
});

/** What has the focus: its name and tag, `lost` if nothing has it, and `unseen` if it cannot be seen. */
async function focused(page: Page): Promise<string> {
  return (await page.evaluate(`(() => {
    const { activeElement: on } = document;
    if (on === null || on === document.body) return 'lost';
    const name = on.ariaLabel ?? (on.labels?.[0] ?? on).textContent.trim();
    const { outlineStyle } = getComputedStyle(on);
    const { left, top, bottom, right, width } = on.getBoundingClientRect();
    const isIn = width > 0 && top < innerHeight && bottom > 0 && left < innerWidth && right > 0;
    return (isIn && outlineStyle !== 'none' ? '' : 'unseen ') + on.localName + ' ' + name;
  })()`)) as string;
}

/** Presses Tab until the focus leaves the page, and returns what had it. */
async function tabThrough(page: Page): Promise<readonly string[]> {
  const seen: string[] = [];
  for (let pressed = 0; pressed < 100; pressed++) {
    await page.keyboard.press('Tab');
    const on = await focused(page);
    if (on === 'lost') break;
    seen.push(on);
  }
  return seen;
}

/** What a page offers to click or to type into, in `main`. */
async function offered(page: Page): Promise<number> {
  return await page
    .getByRole('main')
    .locator(
      ':is(a[href], button:not([role=tab]), input, textarea, [role=listbox]):enabled:visible',
    )
    .count();
}

/** Titles of pages, by the second of the keys that lead there. */
const byKeys = {
  l: 'Live',
  c: 'Channels',
  n: 'Connections',
  p: 'Problems',
  s: 'Send',
  w: 'Webhooks',
  m: 'Usage',
  o: 'Connect',
  k: 'Keys',
  t: 'Settings',
  u: 'Publishes',
  d: 'Devices',
  e: 'Compose',
  i: 'Credentials',
} as const;

/** Titles of pages that only their links lead to. */
const byLinks = ['Servers', 'Log', 'Audit'] as const;

/** What of the open page cannot be reached by Tab, or has the focus unseen. */
async function unreachable(page: Page, title: string): Promise<readonly string[]> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  await page.locator('main :is(.empty, form, table, .card, [role=listbox])').first().waitFor();
  // From the start of the page.
  await page.locator('h1').click();
  const wanted = await offered(page);
  const reached = await tabThrough(page);
  const unseen = reached.filter((on) => on.startsWith('unseen')).map((on) => `${title}: ${on}`);
  if (reached.length >= wanted) return unseen;
  return [...unseen, `${title}: ${reached.length} of ${wanted} reached`];
}

describe('by keyboard alone', () => {
  it('every page is reached by two keys or a link, and all that it offers by Tab, always seen', async () => {
    const asked = { ...server, adminPassword: PASSWORD };
    expect((await admin(asked, 'POST', '/instances', { body: {} })).status).toBe(201);
    const { page, complaints } = await openDashboard(server, browser, `/apps/${APP.id}/keys`);
    const faults: string[] = [];
    for (const [key, title] of Object.entries(byKeys)) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      faults.push(...(await unreachable(page, title)));
    }
    for (const title of byLinks) {
      await page.getByRole('navigation').getByRole('link', { name: title }).press('Enter');
      faults.push(...(await unreachable(page, title)));
    }
    expect(faults).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('windows give the focus back where it was, and leave at once for the next one', async () => {
    const { page } = await openDashboard(server, browser, `/apps/${APP.id}/send`);
    const palette = page.getByRole('combobox', { name: 'Find anything' });
    await page.getByRole('button', { name: 'Send', exact: true }).focus();
    for (let turn = 0; turn < 5; turn++) {
      await page.keyboard.press('Control+k');
      await palette.waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await page.keyboard.press('Escape');
    }
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('button Send');
    // Escape closes only the window on top.
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Control+k');
    await palette.waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await page.close();
  });

  it('a question that is answered gives the focus back', async () => {
    const { id } = await newApp({ ...server, adminPassword: PASSWORD });
    const { page } = await openDashboard(server, browser, `/apps/${id}/settings`);
    await page.getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('button Delete');
    await page.close();
  });

  it('a link that was followed leaves the focus in the new page', async () => {
    const { page } = await openDashboard(server, browser, `/apps/${APP.id}/channels`);
    await page.getByRole('link', { name: 'Connect a client' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Connect' }).waitFor();
    await page.locator('main:focus').waitFor();
    // The first thing to focus, which needs the keys of the app.
    await page.getByRole('tab', { name: 'pusher-js' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('button pusher-js');
    await page.close();
  });

  it('on a narrow screen, all pages are behind More, which gives the focus back', async () => {
    const { page } = await openDashboard(server, browser, `/apps/${APP.id}/send`);
    await page.setViewportSize({ width: 390, height: 844 });
    const more = page.getByRole('button', { name: 'More' });
    await more.press('Enter');
    await page.getByRole('dialog', { name: 'More pages' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('button More');
    await more.press('Enter');
    await page.getByRole('dialog').getByRole('link', { name: 'Problems' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Problems' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.close();
  });
});

describe('a refusal of the server is explained', () => {
  it('409: what was typed stays', async () => {
    const asked = { ...server, adminPassword: PASSWORD };
    const app = await newApp(asked);
    const { page } = await openDashboard(server, browser, `/apps/${app.id}/send`);
    await page.getByRole('textbox', { name: 'Data' }).fill('what was typed');
    expect((await admin(asked, 'POST', `/apps/${app.id}/disable`)).status).toBe(200);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('disabled').waitFor();
    expect(await alert.textContent()).toContain('Something else must change');
    expect(await page.getByRole('textbox', { name: 'Data' }).inputValue()).toBe('what was typed');
    await page.close();
  });

  it('403: which role is needed, and which one the user has', async () => {
    const { page } = await browser.open('about:blank');
    await page.context().clearCookies();
    await page.setExtraHTTPHeaders({ 'Remote-User': 'vera', 'Remote-Groups': 'guests' });
    await page.goto(`http://127.0.0.1:${server.adminPort}/dashboard/apps/${APP.id}/problems`);
    const alert = page.getByRole('alert');
    await alert.getByText(/support/).waitFor();
    expect(await alert.textContent()).toContain('You are viewer here.');
    await page.goto(`http://127.0.0.1:${server.adminPort}/dashboard/apps/${APP.id}/send`);
    await page.getByText('Sending takes the role operator.').waitFor();
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
    await page.close();
  });
});
