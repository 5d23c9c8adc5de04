import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import PusherJs from 'pusher-js';
import { Inbox } from '../../testing/inbox.ts';
import { type ResumeOptions, resume } from './index.js';
import { ScriptedServer } from './scripted-server.fixture.ts';

/** pusher-js with the plugin, subscribed to `news` on a server that has confirmed it with the place `5-a`. */
async function inNews({ server, ...options }: { server: ScriptedServer } & ResumeOptions) {
  const pusher = server.client();
  const resumed = resume(pusher, options);
  const received = new Inbox<readonly [event: string, data?: unknown]>('The channel');
  const bind = () =>
    pusher.subscribe('news').bind_global((event: string, data?: unknown) => {
      if (!event.startsWith('pusher:')) received.put([event, data]);
    });
  const channel = bind();
  await server.subscribes.next();
  server.confirms('news', { ok: true, id: '5-a', missed: 0 });
  /** Sends an event and settles when the channel has it, and all that was sent before. */
  const sends = async (id: string, event = 'e') => {
    server.send(event, 'news', {}, id);
    await received.first(([name]) => name === event);
  };
  return { pusher, channel, received, sends, places: resumed.places };
}

describe('the place of a channel', () => {
  it('is unknown at first, then the newest event when the subscription is confirmed', async () => {
    using server = new ScriptedServer();
    const pusher = server.client();
    const { places } = resume(pusher);
    pusher.subscribe('news');

    expect(await server.subscribes.next()).toMatchObject({
      resume_after_id: '',
      resume_socket_ids: [],
    });
    expect(places()).toEqual({});
    server.confirms('news', { ok: true, id: '5-a', missed: 0 });

    expect(await server.cuts()).toMatchObject({
      channel: 'news',
      resume_after_id: '5-a',
      resume_socket_ids: ['1.1', '2.1'],
    });
    expect(places()).toEqual({ news: '5-a' });
  });

  it('moves with each event that has an id', async () => {
    using server = new ScriptedServer();
    const { sends, places } = await inNews({ server });
    await sends('6-b');
    await sends('7-c');
    server.send('client-wave', 'news', {});
    server.send('e', 'other', {}, '9-x');

    expect(await server.cuts()).toMatchObject({ resume_after_id: '7-c' });
    expect(places()).toEqual({ news: '7-c' });
  });

  it('does not jump to the newest event while missed ones are still to come', async () => {
    using server = new ScriptedServer();
    const { sends } = await inNews({ server });
    await server.cuts();
    server.confirms('news', { ok: true, id: '8-d', missed: 3 });

    expect(await server.cuts()).toMatchObject({ resume_after_id: '5-a' });
    server.confirms('news', { ok: true, id: '8-d', missed: 3 });
    await sends('6-b');
    expect(await server.cuts()).toMatchObject({ resume_after_id: '6-b' });
  });

  it('is kept over disconnect() and connect()', async () => {
    using server = new ScriptedServer();
    const { pusher, sends } = await inNews({ server });
    await sends('6-b');
    pusher.disconnect();
    pusher.connect();

    expect(await server.subscribes.next()).toMatchObject({ resume_after_id: '6-b' });
  });

  it('includes the event in whose handler the page disconnects', async () => {
    using server = new ScriptedServer();
    const { pusher, channel } = await inNews({ server });
    const gone = new Promise<void>((resolve) => {
      channel.bind('last', () => {
        pusher.disconnect();
        resolve();
      });
    });
    server.send('last', 'news', {}, '6-b');
    await gone;
    pusher.connect();

    expect(await server.subscribes.next()).toMatchObject({ resume_after_id: '6-b' });
  });

  it('does not move for an event whose handler threw', async () => {
    using server = new ScriptedServer();
    const { pusher, channel, sends } = await inNews({ server });
    await sends('6-b');
    channel.bind('bad', () => {
      throw new Error('of the page');
    });
    const { transport } = pusher.connection.connection;
    const frame = '{"event":"bad","channel":"news","data":"{}","id":"7-c"}';
    expect(() => transport.emit('message', { data: frame })).toThrow('of the page');

    expect(await server.cuts()).toMatchObject({ resume_after_id: '6-b' });
  });

  it('cannot be forged by the data of an event', async () => {
    using server = new ScriptedServer();
    const { received } = await inNews({ server });
    server.send('e', 'news', { text: '","id":"9-z"}', id: '9-z' });
    server.send('client-e', 'news', { id: '9-z' });
    await received.next();
    await received.next();

    expect(await server.cuts()).toMatchObject({ resume_after_id: '5-a' });
  });

  it('begins anew after the page has left the channel', async () => {
    using server = new ScriptedServer();
    const { pusher, sends, places } = await inNews({ server });
    await sends('6-b');
    pusher.unsubscribe('news');
    expect(places()).toEqual({});
    pusher.subscribe('news');

    expect(await server.subscribes.next()).toMatchObject({
      resume_after_id: '',
      resume_socket_ids: [],
    });
  });

  it('is not noted for a channel that was left before it was confirmed', async () => {
    using server = new ScriptedServer();
    const { pusher, sends, places } = await inNews({ server });
    pusher.subscribe('left');
    await server.subscribes.next();
    pusher.unsubscribe('left');
    server.confirms('left', { ok: true, id: '3-z', missed: 0 });
    await sends('6-b');

    expect(places()).toEqual({ news: '6-b' });
  });

  it('is noted for a channel that was left and entered again before it was confirmed', async () => {
    using server = new ScriptedServer();
    const { pusher, sends, places } = await inNews({ server });
    pusher.subscribe('again');
    await server.subscribes.next();
    pusher.unsubscribe('again');
    pusher.subscribe('again');
    server.confirms('again', { ok: true, id: '3-z', missed: 0 });
    await sends('6-b');

    expect(places()).toEqual({ news: '6-b', again: '3-z' });
  });

  it('is noted for the channel of a signed-in user', async () => {
    using server = new ScriptedServer();
    const pusher = server.client({
      userAuthentication: {
        endpoint: '',
        transport: 'ajax',
        customHandler: (_, done) => done(null, { auth: 'a', user_data: '{"id":"ann"}' }),
      },
    });
    const { places } = resume(pusher);
    pusher.signin();
    const channel = '#server-to-user-ann';
    expect(await server.subscribes.next()).toMatchObject({ channel, resume_after_id: '' });
    server.confirms(channel, { ok: true, id: '5-a', missed: 0 });

    expect(await server.cuts()).toMatchObject({ channel, resume_after_id: '5-a' });
    expect(places()).toEqual({ [channel]: '5-a' });
  });
});

describe('the sockets whose own events are left out', () => {
  it('are all since the place, until every missed event has arrived', async () => {
    using server = new ScriptedServer();
    const { sends } = await inNews({ server });
    await server.cuts();
    server.confirms('news', { ok: true, id: '7-c', missed: 2 });
    await sends('6-b');
    expect(await server.cuts()).toMatchObject({ resume_socket_ids: ['1.1', '2.1', '3.1'] });
    server.confirms('news', { ok: true, id: '7-c', missed: 1 });
    await sends('7-c');

    expect(await server.cuts()).toMatchObject({ resume_socket_ids: ['3.1', '4.1'] });
  });

  it('are forgotten together with their own events after the last missed one', async () => {
    using server = new ScriptedServer();
    const { sends } = await inNews({ server });
    await server.cuts();
    // 8-d excludes the first socket.
    server.confirms('news', { ok: true, id: '8-d', missed: 1 });
    await sends('7-c');

    expect(await server.cuts()).toMatchObject({
      resume_after_id: '8-d',
      resume_socket_ids: ['2.1', '3.1'],
    });
  });

  it('are the last hundred', async () => {
    using server = new ScriptedServer();
    await inNews({ server });
    let ids: readonly string[] | undefined;
    for (let cut = 0; cut < 105; cut++) ids = (await server.cuts()).resume_socket_ids;

    expect(ids).toHaveLength(100);
    expect(ids?.at(-1)).toBe('106.1');
  });
});

describe('a gap', () => {
  it('is reported to the channel and to the page, and the channel goes on from the newest event', async () => {
    using server = new ScriptedServer();
    const gaps = new Inbox<string>('The page');
    const { received } = await inNews({ server, onGap: (name) => gaps.put(name) });
    await server.cuts();
    server.confirms('news', { ok: false, id: '90-q', missed: 0, why: 'forgotten' });

    expect(await gaps.next()).toBe('news');
    expect(await received.next()).toEqual(['fanfare:gap', undefined]);
    expect(await server.cuts()).toMatchObject({
      resume_after_id: '90-q',
      resume_socket_ids: ['2.1', '3.1'],
    });
  });

  it('is none if the channel had no place before', async () => {
    using server = new ScriptedServer();
    const gaps: string[] = [];
    const { pusher, sends } = await inNews({ server, onGap: (name) => gaps.push(name) });
    pusher.subscribe('other');
    await server.subscribes.next();
    server.confirms('other', { ok: false, missed: 0, why: 'unavailable' });
    await sends('6-b');

    expect(gaps).toEqual([]);
  });

  it('is reported once if the server keeps no history any more', async () => {
    using server = new ScriptedServer();
    const gaps = new Inbox<string>('The page');
    const { sends } = await inNews({ server, onGap: (name) => gaps.put(name) });
    await server.cuts();
    server.confirms('news');
    expect(await gaps.next()).toBe('news');
    expect(await server.cuts()).toMatchObject({ resume_after_id: '' });
    server.confirms('news', { ok: true, id: '1-z', missed: 0 });
    await sends('2-y');
    gaps.put('no other');

    expect(await gaps.next()).toBe('no other');
  });
});

describe('the plugin', () => {
  it('goes on after the event that the page knows already', async () => {
    using server = new ScriptedServer();
    const pusher = server.client();
    const { places } = resume(pusher, { after: { news: '41-a', empty: null } });
    expect(places()).toEqual({ news: '41-a' });
    pusher.subscribe('news');
    pusher.subscribe('empty');

    const said = [await server.subscribes.next(), await server.subscribes.next()];
    expect(said.map(({ channel, resume_after_id }) => [channel, resume_after_id])).toEqual([
      ['news', '41-a'],
      ['empty', ''],
    ]);
  });

  it('changes nothing on a server without history', async () => {
    using server = new ScriptedServer();
    const gaps: string[] = [];
    const pusher = server.client();
    const { places } = resume(pusher, { onGap: (name) => gaps.push(name) });
    const received = new Inbox<string>('The channel');
    pusher.subscribe('news').bind('e', () => received.put('e'));
    await server.subscribes.next();
    for (let connection = 0; connection < 2; connection++) {
      server.confirms('news');
      server.send('e', 'news', {});
      expect(await received.next()).toBe('e');
      expect(await server.cuts()).toMatchObject({ channel: 'news', resume_after_id: '' });
    }
    expect(places()).toEqual({});
    expect(gaps).toEqual([]);
  });

  it('begins with the next connection if it comes after the first one', async () => {
    using server = new ScriptedServer();
    const pusher = server.client();
    pusher.subscribe('news');
    expect(await server.subscribes.next()).not.toContainKey('resume_after_id');
    server.confirms('news');
    resume(pusher);

    expect(await server.cuts()).toMatchObject({ resume_after_id: '' });
    server.confirms('news', { ok: true, id: '5-a', missed: 0 });
    expect(await server.cuts()).toMatchObject({ resume_after_id: '5-a' });
  });

  it('notes the places of channels that are entered after it has come late', async () => {
    using server = new ScriptedServer();
    const pusher = server.client();
    await new Promise((resolve) => pusher.connection.bind('connected', resolve));
    resume(pusher);
    const received = new Inbox<string>('The channel');
    pusher.subscribe('news').bind('e', () => received.put('e'));
    await server.subscribes.next();
    server.confirms('news', { ok: true, id: '5-a', missed: 0 });
    server.send('e', 'news', {}, '6-b');
    await received.next();

    expect(await server.cuts()).toMatchObject({ resume_after_id: '6-b' });
  });

  it('leaves subscriptions as they are if pusher-js keeps its transport elsewhere', () => {
    const sent: unknown[] = [];
    const pusher = {
      send_event: (...message: unknown[]) => sent.push(message) > 0,
      unsubscribe: () => undefined,
      channel: () => undefined,
      connection: {
        state: 'connected',
        socket_id: '1.1',
        connection: {},
        bind: () => undefined,
      },
    };
    resume(pusher);
    pusher.send_event('pusher:subscribe', { channel: 'news' });

    expect(sent).toEqual([['pusher:subscribe', { channel: 'news' }, undefined]]);
  });

  it('takes the instances of pusher-js as their types say', () => {
    const pusher: PusherJs = new PusherJs('key', { cluster: 'local', enabledTransports: [] });
    pusher.disconnect();

    expect(resume(pusher).places()).toEqual({});
  });

  it('is at most 1,500 bytes, minified and compressed', async () => {
    const { outputs } = await Bun.build({
      entrypoints: [join(import.meta.dir, 'index.js')],
      minify: true,
    });
    const text = (await outputs[0]?.text()) ?? '';

    expect(text).toContain('resume_after_id');
    expect(Bun.gzipSync(Buffer.from(text)).length).toBeLessThanOrEqual(1_500);
  });
});
