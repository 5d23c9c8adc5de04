import { expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';
import { startChromium } from './chromium.ts';
import { startSite } from './site.ts';

/** Grants and tokens in pages with the web build of the official JavaScript client, in a browser. Source: identity, §1. */

const CHANNELS = Array.from({ length: 39 }, (_, n) => `private-team-${n}`);
const ALL = [...CHANNELS, 'presence-team'];
const GRANTED = {
  'private-team-*': ['subscribe', 'client-events'],
  'presence-team': ['subscribe'],
};

const now = () => Math.floor(Date.now() / 1000);

function signed(text: string, encoding: 'hex' | 'base64url'): string {
  return createHmac('sha256', APP.secret).update(text).digest(encoding);
}

function token(): string {
  const claims = { sub: 'ann', channels: GRANTED, iat: now(), exp: now() + 600 };
  const text = [{ alg: 'HS256', kid: APP.key }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${text}.${signed(text, 'base64url')}`;
}

/** What the backend of the page answers to a sign-in. */
const ways = {
  'a sign-in with grants': (socketId: string) => {
    const user_data = JSON.stringify({
      id: 'ann',
      grants: { channels: GRANTED, exp: now() + 600 },
    });
    return { auth: `${APP.key}:${signed(`${socketId}::user::${user_data}`, 'hex')}`, user_data };
  },
  'a token': () => ({ auth: token(), user_data: '' }),
};

it('one sign-in lets pages into 40 channels, also after a reconnect, and asks the backend for nothing else', async () => {
  await using server = await startFanfare({
    app: { grants: { leewaySeconds: 0 }, clientEvents: true },
  });
  using site = startSite(server);
  await using browser = await startChromium();
  for (const [name, signIn] of Object.entries(ways)) {
    const html = `<!doctype html>
<script src="/pusher.min.js"></script>
<script>
  const pusher = new Pusher('${APP.key}', {
    ...${JSON.stringify(optionsFor(server))},
    userAuthentication: {
      customHandler: ({ socketId }, done) => void signIn(socketId).then((answer) => done(null, answer)),
    },
    channelAuthorization: { customHandler: (_, done) => done(null, { auth: '' }) },
  });
  pusher.connection.bind('message', ({ event, channel }) => {
    if (event === 'pusher_internal:subscription_succeeded' && !channel.startsWith('#')) report('in', channel);
    if (/error/.test(event)) report('in', event + ' ' + channel);
  });
  pusher.signin();
  for (const name of ${JSON.stringify(ALL)}) {
    pusher.subscribe(name).bind('note', (data) => report('note', data));
  }
</script>`;
    const { page, reports } = await browser.open('about:blank');
    await page.exposeFunction('signIn', async (socketId: string) => signIn(socketId));
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(site.publish(html));
    const entered = async () => {
      const channels: unknown[] = [];
      while (channels.length < ALL.length) channels.push((await reports.next())[1]);
      return channels;
    };
    expect([name, await entered()]).toEqual([name, ALL]);
    await page.evaluate('pusher.disconnect(); pusher.connect();');
    expect([name, new Set(await entered())]).toEqual([name, new Set(ALL)]);
    expect(requests.filter((path) => path.includes('auth'))).toEqual([]);
    await site.library.trigger('private-team-7', 'note', { from: name });
    expect(await reports.next()).toEqual(['note', { from: name }]);
    expect(await page.evaluate('pusher.channel("presence-team").members.me.id')).toBe('ann');
    await page.close();
  }
}, 180_000);
