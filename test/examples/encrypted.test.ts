import { expect, it, setDefaultTimeout } from 'bun:test';
import { startChromium } from '../browser/chromium.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { fanfareOf, startProgram } from './program.ts';

/** `examples/encrypted`, started as its README says. */

setDefaultTimeout(180_000);

it('shows a note of one page in another, and sends it encrypted only', async () => {
  using directory = temporaryDirectory();
  await using server = await fanfareOf('encrypted', directory.path);
  const environment = { FANFARE_PORT: String(server.port), PORT: '0' };
  await using site = await startProgram('encrypted', 'start', { environment });
  const url = await site.origin;
  await using browser = await startChromium();
  const { page: writer } = await browser.open(url);
  const { page: reader } = await browser.open('about:blank');
  const frames: string[] = [];
  reader.on('websocket', (socket) => {
    socket.on('framereceived', ({ payload }) => frames.push(String(payload)));
  });
  await reader.goto(url);
  for (const page of [writer, reader]) await page.getByText('connected').waitFor();

  await writer.locator('input').fill('nobody else knows');
  await writer.locator('input').press('Enter');

  await reader.getByText('nobody else knows').waitFor();
  const events = frames.map((frame) => JSON.parse(frame) as { event: string; data: string });
  const note = events.find(({ event }) => event === 'note');
  expect(Object.keys(JSON.parse(note?.data ?? '{}')).sort()).toEqual(['ciphertext', 'nonce']);
  expect(frames.join()).not.toContain('nobody else knows');
});

it('does not authorise other channels, and survives bodies that are not JSON', async () => {
  await using site = await startProgram('encrypted', 'start', { environment: { PORT: '0' } });
  const url = await site.origin;
  const post = async (path: string, body: string) =>
    (await fetch(`${url}${path}`, { method: 'POST', body })).status;

  expect(await post('/api/pusher/auth', 'socket_id=1.2&channel_name=private-other')).toBe(403);
  expect(await post('/api/notes', '{')).toBe(500);
  expect(await post('/api/notes', '{"text":1}')).toBe(400);
});
