import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { eventually } from '../../../../testing/eventually.ts';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../../../testing/servers/webhook-endpoint.ts';
import {
  ask,
  newInstance,
  publish,
  published,
  publishes,
  refusal,
  startPush,
  statusOf,
  TO_INTERESTS,
  TO_USERS,
} from '../exchange.ts';

const PAD = 'x'.repeat(9000);

let server: Fanfare;
beforeAll(async () => {
  server = await startPush({ config: { webhooks: { allowPrivateAddresses: true } } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The body of a publish, as the store has it. */
const bodyOf = (id: string): string => {
  using store = new Database(join(server.directory, 'fanfare.db'), { readonly: true });
  const query = store.query<{ body: string }, [string]>('SELECT body FROM publishes WHERE id = ?');
  return query.get(id)?.body ?? 'no such publish';
};

const forgotten = (id: string) =>
  eventually(
    () => bodyOf(id),
    (body) => body === '',
  );

const later = () => new Date(Date.now() + 3_600_000).toISOString();

describe('the body of a publish', () => {
  it('is kept without fields that are not documented, and forgotten once the publish is finished', async () => {
    const scheduled = { ...TO_INTERESTS, sendAt: later() };
    const padded = { ...scheduled, pad: PAD, fcm: { ...TO_INTERESTS.fcm, note: 1 } };
    const id = await published(server, padded);
    expect(JSON.parse(bodyOf(id))).toEqual(scheduled);
    for (const body of [TO_INTERESTS, { ...TO_USERS, pad: PAD }]) {
      const done = await published(server, body);
      await eventually(
        () => statusOf(server, done),
        ({ state }) => state === 'finished',
      );
      await forgotten(done);
    }
  });

  it('is sent to its webhook unchanged, and then forgotten', async () => {
    using backend = startWebhookEndpoint();
    const body = { ...TO_INTERESTS, pad: PAD.slice(0, 500), webhookUrl: backend.url };
    const id = await published(server, body);
    const requests = [await backend.requests.next(), await backend.requests.next()];
    for (const { body: text } of requests) {
      expect(JSON.parse(text)).toMatchObject({ publishId: id, requestBody: body });
    }
    await forgotten(id);
  });
});

describe('publishes that are not finished', () => {
  it('have a limit of bytes, beyond which others get 429 until some are finished', async () => {
    const instance = await newInstance(server, { limits: { pendingPublishBytes: 2_300 } });
    const body = { ...TO_INTERESTS, sendAt: later(), fcm: { data: { pad: PAD.slice(0, 700) } } };
    const ids = [await published(instance, body), await published(instance, body)];
    const refused = await publish(instance, '/interests', body);
    expect(refused).toMatchObject(refusal(429, 'Rate Limited', /limit of 2300 bytes/));
    expect(refused.headers.get('retry-after')).toBe('30');
    const line = JSON.parse(await server.logged(/unfinished publishes take too much space/));
    expect(line).toMatchObject({ setting: 'limits.pendingPublishBytes', limit: 2300 });
    // Undocumented fields are not stored, so they do not count.
    await published(instance, { ...TO_INTERESTS, pad: PAD });

    const headers = { authorization: `Bearer ${instance.secretKey}` };
    await ask(instance, 'DELETE', publishes(`/${ids[0]}`, instance.id), { headers });
    // The server measures once a second.
    await eventually(
      () => publish(instance, '/interests', body),
      ({ status }) => status === 200,
    );
    expect((await publish(instance, '/interests', body)).status).toBe(429);
  });
});
