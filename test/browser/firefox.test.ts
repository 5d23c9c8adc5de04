import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { FIREFOX_START_MAX_MS, startFirefox } from '../../testing/browsers/firefox.ts';
import { PageSteps } from '../../testing/browsers/page-steps.ts';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { type Site, startSite } from './site.ts';

/**
 * The web build of the official JavaScript client in Firefox, over each of its transports. Firefox has no driver here: its
 * page asks the site for what to do next.
 */

setDefaultTimeout(180_000);

const TRANSPORTS = ['ws', 'xhr_streaming', 'xhr_polling'] as const;

/** What a client reads of one response. Source: HTTP transports, §6.3. */
const STREAM_UNITS = 262_144;

const parts = new AsyncDisposableStack();
let server: Fanfare;
let site: Site;
/** Breaks connections. */
let network: TcpProxy;

beforeAll(async () => {
  server = parts.use(
    await startFanfare({
      app: { clientEvents: true, history: [{ channels: 'resumed-*' }] },
      // On a busy machine, all that a test publishes may wait for the page.
      channels: { sendBufferBytes: 4_000_000 },
    }),
  );
  network = parts.use(await TcpProxy.start(server.port));
  site = parts.use(startSite(server));
  parts.use(await startFirefox([site.publish(page())]));
  await site.steps.opened;
}, FIREFOX_START_MAX_MS);

afterAll(() => parts.disposeAsync());

function page(): string {
  return `<!doctype html>
<title>Firefox</title>
<script src="/pusher.min.js"></script>
<script>
  // The addresses of all requests of the HTTP transports.
  const requested = [];
  const open = XMLHttpRequest.prototype.open;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    requested.push(url);
    return open.call(this, method, url, ...rest);
  };

  const clients = {};
  const heard = {};
  function connect(who, options) {
    clients[who] = new Pusher('${APP.key}', options);
    heard[who] = [];
  }
  async function connectResuming(who, options) {
    const { resume } = await import('http://127.0.0.1:${server.port}/sdk/resume.js');
    connect(who, options);
    resume(clients[who]);
  }
  function listen(who, name) {
    clients[who].subscribe(name).bind_global((event, data) => {
      heard[who].push([name, event, data.me ? { count: data.count, me: data.me.id } : data]);
    });
  }
  // The next events that a client receives.
  async function take(who, count) {
    while (heard[who].length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    return heard[who].splice(0, count);
  }
  ${PageSteps.SCRIPT}
</script>`;
}

/** The next event that a client receives. */
async function next(who: 'ann' | 'bob'): Promise<unknown> {
  return await site.steps.run(`return (await take('${who}', 1))[0]`);
}

describe.each(TRANSPORTS)('pusher-js in Firefox over %s', (transport) => {
  const named = (channel: string) => `${channel}-${transport}`;
  const enabledTransports = transport === 'ws' ? ['ws' as const] : [transport];

  beforeAll(async () => {
    for (const user of ['ann', 'bob']) {
      const options = optionsFor(server, { backend: site, user, enabledTransports });
      await site.steps.run(`connect('${user}', ${JSON.stringify(options)})`);
    }
  });

  afterAll(async () => {
    await site.steps.run('for (const who of ["ann", "bob"]) clients[who].disconnect()');
  });

  it.each(['news', 'private-orders'])('receives events of the channel %s', async (name) => {
    const channel = named(name);
    await site.steps.run(`listen('ann', '${channel}')`);
    expect(await next('ann')).toEqual([channel, 'pusher:subscription_succeeded', {}]);

    await site.library.trigger(channel, 'event', { text: 'Fanfare! 🎺' });

    expect(await next('ann')).toEqual([channel, 'event', { text: 'Fanfare! 🎺' }]);
  });

  it('sees the other client in a presence channel, and exchanges client events with it', async () => {
    const channel = named('presence-room');
    const bob = { id: 'bob', info: { name: 'BOB' } };
    const succeeded = 'pusher:subscription_succeeded';
    await site.steps.run(`listen('ann', '${channel}')`);
    expect(await next('ann')).toEqual([channel, succeeded, { count: 1, me: 'ann' }]);
    await site.steps.run(`listen('bob', '${channel}')`);
    expect(await next('bob')).toEqual([channel, succeeded, { count: 2, me: 'bob' }]);
    expect(await next('ann')).toEqual([channel, 'pusher:member_added', bob]);

    await site.steps.run(`clients.bob.channel('${channel}').trigger('client-move', { to: 'e4' })`);
    expect(await next('ann')).toEqual([channel, 'client-move', { to: 'e4' }]);
    await site.steps.run(`clients.ann.channel('${channel}').trigger('client-move', { to: 'e5' })`);
    expect(await next('bob')).toEqual([channel, 'client-move', { to: 'e5' }]);

    await site.steps.run(`clients.bob.unsubscribe('${channel}')`);
    expect(await next('ann')).toEqual([channel, 'pusher:member_removed', bob]);
  });

  it('receives nothing more of a channel that it has left', async () => {
    const left = named('presence-left');
    const kept = named('kept');
    for (const [who, channel] of [
      ['ann', left],
      ['bob', left],
      ['bob', kept],
    ] as const) {
      await site.steps.run(`listen('${who}', '${channel}')`);
      expect(await next(who)).toMatchObject([channel, 'pusher:subscription_succeeded', {}]);
    }
    expect(await next('ann')).toMatchObject([left, 'pusher:member_added', {}]);
    await site.steps.run(`clients.bob.unsubscribe('${left}')`);
    expect(await next('ann')).toMatchObject([left, 'pusher:member_removed', {}]);

    await site.library.trigger([left, kept], 'event', 1);

    expect(await next('ann')).toEqual([left, 'event', 1]);
    expect(await next('bob')).toEqual([kept, 'event', 1]);
  });

  it('gets with the plugin what it missed while its connection was broken', async () => {
    const channel = named('resumed');
    const options = JSON.stringify(optionsFor(network, { enabledTransports }));
    const taken = async (many: number) => await site.steps.run(`return await take('cid', ${many})`);
    await site.steps.run(`await connectResuming('cid', ${options}); listen('cid', '${channel}')`);
    const isIn = [channel, 'pusher:subscription_succeeded', {}];
    expect(await taken(1)).toMatchObject([isIn]);
    await site.library.trigger(channel, 'event', 1);
    expect(await taken(1)).toEqual([[channel, 'event', 1]]);

    network.stall();
    network.cut();
    for (const number of [2, 3]) await site.library.trigger(channel, 'event', number);
    network.resume();
    const missed = [
      [channel, 'event', 2],
      [channel, 'event', 3],
    ];
    // A client that polled in that moment has no new connection.
    const received: unknown[] = [];
    while (received.length < missed.length) {
      const [one] = (await taken(1)) as unknown[][];
      if (one?.[1] === 'event') received.push(one);
    }
    expect(received).toEqual(missed);
    await site.library.trigger(channel, 'event', 4);
    expect(await taken(1)).toEqual([[channel, 'event', 4]]);
    await site.steps.run('clients.cid.disconnect()');
  });

  it('misses nothing of more than it reads of one response', async () => {
    const channel = named('hurry');
    await site.steps.run(`listen('ann', '${channel}'); requested.length = 0`);
    await next('ann');
    const text = '€'.repeat(3000);
    const batches = Array.from({ length: 20 }, (_, batch) =>
      Array.from({ length: 10 }, (__, n) => ({
        channel,
        name: `${batch * 10 + n}`,
        data: text,
      })),
    );

    for (const batch of batches) await site.library.triggerBatch(batch);

    const events = (await site.steps.run(
      `return (await take('ann', 200)).map(([, name, text]) => [name, text.length])`,
    )) as unknown;
    expect(events).toEqual(Array.from({ length: 200 }, (_, n) => [`${n}`, text.length]));
    if (transport === 'xhr_streaming') {
      const opened = await site.steps.run(
        `return requested.filter((url) => url.includes('/xhr_streaming?')).length`,
      );
      expect(opened).toBeGreaterThanOrEqual(Math.floor((200 * text.length) / STREAM_UNITS));
    }
  });
});
