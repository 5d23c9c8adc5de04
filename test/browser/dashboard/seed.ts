import { type AdminServer, admin } from '../../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { channelAuth } from '../../../testing/clients/sign.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';

/**
 * The server of a seed. Few bytes wait for a client, so that a slow one is found soon. Raw clients answer no pings, so
 * the server sends them none while a browser goes through all pages.
 */
export const SEED_CONFIG = {
  channels: { sendBufferBytes: 200_000, activityTimeoutSeconds: 3600 },
  config: { webhooks: { allowPrivateAddresses: true } },
};

/** As long as names may be. */
export const LONG_CHANNEL = `presence-${'a-long-name-'.repeat(20)}`.slice(0, 200);
const LONG_USER = `user@${'long.example.'.repeat(20)}`.slice(0, 128);

/** An app that has everything that pages show, names as long as they may be, and the commonest mistakes. */
export interface Seed extends AsyncDisposable {
  readonly app: TestApp;
  /** A connection that is signed in. */
  readonly socket: string;
  readonly webhook: string;
  /** The push instance that every server begins with. */
  readonly instance: string;
  readonly user: string;
  /** A connection whose subscription to `private-orders` was refused. */
  readonly refused: string;
  /** Sends an event to a name that is almost that of an occupied channel. */
  sendBeside(): Promise<void>;
  /** Lets that connection try its subscription again. */
  subscribeWrongly(): Promise<void>;
}

/** Makes the app, with `more` channels that have short names. */
export async function seed(server: AdminServer & Pick<Fanfare, 'port'>, more = 0): Promise<Seed> {
  await using parts = new AsyncDisposableStack();
  const endpoint = parts.use(startWebhookEndpoint());
  endpoint.answerWith(503);
  const app = await newApp(server, {
    name: 'Großer Laden mit einem sehr langen Namen und noch einem Wort 🎺 ᚠᛇᚻ',
    clientEvents: true,
    limits: { messagesPerDay: 1000, eventDataBytes: 60_000 },
    history: [{ channels: 'kept-*', events: 50, seconds: 3600 }, { channels: LONG_CHANNEL }],
    webhooks: [
      {
        url: `${endpoint.url}/${'a-long-path/'.repeat(15)}`,
        events: ['channel_occupied', 'channel_vacated'],
      },
    ],
  });
  const member = await signedIn(app, LONG_USER);
  parts.use(member);
  for (const channel of ['my-channel', 'cache-scores', LONG_CHANNEL]) {
    await enter(app, member, channel, LONG_USER, { name: 'Zoë 🎺', about: 'Wort '.repeat(40) });
  }
  for (let number = 0; number < more; number++) {
    member.send({ event: 'pusher:subscribe', data: { channel: `room-${number}`, auth: '' } });
    await member.receive();
  }
  await app.trigger({ name: 'order.updated', channel: 'cache-scores', data: LONG_DATA });
  const append = { id: 'msg_1', at: 0 };
  await app.trigger({ name: 'answer', channel: 'cache-answers', data: LONG_DATA, append });
  for (const name of ['first', 'second', LONG_DATA.slice(0, 200)]) {
    await app.trigger({ name, channel: 'kept-news', data: LONG_DATA });
  }
  for (const user of ['алиса', 'bob']) {
    const other = await app.connect();
    parts.use(other);
    await enter(app, other, LONG_CHANNEL, user, { name: user });
  }
  const refused = await makeMistakes(app, server, parts);
  const webhook = await failedWebhook(server, app);
  const { json } = await admin(server, 'GET', '/instances');
  const { instances } = json as { instances: readonly { id: string }[] };
  const rest = parts.move();
  return {
    app,
    socket: member.socketId,
    webhook,
    instance: instances[0]?.id ?? '',
    user: LONG_USER,
    refused: refused.socketId,
    subscribeWrongly: () => subscribeWrongly(app, refused),
    sendBeside: () => app.trigger({ name: 'message', channel: 'my.channel', data: '{"id":17}' }),
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}

const LONG_DATA = JSON.stringify({
  id: 17,
  text: `<b>Hi</b> ${'and so on '.repeat(30)}`,
  deep: { list: [1, 2, { three: null }], yes: true },
});

async function signedIn(app: TestApp, id: string): Promise<AppClient> {
  const client = await app.connect();
  client.send(app.signIn(client, { id, user_info: { name: 'Zoë' } }));
  await client.receive();
  return client;
}

async function enter(
  app: TestApp,
  client: AppClient,
  channel: string,
  user: string,
  info: object,
): Promise<void> {
  const data = JSON.stringify({ user_id: user, user_info: info });
  const isPresence = channel.startsWith('presence-');
  client.send({
    event: 'pusher:subscribe',
    data: { channel, ...(isPresence ? app.auth(client, channel, data) : { auth: '' }) },
  });
  let received = await client.receive();
  while (received.event !== 'pusher_internal:subscription_succeeded')
    received = await client.receive();
}

/** What clients and backends do wrong most often. Returns the connection that was refused. */
async function makeMistakes(
  app: TestApp,
  server: Pick<Fanfare, 'port'>,
  parts: AsyncDisposableStack,
): Promise<AppClient> {
  const refused = parts.use(await app.connect());
  await subscribeWrongly(app, refused);
  const stranger = parts.use(await RawClient.open(server, { path: pathOf(7, 'wrong-key') }));
  await stranger.closed;
  await app.api('GET', '/channels', { secret: 'wrong' });
  await app.post('/events', { name: 'e', channel: 'a b', data: '' });
  await beSlow(app, parts);
  return refused;
}

/** The auth of another channel, as a backend answers that mixes channels up. */
export function wrongAuth(app: TestApp, client: Pick<AppClient, 'socketId'>): string {
  return channelAuth(client.socketId, 'private-order', undefined, app).auth;
}

async function subscribeWrongly(app: TestApp, client: AppClient): Promise<void> {
  const data = { channel: 'private-orders', auth: wrongAuth(app, client) };
  client.send({ event: 'pusher:subscribe', data });
  await client.receive();
}

/** A client that reads nothing until it is closed. */
async function beSlow(app: TestApp, parts: AsyncDisposableStack): Promise<void> {
  const slow = parts.use(await app.connect());
  await slow.subscribe('firehose');
  slow.pauseReading();
  const isThere = async () => {
    const answer = await app.api('GET', '/channels/firehose');
    return ((await answer.json()) as { occupied: boolean }).occupied;
  };
  while (await isThere()) {
    await app.trigger({ name: 'e', channel: 'firehose', data: 'x'.repeat(50_000) });
  }
}

/** The id of a request that was not delivered, once there is one. */
async function failedWebhook(server: AdminServer, app: TestApp): Promise<string> {
  const found = await eventually(
    async () => {
      const { json } = await admin(server, 'GET', `/webhooks?app=${app.id}&limit=10`);
      const { webhooks } = json as { webhooks: readonly { id: string; attempts: number }[] };
      return webhooks.find(({ attempts }) => attempts > 0);
    },
    (webhook) => webhook !== undefined,
  );
  return found?.id ?? '';
}
