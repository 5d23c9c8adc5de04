import { createServer } from 'node:http';
import { ask, check, Inbox, PAYLOAD, same, told } from './world.mjs';

/** Older versions of `pusher-js`, in Node: over WebSockets and over its HTTP transports. */

const TRANSPORTS = ['ws', 'xhr_streaming', 'xhr_polling'];

/** Starts the endpoint that authorises, by an old library for backends. */
export async function serveAuth(backend) {
  const http = createServer(async (request, response) => {
    const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
    const channel = form.get('channel_name');
    const member = { user_id: request.headers['x-user'], user_info: PAYLOAD };
    const isPresence = channel.startsWith('presence-');
    const signed = backend.sign(form.get('socket_id'), channel, isPresence ? member : undefined);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(signed));
  });
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${http.address().port}/`, close: () => http.close() };
}

/** Connects a client, and does something with it. */
async function withClient({ Pusher, transport, authUrl, user }, action) {
  const client = new Pusher(told.app.key, {
    wsHost: '127.0.0.1',
    wsPort: told.port,
    httpHost: '127.0.0.1',
    httpPort: told.port,
    forceTLS: false,
    encrypted: false,
    cluster: 'local',
    enabledTransports: [transport],
    authEndpoint: authUrl,
    auth: { headers: { 'x-user': user } },
  });
  try {
    await bound(client.connection, 'connected').next();
    same(client.connection.connection.transport.name, transport);
    await action(client);
  } finally {
    client.disconnect();
  }
}

/** What an emitter emits under a name. */
function bound(emitter, name) {
  const inbox = new Inbox();
  emitter.bind(name, inbox.put);
  return inbox;
}

async function entered(client, channel) {
  const subscribed = client.subscribe(channel);
  const members = await bound(subscribed, 'pusher:subscription_succeeded').next();
  return { subscribed, members };
}

export async function checkClient(library, Pusher, { backend, authUrl }) {
  const as = (user, transport) => ({ Pusher, transport, authUrl, user });
  for (const transport of TRANSPORTS) {
    const named = (name) => `${name}-${library}-${transport}`;

    await check(library, `${transport}: events of a public and of a private channel`, () =>
      withClient(as('ann', transport), async (client) => {
        for (const channel of [named('public'), named('private-room')]) {
          const { subscribed } = await entered(client, channel);
          const paid = bound(subscribed, 'paid');
          await backend.trigger(channel, 'paid', PAYLOAD);
          same(await paid.next(), PAYLOAD);
        }
      }),
    );

    await check(library, `${transport}: members who come and go, and client events`, () =>
      withClient(as('ann', transport), async (client) => {
        const channel = named('presence-room');
        const { subscribed, members } = await entered(client, channel);
        same([members.count, members.me.id, members.me.info], [1, 'ann', PAYLOAD]);
        const [added, removed, said] = [
          'pusher:member_added',
          'pusher:member_removed',
          'client-said',
        ].map((name) => bound(subscribed, name));
        const bob = await backend.subscribed(channel, { user_id: 'bob' });
        same((await added.next()).id, 'bob');
        subscribed.trigger('client-said', PAYLOAD);
        same(await backend.next(bob, channel), { event: 'client-said', data: PAYLOAD });
        const data = '{"a":1}';
        await ask('clientEvent', { socketId: bob.socketId, channel, event: 'client-said', data });
        same(await said.next(), { a: 1 });
        await ask('disconnect', { socketId: bob.socketId });
        same((await removed.next()).id, 'bob');
      }),
    );
  }
}
