import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { failureOf, LibraryProcess } from './library-process.ts';

/** The official server library for JavaScript, unchanged from npm, in Node and Bun. */

let server: Fanfare;

beforeAll(async () => {
  server = await startFanfare({
    app: { subscriptionCounts: true },
    moreApps: [
      { id: '4', keys: [{ key: 'without-counts', secret: 'secret' }] },
      { id: '5', keys: [{ key: 'disabled', secret: 'secret' }], enabled: false },
    ],
  });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

for (const [runtime, command] of [
  ['Node', 'node'],
  ['Bun', process.execPath],
] as const) {
  describe(`pusher in ${runtime}`, () => {
    let library: LibraryProcess;

    beforeAll(() => {
      library = LibraryProcess.open(command, server);
    });

    afterAll(() => {
      library[Symbol.dispose]();
    });

    /** A client subscribed to a channel for which the library authorises it. */
    async function clientIn(channel: string, user?: string) {
      const client = await RawClient.connect(server, {
        ignores: 'pusher_internal:subscription_count',
      });
      const auth = /^(private|presence)-/.test(channel)
        ? await library.authorizeChannel(
            client.socketId,
            channel,
            user === undefined ? undefined : { user_id: user },
          )
        : undefined;
      await client.subscribe(channel, auth);
      return client;
    }

    describe('trigger', () => {
      it('sends an event to a channel, and is answered with {}', async () => {
        await using client = await clientIn('news');

        expect(await library.trigger('news', 'headline', { text: 'Fanfare!' })).toEqual({
          status: 200,
          body: {},
        });

        expect(await client.receive()).toEqual({
          event: 'headline',
          channel: 'news',
          data: '{"text":"Fanfare!"}',
        });
      });

      it('sends an event to 100 channels at once', async () => {
        const channels = Array.from({ length: 100 }, (_, index) => `many-${index}`);
        await using first = await clientIn('many-0');
        await using last = await clientIn('many-99');

        await library.trigger(channels, 'event', 'to all');

        expect(await first.receive()).toEqual({
          event: 'event',
          channel: 'many-0',
          data: 'to all',
        });
        expect(await last.receive()).toEqual({
          event: 'event',
          channel: 'many-99',
          data: 'to all',
        });
      });

      it('does not send to the socket id that it excludes', async () => {
        await using ann = await clientIn('chat');
        await using bob = await clientIn('chat');

        await library.trigger('chat', 'said', 'by Ann', { socket_id: ann.socketId });

        expect(await bob.receive()).toMatchObject({ data: 'by Ann' });
        await ann.receiveNothing();
      });

      it('returns the requested attributes of each channel', async () => {
        await using _one = await clientIn('info-news');
        await using _ann = await clientIn('presence-info', 'ann');
        await using _bob = await clientIn('presence-info', 'bob');
        await using _bobAgain = await clientIn('presence-info', 'bob');

        const answer = await library.trigger(['info-news', 'presence-info'], 'event', 'data', {
          info: 'user_count,subscription_count',
        });

        expect(answer.body).toEqual({
          channels: { 'info-news': { subscription_count: 1 }, 'presence-info': { user_count: 2 } },
        });
      });

      it('encrypts for an encrypted channel, and the server passes the data on unchanged', async () => {
        await using client = await clientIn('private-encrypted-diary');

        await library.trigger('private-encrypted-diary', 'entry', { text: 'nobody knows' });

        const received = await client.receive();
        expect(received.event).toBe('entry');
        expect(Object.keys(JSON.parse(String(received.data)))).toEqual(['nonce', 'ciphertext']);
      });
    });

    describe('triggerBatch', () => {
      it('sends several events in order, and is answered with {}', async () => {
        await using client = await clientIn('batch');

        const answer = await library.triggerBatch(
          Array.from({ length: 10 }, (_, index) => ({
            channel: 'batch',
            name: `event-${index}`,
            data: { index },
          })),
        );

        expect(answer).toEqual({ status: 200, body: {} });
        for (let index = 0; index < 10; index++) {
          expect(await client.receive()).toEqual({
            event: `event-${index}`,
            channel: 'batch',
            data: `{"index":${index}}`,
          });
        }
      });

      it('returns the requested attributes of each event, by position', async () => {
        await using _client = await clientIn('batch-info');
        await using _ann = await clientIn('presence-batch-info', 'ann');

        const { body } = await library.triggerBatch([
          { channel: 'batch-info', name: 'event', data: 1, info: 'subscription_count' },
          { channel: 'batch-info', name: 'event', data: 2 },
          { channel: 'presence-batch-info', name: 'event', data: 3, info: 'user_count' },
        ]);

        expect(body).toEqual({ batch: [{ subscription_count: 1 }, {}, { user_count: 1 }] });
      });

      it('does not send to the socket id that an event excludes', async () => {
        await using ann = await clientIn('batch-chat');
        await library.triggerBatch([
          { channel: 'batch-chat', name: 'said', data: 'by Ann', socket_id: ann.socketId },
          { channel: 'batch-chat', name: 'said', data: 'by nobody' },
        ]);

        expect(await ann.receive()).toMatchObject({ data: 'by nobody' });
      });

      it('encrypts events for encrypted channels', async () => {
        await using client = await clientIn('private-encrypted-batch');
        await library.triggerBatch([
          { channel: 'private-encrypted-batch', name: 'entry', data: { text: 'nobody knows' } },
        ]);

        expect((await client.receive()).data).toMatch(/^\{"nonce":".{32}","ciphertext":".+"\}$/);
      });
    });

    describe('get', () => {
      it('lists the occupied channels', async () => {
        await using _client = await clientIn('list-public');
        await using _other = await clientIn('presence-list', 'ann');

        const { status, body } = await library.get({ path: '/channels' });

        expect(status).toBe(200);
        expect(body).toMatchObject({ channels: { 'list-public': {}, 'presence-list': {} } });
      });

      it('lists the channels with a prefix, with the requested attributes', async () => {
        await using _ann = await clientIn('presence-rooms-a', 'ann');
        await using _bob = await clientIn('presence-rooms-a', 'bob');
        await using _carl = await clientIn('presence-rooms-b', 'carl');
        await using _elsewhere = await clientIn('presence-other', 'dora');

        const { body } = await library.get({
          path: '/channels',
          params: { filter_by_prefix: 'presence-rooms-', info: 'user_count' },
        });

        expect(body).toEqual({
          channels: {
            'presence-rooms-a': { user_count: 2 },
            'presence-rooms-b': { user_count: 1 },
          },
        });
        expect(
          await library.get({ path: '/channels', params: { filter_by_prefix: 'nobody-is-here-' } }),
        ).toEqual({ status: 200, body: { channels: {} } });
      });

      it('returns whether a channel is occupied', async () => {
        await using _client = await clientIn('occupied');

        expect(await library.get({ path: '/channels/occupied' })).toEqual({
          status: 200,
          body: { occupied: true },
        });
        expect(await library.get({ path: '/channels/empty' })).toEqual({
          status: 200,
          body: { occupied: false },
        });
      });

      it('counts the users of a presence channel, and the subscriptions of other channels', async () => {
        await using _ann = await clientIn('presence-counted', 'ann');
        await using _annAgain = await clientIn('presence-counted', 'ann');
        await using _one = await clientIn('counted');
        await using _two = await clientIn('counted');

        expect(
          await library.get({ path: '/channels/presence-counted', params: { info: 'user_count' } }),
        ).toMatchObject({ body: { occupied: true, user_count: 1 } });
        expect(
          await library.get({ path: '/channels/counted', params: { info: 'subscription_count' } }),
        ).toMatchObject({ body: { occupied: true, subscription_count: 2 } });
      });

      it('returns the cached event of a cache channel, and its remaining seconds', async () => {
        const path = `/channels/cache-scores-in-${runtime}`;
        const params = { info: 'cache' };
        expect(await library.get({ path, params })).toEqual({
          status: 200,
          body: { occupied: false, cache: null },
        });

        await library.trigger(`cache-scores-in-${runtime}`, 'score', { home: 1 });

        const { body } = await library.get({ path, params });
        expect(body).toEqual({
          occupied: false,
          cache: { data: '{"home":1}', ttl: expect.any(Number) },
        });
        const { ttl } = (body as { cache: { ttl: number } }).cache;
        expect(ttl).toBeWithin(1790, 1801);
      });

      it('lists the users of a presence channel', async () => {
        await using _ann = await clientIn('presence-users', 'ann');
        await using _annAgain = await clientIn('presence-users', 'ann');
        await using _bob = await clientIn('presence-users', 'bob');

        expect(await library.get({ path: '/channels/presence-users/users' })).toEqual({
          status: 200,
          body: { users: [{ id: 'ann' }, { id: 'bob' }] },
        });
        expect(await library.get({ path: '/channels/presence-nobody/users' })).toEqual({
          status: 200,
          body: { users: [] },
        });
      });
    });

    it('post sends the same request as the method for it', async () => {
      await using client = await clientIn('posted');

      const answer = await library.post({
        path: '/events',
        body: { name: 'event', channel: 'posted', data: 'by hand' },
      });

      expect(answer).toEqual({ status: 200, body: {} });
      expect(await client.receive()).toEqual({
        event: 'event',
        channel: 'posted',
        data: 'by hand',
      });
    });

    describe('authorizeChannel', () => {
      it('authorises a client for a private channel', async () => {
        await using _client = await clientIn('private-orders');
      });

      it('authorises a client for an encrypted channel, with a key that the server never gets', async () => {
        await using client = await RawClient.connect(server);
        const { auth, shared_secret } = await library.authorizeChannel(
          client.socketId,
          'private-encrypted-diary',
        );

        expect(Buffer.from(String(shared_secret), 'base64')).toHaveLength(32);
        await client.subscribe('private-encrypted-diary', { auth });
      });

      it('authorises a client for a presence channel as a user', async () => {
        await using client = await RawClient.connect(server);
        const { auth, channel_data = '' } = await library.authorizeChannel(
          client.socketId,
          'presence-room',
          { user_id: 'zoë "z"', user_info: { name: 'Zoë' } },
        );

        const { data } = await client.subscribe('presence-room', { auth, channel_data });

        expect(JSON.parse(String(data))).toEqual({
          presence: { count: 1, ids: ['zoë "z"'], hash: { 'zoë "z"': { name: 'Zoë' } } },
        });
      });
    });

    it('createSignedQueryString signs a request that another HTTP client sends', async () => {
      const path = `/apps/${APP.id}/channels`;
      const query = await library.createSignedQueryString({
        method: 'GET',
        path,
        params: { filter_by_prefix: 'nobody-is-here-' },
      });
      const answer = await fetch(`http://127.0.0.1:${server.port}${path}?${query}`);
      expect([answer.status, await answer.json()]).toEqual([200, { channels: {} }]);

      const body = '{"name":"event","channel":"news","data":"signed"}';
      const target = `/apps/${APP.id}/events`;
      const signed = await library.createSignedQueryString({ method: 'POST', path: target, body });
      const posted = await fetch(`http://127.0.0.1:${server.port}${target}?${signed}`, {
        method: 'POST',
        body,
      });
      expect([posted.status, await posted.json()]).toEqual([200, {}]);
    });

    it('forURL takes the server, the app and its secret from one URL', async () => {
      using library = LibraryProcess.openUrl(
        command,
        `http://${APP.key}:${APP.secret}@127.0.0.1:${server.port}/apps/${APP.id}`,
      );
      expect(await library.trigger('news', 'headline', 'by address')).toEqual({
        status: 200,
        body: {},
      });
    });

    describe('RequestError', () => {
      /** The error for a refusal: the status, and the text of the server. */
      async function refusal(call: Promise<unknown>) {
        const failure = await failureOf(call);
        expect(failure).toMatchObject({
          isRequestError: true,
          message: `Unexpected status code ${failure.status}`,
        });
        return [failure.status, failure.body];
      }

      it('has 401 if the key is unknown', async () => {
        using stranger = LibraryProcess.open(command, server, { key: 'unknown' });
        expect(await refusal(stranger.trigger('news', 'event', 1))).toEqual([
          401,
          'Unknown auth_key',
        ]);
      });

      it('has 401 if the app does not exist', async () => {
        using stranger = LibraryProcess.open(command, server, { appId: '999' });
        expect(await refusal(stranger.get({ path: '/channels' }))).toEqual([
          401,
          'Unknown auth_key',
        ]);
      });

      it('has 401 if the secret is wrong, with the text that should have been signed', async () => {
        using forger = LibraryProcess.open(command, server, { secret: 'guessed' });
        const [status, body] = await refusal(forger.trigger('news', 'event', 1));
        expect(status).toBe(401);
        expect(body).toStartWith(
          `Invalid signature: you should have sent HmacSHA256Hex("POST\\n/apps/${APP.id}/events\\nauth_key=${APP.key}&auth_timestamp=`,
        );
      });

      it('has 403 if the app is disabled', async () => {
        using disabled = LibraryProcess.open(command, server, {
          appId: '5',
          key: 'disabled',
          secret: 'secret',
        });
        expect(await refusal(disabled.trigger('news', 'event', 1))).toEqual([
          403,
          'The app is disabled',
        ]);
      });

      it('has 413 if the data is too large, and nothing was sent', async () => {
        await using client = await clientIn('large');
        const tooLarge = 'x'.repeat(10_241);

        const [status, body] = await refusal(library.trigger('large', 'event', tooLarge));
        const batch = refusal(
          library.triggerBatch([
            { channel: 'large', name: 'event', data: 'small' },
            { channel: 'large', name: 'event', data: tooLarge },
          ]),
        );

        expect(status).toBe(413);
        expect(body).toStartWith(
          'The data content of this event exceeds the allowed maximum (10240 bytes).',
        );
        expect((await batch)[0]).toBe(413);
        await client.receiveNothing();
      });

      it.each([3, 15])('has the answer if it sends %d MB', async (megabytes) => {
        const body = { data: 'x'.repeat(megabytes * 1_000_000) };
        using stranger = LibraryProcess.open(command, server, { key: 'nobody', secret: 'none' });
        expect((await refusal(library.post({ path: '/events', body })))[0]).toBe(413);
        expect((await refusal(library.post({ path: '/channels', body })))[0]).toBe(405);
        expect((await refusal(library.post({ path: '/nothing', body })))[0]).toBe(404);
        expect((await refusal(stranger.post({ path: '/batch_events', body })))[0]).toBe(413);
      });

      it('has 401 for an unknown key also if it sends a megabyte', async () => {
        const body = { data: 'x'.repeat(1_000_000) };
        using stranger = LibraryProcess.open(command, server, { key: 'nobody', secret: 'none' });
        expect((await refusal(stranger.post({ path: '/events', body })))[0]).toBe(401);
      });

      it('has 400 if a batch has too many events', async () => {
        const events = Array.from({ length: 11 }, () => ({ channel: 'a', name: 'b', data: 'c' }));
        expect(await refusal(library.triggerBatch(events))).toEqual([
          400,
          'Batch too large (> 10 events): got 11',
        ]);
      });

      it('has 400 if an event has a reserved name', async () => {
        expect(await refusal(library.trigger('news', 'pusher_internal:member_added', {}))).toEqual([
          400,
          'name: names that begin with pusher: or pusher_internal: are reserved',
        ]);
      });

      it('has 400 if an attribute is requested that the channels do not have', async () => {
        using other = LibraryProcess.open(command, server, {
          appId: '4',
          key: 'without-counts',
          secret: 'secret',
        });
        const questions: readonly [library: LibraryProcess, path: string, info: string][] = [
          [library, '/channels', 'user_count'],
          [library, '/channels/news', 'user_count'],
          [library, '/channels/presence-room', 'subscription_count'],
          [library, '/channels/news', 'cache'],
          [other, '/channels/news', 'subscription_count'],
        ];
        for (const [asked, path, info] of questions) {
          const [status, body] = await refusal(asked.get({ path, params: { info } }));
          expect([status, body]).toEqual([400, expect.stringMatching(/^info: /)]);
        }
      });

      it('has 400 if the users of a channel without presence are requested', async () => {
        expect(await refusal(library.get({ path: '/channels/news/users' }))).toEqual([
          400,
          'news is not a presence channel: only these have users',
        ]);
      });

      it('has 404 if the path does not exist', async () => {
        expect(await refusal(library.get({ path: '/nothing' }))).toEqual([404, '404 NOT FOUND\n']);
      });
    });
  });
}
