import { afterAll, beforeAll, expect, it } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { admin } from '../../testing/clients/admin-api.ts';
import { PROGRAM } from '../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from './chromium.ts';

/** A server that was started on a terminal. */
interface OnTerminal extends AsyncDisposable {
  readonly adminPort: number;
  /** The link that it has printed. */
  readonly link: string;
  readonly adminPassword: undefined;
}

const PASSWORD = 'geheim: ü';

async function startOnTerminal(): Promise<OnTerminal> {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-terminal-'));
  const { promise, resolve } = Promise.withResolvers<string>();
  let printed = '';
  const decoder = new TextDecoder();
  const server = Bun.spawn([process.execPath, PROGRAM, 'serve'], {
    cwd: directory,
    env: {
      ...process.env,
      FANFARE_CHANNELS_PORT: '0',
      FANFARE_ADMIN_PORT: '0',
      FANFARE_PUSH_PORT: '0',
      FANFARE_ADMIN_PASSWORD: PASSWORD,
    },
    terminal: {
      cols: 200,
      rows: 50,
      data(_, bytes) {
        printed += decoder.decode(bytes, { stream: true });
        const link = /^Dashboard (http:\S+#token=\S+)\s/m.exec(printed)?.[1];
        if (link !== undefined) resolve(link);
      },
    },
  });
  const ended = server.exited.then((code) => {
    throw new Error(`The server ended (${code}) before it printed a link: ${printed}`);
  });
  const link = await Promise.race([promise, ended]);
  ended.catch(() => undefined);
  return {
    adminPort: Number(new URL(link).port),
    link,
    adminPassword: undefined,
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL');
      await server.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

let server: OnTerminal;
let browser: Chromium;
beforeAll(async () => {
  [server, browser] = await Promise.all([startOnTerminal(), startChromium()]);
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
});

/** Opens a page of the dashboard, and collects what it complains about. */
async function openDashboard(url: string): Promise<{ page: Page; complaints: string[] }> {
  const { page } = await browser.open('about:blank');
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints };
}

/** Settles with the status of the next answer to a log-in. */
async function logInStatus(page: Page): Promise<number> {
  const answer = await page.waitForResponse(
    (response) => response.url().endsWith('/session') && response.request().method() === 'POST',
  );
  return answer.status();
}

/** The names of the cookies, which a page cannot read. */
async function cookiesOf(page: Page): Promise<readonly string[]> {
  const cookies = await page.context().cookies();
  for (const cookie of cookies)
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  return cookies.map(({ name }) => name);
}

it('logs in with the link that a start on a terminal prints, once, and with the password', async () => {
  const { page, complaints } = await openDashboard('about:blank');
  let status = logInStatus(page);
  await page.goto(server.link);
  expect(await status).toBe(200);
  await page.locator('#page > *').first().waitFor();
  expect(page.url()).toBe(`http://127.0.0.1:${server.adminPort}/dashboard`);
  expect(complaints).toEqual([]);
  expect(await cookiesOf(page)).toEqual(['fanfare']);

  // Without a session, the page asks for the password, and nothing complains.
  await page.goto('about:blank');
  await page.context().clearCookies();
  await page.goto(`http://127.0.0.1:${server.adminPort}/dashboard`);
  await page.getByLabel('Password').waitFor();
  expect(complaints).toEqual([]);

  // The link has been used.
  await page.goto('about:blank');
  status = logInStatus(page);
  await page.goto(server.link);
  expect(await status).toBe(401);

  for (const [password, expected] of [
    ['wrong', 401],
    [PASSWORD, 200],
  ] as const) {
    status = logInStatus(page);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    expect(await status).toBe(expected);
  }
  expect(await cookiesOf(page)).toEqual(['fanfare']);
  await page.getByLabel('Password').waitFor({ state: 'detached' });
  await page.evaluate(
    "fetch('/api/v1/session', { method: 'DELETE', headers: { 'content-type': 'application/json' } })",
  );
  expect(await cookiesOf(page)).toEqual([]);
});

it('serves what is behind the log-in only to users who are logged in', async () => {
  const { text } = await admin(server, 'GET', '//dashboard');
  const open = [...text.matchAll(/"(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(open.length).toBeGreaterThan(2);
  const scripts: string[] = [];
  for (const path of open) {
    const answer = await admin(server, 'GET', `/${path}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    scripts.push(answer.text);
  }
  const behind = [...scripts.join().matchAll(/import\("([^"]+)"\)/g)].map(([, path]) => path ?? '');
  expect(behind.length).toBeGreaterThan(0);
  const headers = { authorization: `Bearer ${Buffer.from(PASSWORD).toString('latin1')}` };
  for (const path of behind) {
    const name = path.slice(path.lastIndexOf('/'));
    const ask = (more: object) => admin(server, 'GET', `//dashboard/assets${name}`, more);
    expect((await ask({})).status).toBe(401);
    expect((await ask({ headers })).status).toBe(200);
  }
});
