import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { EventReader } from '../../../testing/clients/event-reader.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { type ApiCall, api, hmac, signedTarget, trigger } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { fresh } from '../websocket/conversation.ts';

/** Who may read what, and what others are told. */

const OTHER = { id: '4', key: 'other-key', secret: 'other-secret' };
const OFF = { id: '5', key: 'off-key', secret: 'off-secret' };
const STRICT = { id: '6', key: 'strict-key', secret: 'strict-secret' };
const SMALL = { id: '7', key: 'small-key', secret: 'small-secret' };

let server: Fanfare;
beforeAll(async () => {
  const appOf = ({ id, key, secret }: typeof OTHER) => ({ id, keys: [{ key, secret }] });
  server = await startFanfare({
    moreApps: [
      appOf(OTHER),
      { ...appOf(OFF), enabled: false },
      { ...appOf(STRICT), allowedOrigins: ['good.example'] },
      { ...appOf(SMALL), limits: { connections: 1, channelsPerConnection: 2 } },
    ],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const pathOf = (channel: string, app: string = APP.id) => `/apps/${app}/channels/${channel}/stream`;
const signed = (path: string, call: ApiCall = {}) => signedTarget('GET', path, call);

async function asked(target: string, headers: Readonly<Record<string, string>> = {}) {
  const abort = new AbortController();
  const response = await fetch(`http://127.0.0.1:${server.port}${target}`, {
    headers,
    signal: abort.signal,
  });
  const isOpen = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isOpen ? 'opened' : await response.text();
  abort.abort();
  return [response.status, text];
}

/** The target of a request that was signed `ago` seconds ago, and is valid until `expires` seconds from now. */
function presigned(path: string, { ago = 0, expires = '3600', query = {} } = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const at = /^-?\d+$/.test(expires) ? String(now + Number(expires)) : expires;
  const parameters = {
    ...query,
    auth_key: APP.key,
    auth_timestamp: String(now - ago),
    auth_version: '1.0',
    expires: at,
  };
  const text = Object.entries(parameters)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');
  return `${path}?${text}&auth_signature=${hmac(`GET\n${path}\n${text}`)}`;
}

describe('a request to read', () => {
  it.each(['news', 'private-a', 'private-encrypted-a', 'presence-a', 'private-cache-a'])(
    'that is signed may read %s',
    async (channel) => {
      expect(await asked(signed(pathOf(channel)))).toEqual([200, 'opened']);
      expect(await asked(presigned(pathOf(channel)))).toEqual([200, 'opened']);
    },
  );

  it('that is signed may read the channel of a user, and a name with a comma', async () => {
    expect(await asked(signed(pathOf('%23server-to-user-7')))).toEqual([200, 'opened']);
    expect(await asked(signed(pathOf('a,b')))).toEqual([200, 'opened']);
  });

  it('with a key alone may read public channels only', async () => {
    const query = `?key=${APP.key}`;
    expect(await asked(`${pathOf('news')}${query}`)).toEqual([200, 'opened']);
    for (const name of ['private-x', 'private-encrypted-x', 'presence-x', '#server-to-user-1']) {
      const target = pathOf(encodeURIComponent(name));
      expect(await asked(`${target}${query}`)).toEqual([401, `${name}: needs a signed URL`]);
    }
    const several = `/apps/${APP.id}/stream${query}&channels=news,private-x`;
    expect(await asked(several)).toEqual([401, 'private-x: needs a signed URL']);
  });

  it('is refused without a key, and with one of nobody or of another app', async () => {
    const news = pathOf('news');
    expect(await asked(news)).toEqual([401, 'Missing parameter: auth_key']);
    expect(await asked(`${news}?key=nobody`)).toEqual([401, 'Unknown key']);
    expect(await asked(`${news}?key=${OTHER.key}`)).toEqual([401, 'Unknown key']);
    const { key, secret } = OTHER;
    expect(await asked(signed(news, { key, secret }))).toEqual([401, 'Unknown auth_key']);
    expect(await asked(`${news}?key=${APP.key}&auth_key=${APP.key}`)).toEqual([
      401,
      'Version required',
    ]);
  });

  it('reads nothing of a private channel with a wrong signature', async () => {
    const path = pathOf('private-a');
    const tamper = (parameters: Map<string, string>) =>
      void parameters.set('auth_signature', '0'.repeat(64));
    const [status, text] = await asked(signed(path, { tamper }));
    expect([status, String(text).slice(0, 17)]).toEqual([401, 'Invalid signature']);
    const ofAnother = signed(pathOf('private-b')).replace('private-b', 'private-a');
    expect((await asked(ofAnother))[0]).toBe(401);
    // Signed for one end, used with a later one.
    const later = presigned(path).replace(/expires=(\d+)/, (_, at) => `expires=${Number(at) + 1}`);
    expect((await asked(later))[0]).toBe(401);
  });

  it('that was signed in advance is valid until its end, however old', async () => {
    const path = pathOf('private-a');
    expect(await asked(presigned(path, { ago: 80_000, expires: '60' }))).toEqual([200, 'opened']);
    expect(await asked(presigned(path, { ago: 86_340, expires: '60' }))).toEqual([200, 'opened']);
    expect(await asked(presigned(path, { ago: 700, expires: '0' }))).toEqual([
      401,
      'Signature expired',
    ]);
    expect(await asked(presigned(path, { ago: 700, expires: '-5' }))).toEqual([
      401,
      'Signature expired',
    ]);
  });

  it.each([
    ['a word', 'soon', 0],
    ['a fraction', '1.5', 0],
    ['the time of the signature', '0', 0],
    ['before the signature', '-700', 600],
    ['more than a day behind the signature', '86401', 0],
  ])('is refused if it expires at %s', async (_, expires, ago) => {
    const why = 'expires: must be a time in seconds, at most 86400 after auth_timestamp';
    expect(await asked(presigned(pathOf('news'), { expires, ago }))).toEqual([400, why]);
  });

  it('that was signed for the future is refused as ever', async () => {
    const [status, text] = await asked(presigned(pathOf('news'), { ago: -700, expires: '1000' }));
    expect([status, String(text).slice(0, 17)]).toEqual([401, 'Timestamp expired']);
  });

  it('lengthens nothing else: elsewhere `expires` is an ordinary parameter', async () => {
    const [status, text] = await asked(presigned(`/apps/${APP.id}/channels`, { ago: 700 }));
    expect([status, String(text).slice(0, 17)]).toEqual([401, 'Timestamp expired']);
    const path = `/apps/${APP.id}/channels/news/users/stream`;
    expect((await asked(presigned(path, { ago: 700 })))[0]).toBe(401);
  });

  it.each([
    ['', 'none'],
    ['a,,b', 'an empty one'],
    ['a,b,a', 'one twice'],
    [Array.from({ length: 21 }, (_, n) => `c${n}`).join(','), '21'],
  ])('is refused with channels=%s', async (channels) => {
    const why = 'channels: must be 1 to 20 different names, separated by commas';
    const query = channels === '' ? {} : { channels };
    expect(await asked(signed(`/apps/${APP.id}/stream`, { query }))).toEqual([400, why]);
  });

  it('reads 20 channels', async () => {
    const channels = Array.from({ length: 20 }, () => fresh('private-')).join(',');
    const target = signed(`/apps/${APP.id}/stream`, { query: { channels } });
    await using reader = await EventReader.open(server, target);
    await reader.confirmed(20);
  });

  it('is refused with a bad name, and with parameters that it does not have', async () => {
    const [status, text] = await asked(signed(pathOf('a!')));
    expect([status, String(text).slice(0, 20)]).toEqual([400, 'Invalid channel name']);
    const why = (names: string) => `The following query string parameters are extraneous: ${names}`;
    const more = { expire: '1', key: 'x', channels: 'a' };
    expect(await asked(signed(pathOf('a'), { query: more }))).toEqual([
      400,
      why('expire, key, channels'),
    ]);
    expect(await asked(`${pathOf('a')}?key=${APP.key}&expires=9`)).toEqual([400, why('expires')]);
  });

  it('is refused if the app is disabled, if its page may not use the app, and by another method', async () => {
    const news = pathOf('news', OFF.id);
    expect(await asked(`${news}?key=${OFF.key}`)).toEqual([403, 'The app is disabled']);

    const strict = `${pathOf('news', STRICT.id)}`;
    const [bad, good] = [{ origin: 'https://bad.example' }, { origin: 'https://good.example' }];
    expect(await asked(`${strict}?key=${STRICT.key}`, bad)).toEqual([403, 'Origin not allowed']);
    expect(await asked(`${strict}?key=${STRICT.key}`, good)).toEqual([200, 'opened']);
    expect(await asked(`${strict}?key=${STRICT.key}`)).toEqual([200, 'opened']);
    expect(await asked(signed(strict, STRICT), bad)).toEqual([200, 'opened']);

    const posted = await fetch(`http://127.0.0.1:${server.port}${signed(pathOf('news'))}`, {
      method: 'POST',
      body: 'x',
    });
    expect([posted.status, posted.headers.get('allow'), await posted.text()]).toEqual([
      405,
      'GET, OPTIONS',
      '405 METHOD NOT ALLOWED: use GET\n',
    ]);
  });

  it('is refused beyond the limits of the app', async () => {
    const target = `${pathOf('news', SMALL.id)}?key=${SMALL.key}`;
    await using first = await EventReader.open(server, target);
    await first.confirmed();
    const why = 'The app has as many connections as it may have';
    expect(await asked(target, { accept: 'text/event-stream' })).toEqual([429, why]);
    const three = `/apps/${SMALL.id}/stream?key=${SMALL.key}&channels=a,b,c`;
    expect(await asked(three)).toEqual([
      400,
      'Too many subscriptions: a connection may be in 2 channels at most',
    ]);
  });

  it('has no body', async () => {
    await using client = await RawHttp.open(server);
    const target = `${pathOf('news')}?key=${APP.key}`;
    const answer = await client.request({ method: 'GET', target, body: 'x' });
    expect([answer.status, answer.body]).toEqual([
      400,
      'A request that reads channels has no body',
    ]);
  });

  it('is allowed to pages of any site', async () => {
    const url = `http://127.0.0.1:${server.port}${pathOf('news')}`;
    const preflight = await fetch(url, { method: 'OPTIONS' });
    expect([preflight.status, await preflight.text()]).toEqual([204, '']);
    const allowed = (name: string) => preflight.headers.get(`access-control-allow-${name}`);
    expect(['origin', 'methods', 'headers'].map(allowed)).toEqual([
      '*',
      'GET',
      'last-event-id, authorization, cache-control',
    ]);
    const refused = await fetch(url);
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('leaves a channel that is called like it alone', async () => {
    const known = await api(server, 'GET', `/apps/${APP.id}/channels/stream`);
    expect(await known.json()).toEqual({ occupied: false });
    await trigger(server, { name: 'e', channel: 'stream', data: 'x' });
  });
});

describe('after', () => {
  it.each(['x', '1-a', '1-abcdefgh,', '1-abcdefgh,2-abcdefgh', '1-ABCDEFGH'])(
    'is refused if it is %s',
    async (after) => {
      const why = 'after: must be the last id that was read';
      expect(await asked(signed(pathOf('news'), { query: { after } }))).toEqual([400, why]);
    },
  );

  it('is nothing in a header that is malformed: an error would end the stream of the page', async () => {
    const headers = { 'last-event-id': 'x,y' };
    const query = { after: 'x' };
    expect(await asked(signed(pathOf('news'), { query }), headers)).toEqual([200, 'opened']);
  });
});
