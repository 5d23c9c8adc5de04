import { afterEach, beforeEach, describe, expect, it, jest, spyOn } from 'bun:test';
import type { Options } from './options.ts';
import { Scripted } from './scripted.fixture.ts';

const EXTRAS = { extras: ['later', 'resume'] };

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** A client of a server with extras, subscribed to `news`, which is at the place `5-a`. */
function inNews(options: Partial<Options> = {}) {
  const world = new Scripted();
  const pusher = world.client(options);
  const heard: [name: string, data: unknown][] = [];
  pusher.subscribe('news').bind_global((name, data) => heard.push([name, data]));
  world.socket.accept('1.1', EXTRAS);
  world.socket.confirms('news', { resume: { ok: true, id: '5-a', missed: 0 } });
  heard.splice(0);
  /** Cuts the connection, and returns what the client says on the next one. */
  const cut = (socketId: string, extras: object = EXTRAS) => {
    world.socket.ends(4200);
    jest.advanceTimersByTime(60_000);
    world.socket.accept(socketId, extras);
    return world.socket.said().map(({ data }) => data);
  };
  return { world, pusher, heard, cut };
}

describe('without extras', () => {
  it('the client says exactly what pusher-js says', () => {
    using world = new Scripted();
    const pusher = world.client();
    pusher.subscribe('news');
    world.socket.accept();
    world.socket.confirms('news');
    world.socket.says('pusher:ping', {});
    pusher.channel('news')?.trigger('client-a', { b: 1 });
    pusher.unsubscribe('news');
    expect(world.socket.texts).toEqual([
      '{"event":"pusher:subscribe","data":{"auth":"","channel":"news"}}',
      '{"event":"pusher:pong","data":{}}',
      '{"event":"client-a","data":{"b":1},"channel":"news"}',
      '{"event":"pusher:unsubscribe","data":{"channel":"news"}}',
    ]);
    expect(pusher.connection.extras).toEqual([]);
  });

  it.each([[7], ['resume'], [{ resume: true }], [null]])('%p is no list of them', (extras) => {
    using world = new Scripted();
    const pusher = world.client();
    pusher.subscribe('news');
    world.socket.accept('1.1', { extras });
    expect(world.socket.said()[0]?.data).toEqual({ auth: '', channel: 'news' });
  });
});

describe('with extras', () => {
  it('a channel goes on after the last event that its handlers got', () => {
    const { world, pusher, heard, cut } = inNews();
    expect(pusher.connection.extras).toEqual(['later', 'resume']);
    world.socket.says('e', 1, { channel: 'news', id: '6-b' });
    expect(pusher.places()).toEqual({ news: '6-b' });
    expect(cut('2.1')).toEqual([
      { auth: '', channel: 'news', resume_after_id: '6-b', resume_socket_ids: ['1.1', '2.1'] },
    ]);
    world.socket.confirms('news', { resume: { ok: true, id: '8-d', missed: 2 } });
    expect(pusher.places()).toEqual({ news: '6-b' });
    world.socket.says('e', 2, { channel: 'news', id: '7-c' });
    world.socket.says('e', 3, { channel: 'news', id: '8-d' });
    expect(heard.filter(([name]) => name === 'e')).toEqual([
      ['e', 1],
      ['e', 2],
      ['e', 3],
    ]);
    expect(cut('3.1')).toMatchObject([
      { resume_after_id: '8-d', resume_socket_ids: ['2.1', '3.1'] },
    ]);
  });

  it('handlers get the id of an event', () => {
    const { world, pusher } = inNews();
    const ids: unknown[] = [];
    pusher.channel('news')?.bind('e', (_: unknown, { id }: { id?: string }) => ids.push(id));
    world.socket.says('e', 1, { channel: 'news', id: '6-b' });
    world.socket.says('e', { id: '9-z' }, { channel: 'news' });
    expect([ids, pusher.places()]).toEqual([['6-b', undefined], { news: '6-b' }]);
  });

  it('an event whose handler throws moves no place', () => {
    const { world, pusher } = inNews();
    pusher.channel('news')?.bind('bad', () => {
      throw new Error('of the page');
    });
    expect(() => world.socket.says('bad', 1, { channel: 'news', id: '6-b' })).toThrow(
      'of the page',
    );
    expect(pusher.places()).toEqual({ news: '5-a' });
  });

  it('a gap is reported to the channel, after its subscription', () => {
    const { world, heard, cut } = inNews();
    cut('2.1');
    world.socket.confirms('news', { resume: { ok: false, id: '90-q', missed: 0 } });
    expect(heard.map(([name]) => name)).toEqual(['pusher:subscription_succeeded', 'fanfare:gap']);
    expect(cut('3.1')).toMatchObject([{ resume_after_id: '90-q' }]);
  });

  it('a gap is reported by a server that cannot resume, and the client says nothing to it about places', () => {
    const { world, heard, cut } = inNews();
    expect(cut('2.1', {})).toEqual([{ auth: '', channel: 'news' }]);
    world.socket.confirms('news');
    expect(heard.at(-1)).toEqual(['fanfare:gap', undefined]);
  });

  it('a channel that the application leaves begins anew', () => {
    const { world, pusher } = inNews();
    pusher.unsubscribe('news');
    world.socket.said();
    pusher.subscribe('news');
    expect(world.socket.said()[0]?.data).toMatchObject({ resume_after_id: '' });
  });

  it('the channel of the user resumes, too', () => {
    const { world, pusher, cut } = inNews({
      userAuthentication: {
        customHandler: (_, done) => done(null, { auth: 'a', user_data: '{"id":"ann"}' }),
      },
    });
    const channel = '#server-to-user-ann';
    pusher.signin();
    const signedIn = () =>
      world.socket.says('pusher:signin_success', { user_data: '{"id":"ann"}' });
    signedIn();
    world.socket.confirms(channel, { resume: { ok: true, id: '1-a', missed: 0 } });
    world.socket.says('e', 1, { channel, id: '2-b' });
    cut('2.1');
    signedIn();
    expect(world.socket.said()[0]?.data).toMatchObject({ channel, resume_after_id: '2-b' });
  });

  it('the application may say where it is, or that it does not want to resume', () => {
    const { world, pusher } = inNews({ resume: { after: { other: '3-x', empty: null } } });
    world.socket.said();
    pusher.subscribe('other');
    expect(world.socket.said()[0]?.data).toMatchObject({ resume_after_id: '3-x' });
    expect(pusher.places()).toEqual({ news: '5-a', other: '3-x' });

    const without = inNews({ resume: false });
    expect(without.cut('2.1')).toEqual([{ auth: '', channel: 'news' }]);
    expect(without.pusher.places()).toEqual({});
  });
});
