import { describe, expect, it } from 'bun:test';
import { storedWebhookLog } from '../../../src/cli/webhooks/webhook-log.ts';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { StoredOutbox } from '../../../src/stores/webhooks/outbox.ts';
import type { NewOutboxRequest } from '../../../src/webhooks/outbox.ts';
import { databases } from '../../../testing/databases/databases.ts';

const request = (id: string, ownerId: string): NewOutboxRequest => ({
  id,
  kind: 'channels',
  ownerId,
  url: 'https://hooks.example.test/',
  endpoint: `one of ${ownerId}`,
  events: 'channel_occupied',
  body: '{"events":[]}',
  bodyBytes: 13,
  createdAtMs: Date.UTC(2026, 0, 1),
  afterId: undefined,
});

/** A store in which a server has left one webhook that was delivered, and one that waits. */
async function fill(url: string): Promise<void> {
  await using database = await openDatabase(url);
  const [delivered, waiting] = [request('1', 'a'), request('2', 'b')];
  await new StoredOutbox(database).write(
    [delivered, waiting],
    [
      {
        request: {
          ...delivered,
          attempts: 0,
          tries: 0,
          firstTryAtMs: undefined,
          claimedUntilMs: 0,
        },
        attempt: {
          number: 1,
          atMs: Date.UTC(2026, 0, 2),
          durationMs: 12,
          outcome: 'delivered',
          status: 200,
          answer: 'thanks',
        },
        next: { state: 'delivered', atMs: Date.UTC(2026, 0, 2), reason: 'HTTP 200' },
      },
    ],
  );
}

for (const { name, make } of databases) {
  describe(`the log of webhooks on ${name}`, () => {
    it('is read and replayed without a server', async () => {
      await using store = await make();
      await fill(store.url);
      await using log = storedWebhookLog(await openDatabase(store.url));
      const ids = async (filter: Partial<Parameters<typeof log.list>[0]>) =>
        (
          await log.list({
            app: undefined,
            instance: undefined,
            state: undefined,
            limit: 9,
            ...filter,
          })
        ).map(({ id }) => id);
      expect(await ids({})).toEqual(['2', '1']);
      expect(await ids({ limit: 1 })).toEqual(['2']);
      expect(await ids({ app: 'a' })).toEqual(['1']);
      expect(await ids({ state: 'waiting' })).toEqual(['2']);
      expect(await log.show('1')).toMatchObject({
        id: '1',
        app: 'a',
        state: 'delivered',
        createdAt: '2026-01-01T00:00:00.000Z',
        body: '{"events":[]}',
        attemptLog: [{ at: '2026-01-02T00:00:00.000Z', status: 200, answer: 'thanks' }],
      });
      expect(await log.show('3')).toBeUndefined();
      expect(await log.replay('3')).toBe('unknown');
      expect(await log.replay('2')).toBe('waiting');
      expect(await log.replay('1')).toBe('replayed');
      expect(await ids({ state: 'waiting' })).toEqual(['2', '1']);
    });

    it('separates apps and instances, and shows no password from a publish', async () => {
      await using store = await make();
      await using database = await openDatabase(store.url);
      const withPassword = 'https://ann:geheim@hooks.example.test/';
      await new StoredOutbox(database).write(
        [
          request('1', 'a'),
          { ...request('2', 'a'), kind: 'push' },
          {
            ...request('3', 'a'),
            kind: 'publish',
            body: JSON.stringify({ status: 'STARTED', requestBody: { webhookUrl: withPassword } }),
          },
        ],
        [],
      );
      await using log = storedWebhookLog(await openDatabase(store.url));
      const owners = async (app: string | undefined, instance: string | undefined) =>
        (await log.list({ app, instance, state: undefined, limit: 9 })).map(
          ({ id, kind, ...owner }) => [id, kind, owner.app, owner.instance],
        );
      expect(await owners('a', undefined)).toEqual([['1', 'channels', 'a', null]]);
      expect(await owners(undefined, 'A')).toEqual([
        ['3', 'publish', null, 'a'],
        ['2', 'push', null, 'a'],
      ]);
      expect(await owners('a', 'a')).toEqual([]);
      expect(await owners(undefined, undefined)).toHaveLength(3);
      expect((await log.show('3'))?.body).toBe(
        '{"status":"STARTED","requestBody":{"webhookUrl":"https://***@hooks.example.test/"}}',
      );
      expect(await new StoredOutbox(database).body('3')).toContain('geheim');
    });
  });
}
