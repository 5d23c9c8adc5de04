import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { channelAuth } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  cacheMiss,
  channelData,
  confirmation,
  connect,
  error,
  fresh,
  hearsRefusal,
  PROTOCOLS,
} from './conversation.ts';

/** Source: Channels protocol, §5.1 and §5.2. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Kind {
  readonly prefix: string;
  readonly authorised?: true;
  readonly presence?: true;
  readonly cached?: true;
}

/** Rules that depend only on the prefix of a name. */
const KINDS: readonly Kind[] = [
  { prefix: '' },
  { prefix: 'cache-', cached: true },
  { prefix: 'private-', authorised: true },
  { prefix: 'private-cache-', authorised: true, cached: true },
  { prefix: 'private-encrypted-', authorised: true },
  { prefix: 'private-encrypted-cache-', authorised: true, cached: true },
  { prefix: 'presence-', authorised: true, presence: true },
  { prefix: 'presence-cache-', authorised: true, presence: true, cached: true },
  // Almost prefixes.
  { prefix: 'private' },
  { prefix: 'privateer-' },
  { prefix: 'private_' },
  { prefix: 'Private-' },
  { prefix: 'PRESENCE-' },
  { prefix: 'presence' },
  { prefix: 'presence_cache-' },
  { prefix: 'cache' },
  { prefix: 'Cache-' },
  { prefix: 'xprivate-' },
  { prefix: '-private-' },
  { prefix: 'x-presence-' },
  { prefix: 'x-cache-' },
  { prefix: 'cache-private-', cached: true },
  { prefix: 'cache-presence-', cached: true },
  { prefix: 'encrypted-' },
  { prefix: 'encrypted-cache-' },
  { prefix: 'private-x-cache-', authorised: true },
  { prefix: 'private-cache', authorised: true },
  { prefix: 'private-presence-', authorised: true },
  { prefix: 'private-encrypted-x-cache-', authorised: true },
  { prefix: 'private-encryptedcache-', authorised: true },
  { prefix: 'presence-private-', authorised: true, presence: true },
  { prefix: 'presence-encrypted-', authorised: true, presence: true },
  { prefix: 'presence-x-cache-', authorised: true, presence: true },
];

describe.each(PROTOCOLS)('for a client of protocol %i', (protocol) => {
  describe.each(KINDS)('a channel whose name begins with "$prefix"', (kind) => {
    const { prefix, authorised, presence, cached } = kind;

    it(authorised ? 'takes nobody in without authorisation' : 'takes in everybody', async () => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);

      client.send({ event: 'pusher:subscribe', data: { channel, auth: '' } });

      if (authorised) {
        await hearsRefusal(
          client,
          channel,
          `Auth value for subscription to ${channel} is invalid: should be of format 'key:signature'`,
        );
      } else {
        expect(await client.receive()).toEqual(confirmation(channel));
        if (cached) expect(await client.receive()).toEqual(cacheMiss(channel));
      }
      await client.receiveNothing();
    });

    const traits = [
      presence ? 'says who is in it' : 'does not say who is in it',
      cached ? 'reports its cache' : 'has no cache',
      authorised ? 'takes client events' : 'takes no client events',
    ];
    it(traits.join(', '), async () => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);
      const data = presence ? channelData('1') : undefined;

      client.send({
        event: 'pusher:subscribe',
        data: { channel, ...channelAuth(client.socketId, channel, data) },
      });
      client.send({ event: 'client-event', channel, data: '' });

      expect(await client.receive()).toEqual(
        presence
          ? {
              ...confirmation(channel),
              data: '{"presence":{"count":1,"ids":["1"],"hash":{"1":null}}}',
            }
          : confirmation(channel),
      );
      if (cached) expect(await client.receive()).toEqual(cacheMiss(channel));
      if (!authorised) {
        expect(await client.receive()).toEqual(
          error('Client event rejected - only supported on private and presence channels'),
        );
      }
      await client.receiveNothing();
    });
  });

  it.each([
    ['one character', 'x'],
    ['every character there may be', 'AZaz09_-=@,.;'],
    ['no letter', '-=@,.;'],
    ['200 characters', 'x'.repeat(200)],
    ['164 characters', 'x'.repeat(164)],
    ['the name of a property that objects have', '__proto__'],
  ])('a name may have %s', async (_, channel) => {
    await using client = await connect(server, protocol);

    client.send({ event: 'pusher:subscribe', data: { channel } });

    expect(await client.receive()).toEqual(confirmation(channel));
    await client.receiveNothing();
  });

  it('a name with a prefix may have 200 characters, and not 201', async () => {
    await using client = await connect(server, protocol);
    for (const prefix of ['private-', 'presence-', 'private-encrypted-', 'presence-cache-']) {
      const longest = prefix.padEnd(200, 'x');
      const data = prefix.startsWith('presence-') ? channelData('1') : undefined;
      for (const channel of [longest, `${longest}x`]) {
        const signed = channelAuth(client.socketId, channel, data);
        client.send({ event: 'pusher:subscribe', data: { channel, ...signed } });
      }

      expect(await client.receive()).toMatchObject({ channel: longest });
      if (prefix === 'presence-cache-') expect(await client.receive()).toEqual(cacheMiss(longest));
      await hearsRefusal(client, `${longest}x`, expect.stringMatching(/^Invalid channel name/));
    }
    await client.receiveNothing();
  });

  it('a name may not be empty or have 201 characters', async () => {
    await using client = await connect(server, protocol);
    for (const channel of ['', 'x'.repeat(201), 'x'.repeat(10_000)]) {
      client.send({ event: 'pusher:subscribe', data: { channel, auth: '' } });
      await hearsRefusal(client, channel, expect.stringMatching(/^Invalid channel name/));
    }
    await client.receiveNothing();
  });

  it('a name may have no other character', async () => {
    await using client = await connect(server, protocol);
    const others = [
      ...Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)).filter(
        (character) => !/[-a-zA-Z0-9_=@,.;]/.test(character),
      ),
      ...'éßж中😀\u00a0\u2028\u200b\u0660\uff21\u212a\ud800',
    ];
    expect(others.length).toBeGreaterThan(70);
    for (const character of others) {
      for (const channel of [character, `a${character}b`, `${character}ab`, `ab${character}`]) {
        client.send({ event: 'pusher:subscribe', data: { channel, auth: '' } });
        await hearsRefusal(client, channel, expect.stringMatching(/^Invalid channel name/));
      }
    }
    await client.receiveNothing();
  });

  it('names that begin with # are reserved', async () => {
    await using client = await connect(server, protocol);
    for (const channel of ['#', '#x', '##x', '#private-x', '#server-to-user', '#server-to-user-']) {
      client.send({ event: 'pusher:subscribe', data: { channel } });
      await hearsRefusal(client, channel, expect.stringMatching(/^Invalid channel name/));
    }
    const own = '#server-to-user-7';
    client.send({
      event: 'pusher:subscribe',
      data: { channel: own, ...channelAuth(client.socketId, own) },
    });
    await hearsRefusal(client, own, expect.stringContaining('signed in'));
    await client.receiveNothing();
  });
});
