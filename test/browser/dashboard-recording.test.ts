import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Download, Page } from 'playwright-core';
import { admin } from '../../testing/clients/admin-api.ts';
import { connect } from '../../testing/clients/official-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp } from '../../testing/servers/test-app.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { axe, openDashboard, PASSWORD } from './dashboard-page.ts';

setDefaultTimeout(180_000);

let server: Fanfare;
let browser: Chromium;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-recording-'));
  [server, browser] = await Promise.all([
    startFanfare({ config: { admin: { port: 0, password: PASSWORD } } }),
    startChromium(),
  ]);
});
afterAll(async () => {
  await Promise.all([browser[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Presses a button that downloads a file, and keeps it. */
async function saved(page: Page, button: string): Promise<string> {
  const given: Promise<Download> = page.waitForEvent('download');
  await page.getByRole('button', { name: button }).click();
  const file = await given;
  const path = join(folder, file.suggestedFilename());
  await file.saveAs(path);
  return path;
}

it('records what happens, opens it again, makes a test of it, and sends it to another app', async () => {
  const { page, complaints } = await openDashboard(server, browser, `/apps/${APP.id}/live`);
  await page
    .getByText(/^Connected\./)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Record' }).click();
  const stop = page.getByRole('button', { name: /^Stop/ });
  await stop.waitFor();
  {
    using client = connect(server);
    await client.subscribe('my-channel').subscribed();
    for (const data of ['{"id":1}', 'text']) {
      await trigger(server, { name: 'order', channel: 'my-channel', data });
    }
  }
  const rows = page.getByRole('listbox', { name: /^Live events/ }).getByRole('option');
  await rows.filter({ hasText: 'disconnected' }).waitFor();
  const recording = await saved(page, 'Stop');
  const lines = (await Bun.file(recording).text()).trimEnd().split('\n');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ recording: 1, app: APP.id });
  await page.getByText(/^Recorded \d+ records: stopped/).waitFor();

  await page.getByLabel('Recording').setInputFiles(recording);
  await page.getByText(`This is a recording of ${APP.id}`).waitFor();
  await rows
    .filter({ hasText: /order.*→ received by 1/ })
    .first()
    .waitFor();
  expect(await axe(page)).toEqual([]);

  const steps = await saved(page, 'Steps for pusher-js');
  const run = async (more: object = {}) => {
    const script = Bun.spawn([process.execPath, steps], {
      env: { ...process.env, PASSWORD, ...more },
      cwd: join(import.meta.dir, '../..'),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, errors] = await Promise.all([
      new Response(script.stdout).text(),
      new Response(script.stderr).text(),
    ]);
    return { code: await script.exited, out, errors };
  };
  await Bun.write(
    steps,
    (await Bun.file(steps).text()).replace(
      "'pusher-js'",
      JSON.stringify(Bun.resolveSync('pusher-js', import.meta.dir)),
    ),
  );
  expect(await run()).toMatchObject({ code: 0, out: 'All steps passed.\n' });
  expect(await run({ PASSWORD: 'wrong' })).toMatchObject({ code: 1, out: '' });

  const other = await newApp({ ...server, adminPassword: PASSWORD });
  await page.reload();
  await page.getByLabel('Recording').setInputFiles(recording);
  await using listener = await other.connect();
  await listener.subscribe('my-channel');
  await page.getByRole('button', { name: 'Send again' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'To the app' }).selectOption(other.id);
  await dialog.getByRole('combobox', { name: 'Speed' }).selectOption('10');
  await dialog.getByLabel('Type “2” to continue').fill('2');
  await dialog.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Sent 2 of 2.').waitFor();
  for (const data of ['{"id":1}', 'text']) {
    expect(await listener.receive()).toMatchObject({ event: 'order', channel: 'my-channel', data });
  }
  const { json } = await admin({ ...server, adminPassword: PASSWORD }, 'GET', '/audit');
  expect((json as { entries: object[] }).entries).toContainEqual(
    expect.objectContaining({ operation: 'sendEvent', subject: other.id }),
  );
  await page.getByRole('button', { name: 'Back to live' }).click();
  await page
    .getByText(/^Connected\./)
    .first()
    .waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});
