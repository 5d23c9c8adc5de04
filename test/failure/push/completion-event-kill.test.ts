import { afterEach, beforeEach, expect, it } from 'bun:test';
import { join } from 'node:path';
import { PushRequests, requestPush } from '../../../testing/clients/push-requests.ts';
import { type Fanfare, spawnFanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { INSTANCE, instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../../testing/servers/webhook-endpoint.ts';
import { countOf, openRows } from './rows.ts';

/** A server that is killed between the end of a publish and its completion event. */

const LOOK_MS = 10;

/** Longer than anything that the test waits for. */
const WAIT_MAX_MS = 60_000;

const requests = new PushRequests(INSTANCE);
let endpoint: WebhookEndpoint;
let parts: AsyncDisposableStack;

beforeEach(() => {
  parts = new AsyncDisposableStack();
  endpoint = parts.use(startWebhookEndpoint());
});
afterEach(() => parts.disposeAsync());

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MAX_MS;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error('it never happened');
    await Bun.sleep(LOOK_MS);
  }
}

async function start(held: 'requests' | 'removals'): Promise<Fanfare> {
  const webhook = {
    url: endpoint.url,
    events: ['v1.PublishToUsersAttempt'],
    secret: 'geheim',
  };
  return parts.use(
    await startFanfare({
      config: {
        push: pushSettings({ ...instanceSettings(), webhooks: [webhook] }),
        webhooks: { allowPrivateAddresses: true },
      },
      environment: { HELD: held },
      program: join(import.meta.dir, '../held-events-server.fixture.ts'),
    }),
  );
}

const startAgain = async ({ directory }: Fanfare) =>
  parts.use(await spawnFanfare(['serve', '--config', join(directory, 'config.json')], directory));

/** Returns its id when it is finished. */
async function publish(server: Fanfare): Promise<string> {
  const body = { users: ['ann'], web: { notification: {} }, webhookUrl: endpoint.url };
  const { status, json } = await requestPush(server, requests.publish(body));
  expect(status).toBe(200);
  const id = String(json['publishId']);
  await until(async () => {
    const { json: now } = await requestPush(server, requests.readPublish(id));
    return now['state'] === 'finished';
  });
  return id;
}

/** The events that the endpoint has received, in no order. */
const received = () =>
  endpoint.bodies
    .map((text) => JSON.parse(text))
    .map(({ publishId, status, payload }) =>
      payload === undefined
        ? `${status} ${publishId}`
        : `${payload.users_no_devices} ${payload.publish_id}`,
    )
    .sort();

/** What the store has: pending completion events, and webhook requests, the delivered ones among them. */
function left(server: Fanfare) {
  using rows = openRows(server);
  return {
    ends: countOf(rows, 'SELECT COUNT(*) FROM untold_ends'),
    requests: countOf(rows, 'SELECT COUNT(*) FROM outbox_requests'),
    delivered: countOf(rows, "SELECT COUNT(*) FROM outbox_requests WHERE state = 'delivered'"),
  };
}

const everything = (id: string) => [`FINISHED ${id}`, `STARTED ${id}`, `ann ${id}`];

it('is reported by the next server if nothing of it was stored', async () => {
  const server = await start('requests');
  const id = await publish(server);
  await server.stop('SIGKILL');
  expect(left(server)).toEqual({ ends: 1, requests: 0, delivered: 0 });
  expect(received()).toEqual([]);

  const next = await startAgain(server);
  await until(() => received().length === 3 && left(next).ends === 0);
  expect(received()).toEqual(everything(id));
}, 180_000);

it('is sent once if it was stored, however often it is reported', async () => {
  const server = await start('removals');
  const id = await publish(server);
  await until(() => left(server).delivered === 3);
  await server.stop('SIGKILL');
  expect(left(server)).toEqual({ ends: 1, requests: 3, delivered: 3 });

  const next = await startAgain(server);
  await until(() => left(next).ends === 0);
  // What comes after it is sent after it.
  const second = await publish(next);
  await until(() => left(next).delivered >= 6 && left(next).ends === 0);
  expect(left(next)).toEqual({ ends: 0, requests: 6, delivered: 6 });
  expect(received()).toEqual([...everything(id), ...everything(second)].sort());
}, 180_000);
