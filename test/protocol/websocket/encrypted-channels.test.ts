import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { channelAuth, trigger } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { connect, fresh, join, member, PROTOCOLS } from './conversation.ts';

/** Source: Channels protocol, §11. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const SEALED = JSON.stringify({
  nonce: Buffer.alloc(24, 7).toString('base64'),
  ciphertext: Buffer.from('nobody here can read this').toString('base64'),
});

describe.each(PROTOCOLS)('an encrypted channel, for a client of protocol %i', (protocol) => {
  it('passes on encrypted data unchanged', async () => {
    const channel = fresh('private-encrypted-');
    await using client = await member(server, channel, undefined, protocol);

    await trigger(server, { name: 'sealed', channel, data: SEALED });

    expect(await client.receive()).toEqual({ event: 'sealed', channel, data: SEALED });
  });

  it('passes on data that is not or badly encrypted', async () => {
    const channel = fresh('private-encrypted-');
    await using client = await member(server, channel, undefined, protocol);
    for (const data of ['plain', '{}', '{"nonce":"","ciphertext":7}', '{ "nonce" : null }']) {
      await trigger(server, { name: 'e', channel, data });
      expect(await client.receive()).toEqual({ event: 'e', channel, data });
    }
  });

  it('ignores a shared_secret that a careless client sends, and reveals it to nobody', async () => {
    const channel = fresh('private-encrypted-');
    await using watcher = await member(server, channel, undefined, protocol);
    await using client = await connect(server, protocol);
    const secret = Buffer.alloc(32, 9).toString('base64');

    client.send({
      event: 'pusher:subscribe',
      data: { channel, ...channelAuth(client.socketId, channel), shared_secret: secret },
    });

    expect(JSON.stringify(await client.receive())).not.toContain(secret);
    await watcher.receiveNothing();
    expect(server.output.stderr + server.output.stdout).not.toContain(secret);
  });

  it('caches encrypted data if its name says so', async () => {
    const channel = fresh('private-encrypted-cache-');
    await trigger(server, { name: 'sealed', channel, data: SEALED });
    await using client = await connect(server, protocol);

    await join(client, channel);

    expect(await client.receive()).toEqual({ event: 'sealed', channel, data: SEALED });
  });
});
