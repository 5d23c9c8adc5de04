import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';
import {
  ask,
  BACKEND,
  publish,
  published,
  publishes,
  refusal,
  startPush,
  TO_INTERESTS,
  TO_USERS,
} from './exchange.ts';

const PAD = 'x'.repeat(9000);

const limited = (pendingPublishBytes: number) => ({
  instance: { limits: { publishesPerSecond: 0, pendingPublishBytes } },
});

const bodyOf = (server: Fanfare, id: string): string => {
  using store = new Database(join(server.directory, 'fanfare.db'), { readonly: true });
  const query = store.query<{ body: string }, [string]>('SELECT body FROM publishes WHERE id = ?');
  return query.get(id)?.body ?? 'no such publish';
};

const later = () => new Date(Date.now() + 3_600_000).toISOString();

async function finished(server: Fanfare, id: string): Promise<void> {
  for (;;) {
    const { json } = await ask(server, 'GET', publishes(`/${id}`), { headers: BACKEND });
    if ((json as { state: string }).state === 'finished') return;
  }
}

describe('the body of a publish', () => {
  it('is kept without fields that are not documented, and forgotten once the publish is finished', async () => {
    await using server = await startPush();
    const scheduled = { ...TO_INTERESTS, sendAt: later() };
    const padded = { ...scheduled, pad: PAD, fcm: { ...TO_INTERESTS.fcm, note: 1 } };
    const id = await published(server, padded);
    expect(JSON.parse(bodyOf(server, id))).toEqual(scheduled);
    for (const body of [TO_INTERESTS, { ...TO_USERS, pad: PAD }]) {
      const done = await published(server, body);
      await finished(server, done);
      while (bodyOf(server, done) !== '');
    }
  });

  it('is told to its webhook as it came, and then forgotten', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startPush({
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    const body = { ...TO_INTERESTS, pad: PAD.slice(0, 500), webhookUrl: backend.url };
    const id = await published(server, body);
    const told = [await backend.requests.next(), await backend.requests.next()];
    for (const { body: text } of told) {
      expect(JSON.parse(text)).toMatchObject({ publishId: id, requestBody: body });
    }
    while (bodyOf(server, id) !== '');
  });
});

describe('publishes that are not finished', () => {
  it('have a limit of bytes, beyond which others get 429 until some are over', async () => {
    await using server = await startPush(limited(2_300));
    const body = { ...TO_INTERESTS, sendAt: later(), fcm: { data: { pad: PAD.slice(0, 700) } } };
    const ids = [await published(server, body), await published(server, body)];
    const refused = await publish(server, '/interests', body);
    expect(refused).toMatchObject(refusal(429, 'Rate Limited', /limit of 2300 bytes/));
    expect(refused.headers.get('retry-after')).toBe('30');
    const line = JSON.parse(await server.logged(/unfinished publishes take too much space/));
    expect(line).toMatchObject({ setting: 'limits.pendingPublishBytes', limit: 2300 });
    // What nobody reads does not count.
    await published(server, { ...TO_INTERESTS, pad: PAD });

    await ask(server, 'DELETE', publishes(`/${ids[0]}`), { headers: BACKEND });
    // It is looked once a second.
    while ((await publish(server, '/interests', body)).status !== 200);
    expect((await publish(server, '/interests', body)).status).toBe(429);
  });
});
