import { ask, check, PAYLOAD, same, told } from './world.mjs';

/** Older versions of `pusher`, the library for backends. Before 4.0 its methods call back. */

export class Backend {
  constructor(library, Pusher) {
    this.library = library;
    this.pusher = new Pusher({
      appId: told.app.id,
      key: told.app.key,
      secret: told.app.secret,
      host: '127.0.0.1',
      port: String(told.port),
    });
    this.callsBack = Number(library.split('-')[1]) < 4;
  }

  /** The JSON that the server answers. */
  async call(method, ...given) {
    if (!this.callsBack) return await (await this.pusher[method](...given)).json();
    return await new Promise((resolve, reject) => {
      this.pusher[method](...given, (error, _, response) =>
        error ? reject(error) : resolve(JSON.parse(response.body)),
      );
    });
  }

  /** `undefined` for the sender must be left out where the callback comes last. */
  trigger(channels, event, data, ...sender) {
    return this.call('trigger', channels, event, data, ...sender);
  }

  sign(socketId, channel, member) {
    return this.pusher.authenticate(socketId, channel, member);
  }

  /** Subscribes a client of the newest `pusher-js`: its socket id, and what it knows of the channel. */
  async subscribed(channel, member) {
    const { socketId } = await ask('connect');
    const isPublic = !/^(private|presence)-/.test(channel);
    const auth = isPublic ? {} : { auth: JSON.stringify(this.sign(socketId, channel, member)) };
    const { data } = await ask('subscribe', { socketId, channel, ...auth });
    return { socketId, data };
  }

  next({ socketId }, channel) {
    return ask('event', { socketId, channel });
  }
}

export async function checkServer(backend) {
  const { library } = backend;
  const named = (name) => `${name}-${library}`;

  await check(library, 'trigger to one channel and to several, without the sender', async () => {
    const channel = named('many');
    const [ann, bob] = [await backend.subscribed(channel), await backend.subscribed(channel)];
    await backend.trigger([channel, named('others')], 'first', PAYLOAD, ann.socketId);
    await backend.trigger(channel, 'second', 'text');
    same(await backend.next(bob, channel), { event: 'first', data: PAYLOAD });
    same(await backend.next(ann, channel), { event: 'second', data: 'text' });
  });

  await check(library, 'triggerBatch', async () => {
    const channel = named('batch');
    const ann = await backend.subscribed(channel);
    const batch = ['one', 'two'].map((name) => ({ channel, name, data: PAYLOAD }));
    same(await backend.call('triggerBatch', batch), {});
    same(await backend.next(ann, channel), { event: 'one', data: PAYLOAD });
    same(await backend.next(ann, channel), { event: 'two', data: PAYLOAD });
  });

  await check(library, 'authenticate for private and presence channels', async () => {
    const channel = named('private-room');
    const ann = await backend.subscribed(channel);
    await backend.trigger(channel, 'note', 1);
    same(await backend.next(ann, channel), { event: 'note', data: 1 });
    const member = { user_id: 'zoë 7', user_info: PAYLOAD };
    const { data } = await backend.subscribed(named('presence-room'), member);
    same([data.myID, data.me.info], ['zoë 7', PAYLOAD]);
  });

  await check(library, 'get of channels, of one channel and of users', async () => {
    const channel = named('presence-listed');
    await backend.subscribed(channel, { user_id: 'zoë 7' });
    const params = { filter_by_prefix: channel, info: 'user_count' };
    same(await backend.call('get', { path: '/channels', params }), {
      channels: { [channel]: { user_count: 1 } },
    });
    const info = { path: `/channels/${channel}`, params: { info: 'user_count' } };
    same(await backend.call('get', info), { occupied: true, user_count: 1 });
    same(await backend.call('get', { path: `/channels/${channel}/users` }), {
      users: [{ id: 'zoë 7' }],
    });
  });

  await check(library, 'webhook', async () => {
    const channel = named('webhook');
    await backend.subscribed(channel);
    const { headers, body } = await ask('webhook', { event: 'channel_occupied', channel });
    const webhook = backend.pusher.webhook({ headers, rawBody: body });
    same([webhook.isValid(), webhook.getEvents()], [true, [{ name: 'channel_occupied', channel }]]);
    const forged = { headers, rawBody: body.replace('webhook', 'another') };
    same(backend.pusher.webhook(forged).isValid(), false);
  });
}
