import { expect, it, setDefaultTimeout } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveOnTerminal } from '../../testing/servers/on-terminal.ts';
import { startChromium } from './chromium.ts';
import { startSite } from './site.ts';

setDefaultTimeout(180_000);

const NODE_MODULES = join(import.meta.dir, '../../node_modules');

/** The unchanged text below a heading, up to the next line that is not indented. */
function below(heading: string, printed: string): string {
  const lines = printed.split('\n');
  const start = lines.findIndex((line) => line.startsWith(heading)) + 1;
  if (start === 0) throw new Error(`"${heading}" was not printed: ${printed}`);
  const length = lines.slice(start).findIndex((line) => /^\S/.test(line));
  return lines.slice(start, start + length).join('\n');
}

it('shows an event in a browser with only the code that `fanfare serve` prints', async () => {
  // Nothing is configured except free ports.
  const empty = mkdtempSync(join(tmpdir(), 'fanfare-first-start-'));
  await using server = await serveOnTerminal(empty, {
    FANFARE_CHANNELS_PORT: '0',
    FANFARE_ADMIN_PORT: '0',
    FANFARE_PUSH_PORT: '0',
  });
  const { printed } = server;

  // The page is the printed text, but its script comes from node_modules rather than the CDN.
  const snippet = below('In a page:', printed);
  const cdn = /src="https:\/\/js\.pusher\.com\/[^"]+"/;
  expect(snippet).toMatch(cdn);
  using site = startSite(server);
  await using browser = await startChromium();
  const { page } = await browser.open(
    site.publish(`<!doctype html>\n${snippet.replace(cdn, 'src="/pusher.min.js"')}`),
  );
  const alerted = page.waitForEvent('dialog');
  await page.waitForFunction("pusher.channel('my-channel').subscribed");

  // The backend is the printed text in a file that Node runs.
  const backend = join(empty, 'backend.js');
  writeFileSync(backend, below('In a backend', printed));
  const node = Bun.spawn(['node', backend], {
    env: { ...process.env, NODE_PATH: NODE_MODULES },
    stdout: 'inherit',
    stderr: 'inherit',
  });

  const dialog = await alerted;
  expect(dialog.message()).toBe('{"message":"hello"}');
  await dialog.accept();
  expect(await node.exited).toBe(0);
});
