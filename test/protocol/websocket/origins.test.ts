import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { RECEIVE_QUERY } from '../../../testing/clients/session-requests.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../../testing/servers/test-app.ts';

/** Source: identity, §4. */

const SHOP = 'https://shop.example.com';
const EVIL = 'https://shop.example.com.evil.example';
const REASON = 'Origin not allowed';

let server: Fanfare;
let app: TestApp;
beforeAll(async () => {
  // So that some sessions live on another thread than the one that takes their requests.
  server = await startFanfare({ threads: 2 });
  app = await newApp(server, { allowedOrigins: [SHOP, 'http://localhost:*'] });
});
afterAll(() => server[Symbol.asyncDispose]());

async function open(origin: string | undefined, of = app): Promise<RawClient> {
  const headers: Record<string, string> = origin === undefined ? {} : { origin };
  return await RawClient.open(server, { path: pathOf(7, of.key), headers });
}

/** The first answer to a new session, and the status of its response. */
async function firstAnswer(end: 'xhr_streaming' | 'xhr', origin: string | undefined) {
  const session = crypto.randomUUID().slice(0, 8);
  const headers: Record<string, string> = origin === undefined ? {} : { origin };
  const url = `http://127.0.0.1:${server.port}/pusher/app/${app.key}/606/${session}/${end}`;
  const abort = new AbortController();
  const response = await fetch(`${url}?${RECEIVE_QUERY}&t=1&n=1`, {
    method: 'POST',
    headers,
    signal: abort.signal,
  });
  const reader = response.body?.getReader();
  let text = '';
  while (!/^(?:o\n.|c.*\n|o\n$)/s.test(text) && reader !== undefined) {
    const { value, done } = await reader.read();
    text += new TextDecoder().decode(value);
    if (done) break;
  }
  abort.abort();
  return { status: response.status, text };
}

describe('an app that lists origins', () => {
  it.each([SHOP, SHOP.toUpperCase(), 'http://localhost', 'http://localhost:5173', undefined])(
    'takes a WebSocket from %p',
    async (origin) => {
      await using client = await open(origin);
      expect((await client.receive()).event).toBe('pusher:connection_established');
    },
  );

  it.each([EVIL, 'https://evil-shop.example.com', `${SHOP}:8443`, 'http://shop.example.com'])(
    'closes a WebSocket from %s with 4009, after an error that says the same',
    async (origin) => {
      await using client = await open(origin);
      expect(await client.receive()).toEqual({
        event: 'pusher:error',
        data: { code: 4009, message: REASON },
      });
      expect(await client.closed).toEqual({ code: 4009, reason: REASON });
    },
  );

  it('closes a page without an origin of its own, unless it lists null', async () => {
    await using refused = await open('null');
    expect(await refused.closed).toEqual({ code: 4009, reason: REASON });
    await using client = await open('null', await newApp(server, { allowedOrigins: ['null'] }));
    expect((await client.receive()).event).toBe('pusher:connection_established');
  });

  it.each(['xhr_streaming', 'xhr'] as const)('checks sessions of %s', async (end) => {
    // Each of them may live on either thread.
    for (let times = 0; times < 4; times++) {
      expect((await firstAnswer(end, SHOP)).text).toStartWith('o\n');
      expect((await firstAnswer(end, undefined)).text).toStartWith('o\n');
      const { status, text } = await firstAnswer(end, EVIL);
      expect(status).toBe(200);
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('h'));
      expect(lines.at(-1)).toBe(`c[4009,"${REASON}"]`);
    }
  });

  it('tells its operators which page was refused, and what to do', async () => {
    const shown = await newApp(server, { allowedOrigins: [SHOP] });
    await using client = await open(EVIL, shown);
    await client.closed;
    const { json } = await admin(server, 'GET', `/apps/${shown.id}/problems`);
    const [group] = (json as { problems: readonly object[] }).problems;
    expect(group).toMatchObject({
      source: 'connection',
      kind: 'origin-not-allowed',
      example: { text: `${REASON}: ${EVIL}` },
      advice: expect.stringContaining('allowedOrigins'),
    });
  });

  it('may change them at any time', async () => {
    const changing = await newApp(server);
    await using before = await open(EVIL, changing);
    expect((await before.receive()).event).toBe('pusher:connection_established');
    const body = { allowedOrigins: [SHOP] };
    const changed = await admin(server, 'PATCH', `/apps/${changing.id}`, { body });
    expect(changed.status).toBe(200);
    await using after = await open(EVIL, changing);
    expect(await after.closed).toEqual({ code: 4009, reason: REASON });
    // Those who are there stay.
    await before.receiveNothing();
  });

  it('is refused with the rule if one of them is none', async () => {
    const body = { allowedOrigins: [SHOP, 'https://shop.example.com/path'] };
    const { status, text } = await admin(server, 'PATCH', `/apps/${app.id}`, { body });
    expect(status).toBe(400);
    expect(text).toContain('allowedOrigins[1]: must be an origin such as https://shop.example.com');
  });
});
