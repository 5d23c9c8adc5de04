import { afterAll, beforeAll, expect, it } from 'bun:test';
import { connect } from 'node:net';
import { LiveStream } from '../../testing/clients/live-stream.ts';
import { TRUSTED_USER_PROXY } from '../../testing/clients/proxied-user.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';

/** Who watches an app attacks those who watch another one. */

let server: Fanfare;
let apps: { readonly floods: readonly TestApp[]; readonly shop: TestApp };
beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    config: {
      admin: {
        port: 0,
        proxy: { ...TRUSTED_USER_PROXY, trust: ['127.0.0.1'] },
        roles: [
          { group: 'attackers', role: 'support', apps: ['flood-0', 'flood-1', 'flood-2'] },
          { group: 'shop', role: 'support', apps: ['shop'] },
        ],
      },
    },
  });
  const made = async (id: string) => await newApp(server, { id });
  apps = {
    floods: await Promise.all(['flood-0', 'flood-1', 'flood-2'].map(made)),
    shop: await made('shop'),
  };
});
afterAll(() => server[Symbol.asyncDispose]());

const mallory = { name: 'mallory', groups: 'attackers' };
const bob = { name: 'bob', groups: 'shop' };

it('an operator who opens all the streams that there are loses some to watchers of another app', async () => {
  await using opened = new AsyncDisposableStack();
  const outcomes: string[] = [];
  for (let n = 0; n < 24; n++) {
    const app = apps.floods[n % 3]?.id ?? '';
    await LiveStream.ofUser(server, app, mallory).then(
      (stream) => {
        opened.use(stream);
        outcomes.push('opened');
      },
      (error: unknown) => outcomes.push(String(error).slice(0, 10)),
    );
  }
  // The last place is kept for an admin of the whole server.
  expect(outcomes.filter((outcome) => outcome === 'opened')).toHaveLength(7);
  expect(new Set(outcomes)).toEqual(new Set(['opened', 'Error: 429']));

  await using first = opened.use(await LiveStream.ofUser(server, apps.shop.id, bob));
  await using second = opened.use(await LiveStream.ofUser(server, apps.shop.id, bob));
  await using ofAdmin = opened.use(await LiveStream.open(server, apps.shop.id));
  await apps.shop.trigger({ name: 'seen', channel: 'orders', data: '{}' });
  for (const stream of [first, second, ofAdmin]) await stream.record({ event: 'seen' });
});

it('an app that floods its live streams hides no event of another app, and takes no answer from it', async () => {
  const [flood] = apps.floods;
  if (flood === undefined) throw new Error('there is no app to flood');
  await using member = await apps.shop.connect();
  await member.subscribe('orders.1');
  // The server may still be ending the streams of the attack before.
  await using watching = await eventually(
    () => LiveStream.ofUser(server, flood.id, mallory).catch(() => undefined),
    (opened) => opened !== undefined,
  );
  // One more reads nothing of it.
  using opened = new DisposableStack();
  const deaf = opened.adopt(connect(server.adminPort, '127.0.0.1'), (socket) => socket.destroy());
  deaf.on('error', () => undefined);
  deaf.write(
    `GET /api/v1/apps/${flood.id}/stream HTTP/1.1\r\nHost: x\r\nRemote-User: mallory\r\nRemote-Groups: attackers\r\n\r\n`,
  );
  await new Promise((resolve) => deaf.once('data', resolve));
  deaf.pause();

  await using flooding = startFlood(flood);
  await using stream = await LiveStream.ofUser(server, apps.shop.id, bob);
  await watching?.event('batch', ({ skipped }) => Number(Object(skipped).api ?? 0) > 0);
  for (let n = 0; n < 20; n++) {
    const data = JSON.stringify({ n, text: 'x'.repeat(900) });
    await apps.shop.trigger({ name: `order-${n}`, channel: 'orders.1', data });
    // The thread of the subscriber may report it later than the record is shown: an update adds it then.
    expect(await stream.record({ event: `order-${n}`, receivers: 1 })).toMatchObject({ data });
  }
  await apps.shop.trigger({ name: 'lost', channel: 'orders-1', data: '{}' });
  expect(await stream.record({ near: 'orders.1' })).toMatchObject({ event: 'lost' });

  expect(await flooding.stop()).toBeGreaterThan(500);
  const skipped = (stream.events.get('batch') ?? []).map((batch) => Object(batch).skipped);
  expect(skipped.filter((kinds) => Object.keys(kinds).length > 0)).toEqual([]);
  expect(JSON.stringify(stream.records)).not.toContain('flood');
});

/** Publishes as fast as it gets answers, until it is stopped. */
function startFlood(app: TestApp): AsyncDisposable & {
  /** Returns how many events it has sent. */
  stop(): Promise<number>;
} {
  let isOver = false;
  let sent = 0;
  const publishing = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) {
        // Each name is new and has no subscriber, so each event asks for a search.
        const batch = Array.from({ length: 10 }, () => ({
          name: 'flood',
          channel: `orders-${sent++}`,
          data: 'x'.repeat(5000),
        }));
        await (await app.post('/batch_events', { batch })).arrayBuffer();
      }
    }),
  );
  // `stop` throws it. If the test has failed, the server may be gone before.
  publishing.catch(() => undefined);
  return {
    async stop() {
      isOver = true;
      await publishing;
      return sent;
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await publishing.catch(() => undefined);
    },
  };
}
