import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { channelAuth, hmac } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Client,
  channelData,
  confirmation,
  connect,
  fresh,
  hearsRefusal,
  PROTOCOLS,
} from './conversation.ts';

/** Source: Channels protocol, §4 and §5.5. */

const SECOND = { key: 'second-key', secret: 'second secret, with spaces & ünïcödé' };
const OTHER_APP = { key: 'key-of-another-app', secret: 'another' };

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: { keys: [{ key: APP.key, secret: APP.secret }, SECOND] },
    moreApps: [{ id: '4', keys: [OTHER_APP] }],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const PREFIXES = ['private-', 'private-encrypted-', 'presence-'] as const;

function dataFor(prefix: string): string | undefined {
  return prefix === 'presence-' ? channelData('1') : undefined;
}

function subscribe(client: Client, channel: string, auth: string | undefined, data?: string): void {
  client.send({ event: 'pusher:subscribe', data: { channel, auth, channel_data: data } });
}

function signedText(client: Client, channel: string, data?: string): string {
  return [client.socketId, channel, ...(data === undefined ? [] : [data])].join(':');
}

describe.each(PROTOCOLS)('for a client of protocol %i', (protocol) => {
  describe.each(PREFIXES)('a channel whose name begins with "%s"', (prefix) => {
    const data = dataFor(prefix);

    it.each([APP, SECOND])('accepts a signature with any key of the app: $key', async (pair) => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);

      const signature = hmac(signedText(client, channel, data), pair.secret);
      subscribe(client, channel, `${pair.key}:${signature}`, data);

      expect(await client.receive()).toMatchObject({
        ...confirmation(channel),
        data: expect.any(String),
      });
    });

    it.each(['nobodys-key', OTHER_APP.key, APP.key.toUpperCase(), ` ${APP.key}`, '😀'])(
      'refuses an unknown key: %s',
      async (key) => {
        const channel = fresh(prefix);
        await using client = await connect(server, protocol);
        const text = signedText(client, channel, data);

        // A key of another app is refused even with a valid signature.
        const secret = key === OTHER_APP.key ? OTHER_APP.secret : APP.secret;
        subscribe(client, channel, `${key}:${hmac(text, secret)}`, data);

        await hearsRefusal(client, channel, `Invalid key in subscription auth data: '${key}'`);
        await client.receiveNothing();
      },
    );

    it.each([undefined, '', 'x', APP.key, `${APP.key}:`, ':', ':abc', hmac('x')])(
      'refuses anything but a key and a signature: %s',
      async (auth) => {
        const channel = fresh(prefix);
        await using client = await connect(server, protocol);

        subscribe(client, channel, auth, data);

        await hearsRefusal(
          client,
          channel,
          `Auth value for subscription to ${channel} is invalid: should be of format 'key:signature'`,
        );
        await client.receiveNothing();
      },
    );

    it.each<[string, (text: string) => string]>([
      ['made with the secret of another key', (text) => hmac(text, SECOND.secret)],
      ['in upper case', (text) => hmac(text).toUpperCase()],
      ['cut short', (text) => hmac(text).slice(0, -1)],
      ['too long', (text) => `${hmac(text)}0`],
      ['with a space behind it', (text) => `${hmac(text)} `],
      [
        'with one digit changed',
        (text) => hmac(text).replace(/.$/, (d) => (d === '0' ? '1' : '0')),
      ],
      ['behind a second colon', (text) => `:${hmac(text)}`],
      ['of nothing', () => hmac('')],
      ['that is none', () => 'é😀'],
      ['in base64', (text) => Buffer.from(hmac(text), 'hex').toString('base64')],
    ])('refuses a signature %s', async (_, forge) => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);
      const text = signedText(client, channel, data);

      subscribe(client, channel, `${APP.key}:${forge(text)}`, data);

      await hearsRefusal(
        client,
        channel,
        `Invalid signature: Expected HMAC SHA256 hex digest of ${text}, but got ${forge(text)}`,
      );
      await client.receiveNothing();
    });

    it('refuses a signature for another connection or channel', async () => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);
      await using other = await connect(server, protocol);
      for (const { auth } of [
        channelAuth(other.socketId, channel, data),
        channelAuth(client.socketId, `${channel}x`, data),
        channelAuth(client.socketId, channel.toUpperCase(), data),
      ]) {
        subscribe(client, channel, auth, data);
        await hearsRefusal(client, channel, expect.stringMatching(/^Invalid signature: /));
      }
      await client.receiveNothing();
    });

    it('requires channel_data as it was signed, byte for byte', async () => {
      const channel = fresh(prefix);
      const odd =
        '{ "user_id" : "\\u00e9😀:",\n"user_info":{"n":1.0} , "more":[12345678901234567890]}';
      await using client = await connect(server, protocol);

      for (const [signed, sent] of [
        [undefined, odd],
        [JSON.stringify(JSON.parse(odd)), odd],
        [odd, `${odd} `],
      ] as const) {
        subscribe(client, channel, channelAuth(client.socketId, channel, signed).auth, sent);
        await hearsRefusal(
          client,
          channel,
          expect.stringContaining(`hex digest of ${client.socketId}:${channel}:${sent}, but got `),
        );
      }
      subscribe(client, channel, channelAuth(client.socketId, channel, odd).auth, odd);

      expect(await client.receive()).toMatchObject({ channel, data: expect.stringMatching(/^{/) });
      await client.receiveNothing();
    });

    it('refuses signed channel_data that was left out', async () => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);
      const { auth } = channelAuth(client.socketId, channel, channelData('1'));

      subscribe(client, channel, auth);

      await hearsRefusal(client, channel, expect.stringMatching(/^Invalid signature: /));
    });

    it('treats empty and null channel_data as none', async () => {
      await using client = await connect(server, protocol);
      for (const nothing of ['', null]) {
        const channel = fresh(prefix);
        const { auth } = channelAuth(client.socketId, channel);

        client.send({
          event: 'pusher:subscribe',
          data: { channel, auth, channel_data: nothing },
        });

        if (prefix === 'presence-') {
          await hearsRefusal(client, channel, expect.stringMatching(/^Invalid channel_data/));
        } else {
          expect(await client.receive()).toEqual(confirmation(channel));
        }
      }
    });
  });

  it('private channels accept any channel_data', async () => {
    await using client = await connect(server, protocol);
    for (const data of ['not JSON', '[]', '{"user_id":{}}', 'x'.repeat(5000)]) {
      const channel = fresh('private-');

      subscribe(client, channel, channelAuth(client.socketId, channel, data).auth, data);

      expect(await client.receive()).toEqual(confirmation(channel));
    }
  });
});
