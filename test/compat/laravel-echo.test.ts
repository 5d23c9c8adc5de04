import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import Echo from 'laravel-echo';
import PusherJs, { type Options } from 'pusher-js';
import FanfareJs from '../../sdk/fanfare-js/src/entries/node.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Laravel Echo on top of pusher-js, both unchanged from npm, and on top of its successor. */

let server: Fanfare;
let backend: AppBackend;

beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
  backend = startAppBackend(server);
});

afterAll(async () => {
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** With the alias that its README names, `fanfare-js` is what Echo gets as pusher-js. */
const clients = { 'pusher-js': PusherJs, 'fanfare-js': FanfareJs as unknown as typeof PusherJs };

/** The `resources/js/echo.js` of an app that migrates. */
function echoBy(Pusher: typeof PusherJs, broadcaster: 'pusher' | 'reverb', user?: string) {
  const options = {
    key: APP.key,
    Pusher,
    wsHost: '127.0.0.1',
    wsPort: server.port,
    forceTLS: false,
    enabledTransports: ['ws', 'wss'] satisfies Options['enabledTransports'],
    authEndpoint: backend.authEndpoint,
    auth: { headers: user === undefined ? {} : { 'x-user': user } },
    withoutInterceptors: true,
  };
  const echo =
    broadcaster === 'pusher'
      ? new Echo({ ...options, broadcaster, cluster: 'local' })
      : new Echo({ ...options, broadcaster });
  return Object.assign(echo, { [Symbol.dispose]: () => echo.disconnect() });
}

const broadcasters = ['pusher', 'reverb'] as const;
for (const [broadcaster, client] of broadcasters.flatMap((name) =>
  Object.entries(clients).map((of) => [name, of] as const),
)) {
  const [clientName, Pusher] = client;
  const echoFor = (name: 'pusher' | 'reverb', user?: string) => echoBy(Pusher, name, user);
  describe(`Echo's broadcaster "${broadcaster}" on ${clientName}`, () => {
    it('receives the events of a public channel, in the namespace of the app', async () => {
      using echo = echoFor(broadcaster);
      const received = new Inbox<unknown>('Echo');
      echo
        .channel('orders')
        .subscribed(() => received.put('subscribed'))
        .listen('OrderShipped', (data: unknown) => received.put(data))
        .listen('.order.paid', (data: unknown) => received.put(data));
      expect(await received.next()).toBe('subscribed');

      await backend.library.trigger('orders', 'App\\Events\\OrderShipped', { order: 7 });
      await backend.library.trigger('orders', 'order.paid', { order: 8 });

      expect(await received.next()).toEqual({ order: 7 });
      expect(await received.next()).toEqual({ order: 8 });
    });

    it('receives the events and the notifications of a private channel', async () => {
      using echo = echoFor(broadcaster, 'ann');
      const received = new Inbox<unknown>('Echo');
      echo
        .private('App.Models.User.1')
        .subscribed(() => received.put('subscribed'))
        .notification((notification: unknown) => received.put(notification));
      expect(await received.next()).toBe('subscribed');

      await backend.library.trigger(
        'private-App.Models.User.1',
        'Illuminate\\Notifications\\Events\\BroadcastNotificationCreated',
        { id: 'n1', type: 'InvoicePaid' },
      );

      expect(await received.next()).toEqual({ id: 'n1', type: 'InvoicePaid' });
    });

    it('is notified that a private channel is refused', async () => {
      using echo = echoFor(broadcaster);
      const received = new Inbox<unknown>('Echo');
      echo.private('orders').error((error: unknown) => received.put(error));

      expect(await received.next()).toMatchObject({ type: 'AuthError', status: 403 });
    });

    it('decrypts the events of an encrypted channel', async () => {
      using echo = echoFor(broadcaster, 'ann');
      const received = new Inbox<unknown>('Echo');
      echo
        .encryptedPrivate('diary')
        .subscribed(() => received.put('subscribed'))
        .listen('.entry', (data: unknown) => received.put(data));
      expect(await received.next()).toBe('subscribed');

      await backend.library.trigger('private-encrypted-diary', 'entry', { text: 'nobody knows' });

      expect(await received.next()).toEqual({ text: 'nobody knows' });
    });

    it('is notified who is in a presence channel, who joins and who leaves', async () => {
      using ann = echoFor(broadcaster, 'ann');
      const receivedByAnn = new Inbox<readonly [what: string, who: unknown]>('Ann');
      ann
        .join('room')
        .here((users: unknown) => receivedByAnn.put(['here', users]))
        .joining((user: unknown) => receivedByAnn.put(['joining', user]))
        .leaving((user: unknown) => receivedByAnn.put(['leaving', user]));
      expect(await receivedByAnn.next()).toEqual(['here', [{ name: 'ANN' }]]);

      using bob = echoFor(broadcaster, 'bob');
      const receivedByBob = new Inbox<unknown>('Bob');
      bob.join('room').here((users: unknown) => receivedByBob.put(users));
      expect(await receivedByBob.next()).toEqual([{ name: 'ANN' }, { name: 'BOB' }]);
      expect(await receivedByAnn.next()).toEqual(['joining', { name: 'BOB' }]);

      bob.leave('room');
      expect(await receivedByAnn.next()).toEqual(['leaving', { name: 'BOB' }]);
    });

    it('sends whispers to the others in a private channel', async () => {
      using ann = echoFor(broadcaster, 'ann');
      using bob = echoFor(broadcaster, 'bob');
      const received = new Inbox<unknown>('Bob');
      const both = new Inbox<unknown>('Both');
      const channelOfAnn = ann.private('chat').subscribed(() => both.put('Ann is in'));
      bob
        .private('chat')
        .subscribed(() => both.put('Bob is in'))
        .listenForWhisper('typing', (data: unknown) => received.put(data));
      await both.next();
      await both.next();

      channelOfAnn.whisper('typing', { name: 'Ann' });

      expect(await received.next()).toEqual({ name: 'Ann' });
    });

    it('does not receive events that exclude its socket id, as toOthers() does', async () => {
      using ann = echoFor(broadcaster);
      const received = new Inbox<unknown>('Ann');
      ann
        .channel('news')
        .subscribed(() => received.put('subscribed'))
        .listen('.posted', (data: unknown) => received.put(data));
      await received.next();

      await backend.library.trigger('news', 'posted', 'by Ann', {
        socket_id: ann.socketId() ?? '',
      });
      await backend.library.trigger('news', 'posted', 'by nobody');

      expect(await received.next()).toBe('by nobody');
    });

    it('receives nothing from a channel that it has left', async () => {
      using echo = echoFor(broadcaster, 'ann');
      const received = new Inbox<unknown>('Echo');
      for (const channel of [echo.channel('left'), echo.private('left')]) {
        channel
          .subscribed(() => received.put('subscribed'))
          .listen('.event', (data: unknown) => received.put(data));
      }
      await received.next();
      await received.next();

      echo.leave('left');
      echo
        .channel('entered')
        .subscribed(() => received.put('entered'))
        .listen('.event', (data: unknown) => received.put(data));
      expect(await received.next()).toBe('entered');
      await backend.library.trigger(['left', 'private-left', 'entered'], 'event', 'to all');
      await backend.library.trigger('entered', 'event', 'the last');

      expect(await received.next()).toBe('to all');
      expect(await received.next()).toBe('the last');
    });
  });
}
