import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { api, trigger } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  allChannelsVacated,
  type Client,
  cacheMiss,
  channelData,
  connect,
  fresh,
  join,
  leave,
  PROTOCOLS,
  unsubscribe,
} from './conversation.ts';

/** Source: Channels protocol, §10. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
});
afterAll(() => server[Symbol.asyncDispose]());

const PREFIXES = [
  'cache-',
  'private-cache-',
  'private-encrypted-cache-',
  'presence-cache-',
] as const;

describe.each(PROTOCOLS)('for a client of protocol %i', (protocol) => {
  describe.each(PREFIXES)('a channel whose name begins with "%s"', (prefix) => {
    const data = prefix === 'presence-cache-' ? channelData('1') : undefined;
    const enter = async (channel: string): Promise<Client> => {
      const client = await connect(server, protocol);
      await join(client, channel, data);
      return client;
    };

    it('sends a cache miss after the confirmation while it has no event', async () => {
      const channel = fresh(prefix);

      await using client = await enter(channel);

      expect(await client.receive()).toEqual(cacheMiss(channel));
      await client.receiveNothing();
    });

    it('sends the last event after the confirmation, even if it had no subscriber', async () => {
      const channel = fresh(prefix);
      await trigger(server, { name: 'first', channel, data: '1' });
      await trigger(server, { name: 'last "é"', channel, data: '{"n": 1.0}' });

      await using client = await enter(channel);

      expect(await client.receive()).toEqual({ event: 'last "é"', channel, data: '{"n": 1.0}' });
      await client.receiveNothing();
    });

    it('sends it to each newcomer, and to nobody twice', async () => {
      const channel = fresh(prefix);
      await using one = await enter(channel);
      await one.receive();
      await trigger(server, { name: 'e', channel, data: '' });
      expect(await one.receive()).toEqual({ event: 'e', channel, data: '' });

      await using two = await enter(channel);
      expect(await two.receive()).toEqual({ event: 'e', channel, data: '' });
      await using three = await enter(channel);
      expect(await three.receive()).toEqual({ event: 'e', channel, data: '' });

      for (const client of [one, two, three]) await client.receiveNothing();
    });

    it('keeps its event after the last subscriber has left', async () => {
      const channel = fresh(prefix);
      await using client = await enter(channel);
      await client.receive();
      await trigger(server, { name: 'e', channel, data: 'kept' });
      await client.receive();

      unsubscribe(client, channel);
      await join(client, channel, data);
      expect(await client.receive()).toEqual({ event: 'e', channel, data: 'kept' });
      await leave(client);
      await allChannelsVacated(server);

      await using another = await enter(channel);
      expect(await another.receive()).toEqual({ event: 'e', channel, data: 'kept' });
    });

    it('keeps an event also for the excluded connection', async () => {
      const channel = fresh(prefix);
      await using client = await enter(channel);
      await client.receive();
      await trigger(server, { name: 'e', channel, data: 'x', socket_id: client.socketId });
      await client.receiveNothing();

      unsubscribe(client, channel);
      await join(client, channel, data);

      expect(await client.receive()).toEqual({ event: 'e', channel, data: 'x' });
    });

    it('keeps the last event of a batch', async () => {
      const channel = fresh(prefix);
      const body = JSON.stringify({
        batch: ['a', 'b', 'c'].map((name) => ({ name, channel, data: name })),
      });
      expect((await api(server, 'POST', '/apps/3/batch_events', { body })).status).toBe(200);

      await using client = await enter(channel);

      expect(await client.receive()).toEqual({ event: 'c', channel, data: 'c' });
    });

    if (prefix !== 'cache-') {
      it('does not keep client events', async () => {
        const channel = fresh(prefix);
        await using speaker = await enter(channel);
        await speaker.receive();
        await using listener = await enter(channel);
        await listener.receive();

        speaker.send({ event: 'client-e', channel, data: 'fleeting' });
        expect(await listener.receive()).toMatchObject({ event: 'client-e', data: 'fleeting' });
        await using late = await enter(channel);
        expect(await late.receive()).toEqual(cacheMiss(channel));

        await trigger(server, { name: 'kept', channel, data: '' });
        speaker.send({ event: 'client-e', channel, data: 'fleeting' });
        await using later = await enter(channel);
        expect(await later.receive()).toEqual({ event: 'kept', channel, data: '' });
      });

      it('does not send its event after a refusal', async () => {
        const channel = fresh(prefix);
        await trigger(server, { name: 'e', channel, data: 'secret' });
        await using client = await connect(server, protocol);

        client.send({ event: 'pusher:subscribe', data: { channel, auth: 'x:y' } });

        expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
        expect(await client.receive()).toMatchObject({ event: 'pusher:subscription_error' });
        await client.receiveNothing();
      });
    }
  });

  it.each(['', 'private-', 'x-cache-', 'presence-'])(
    'a channel whose name begins with "%s" caches nothing',
    async (prefix) => {
      const channel = fresh(prefix);
      await trigger(server, { name: 'e', channel, data: '' });
      await using client = await connect(server, protocol);

      await join(client, channel, prefix === 'presence-' ? channelData('1') : undefined);

      await client.receiveNothing();
    },
  );

  it('a client in several cache channels gets the event of each', async () => {
    const names = PREFIXES.slice(0, 3).map((prefix) => fresh(prefix));
    await using client = await connect(server, protocol);
    await trigger(server, { name: 'e', channels: names, data: 'for all' });

    for (const channel of names) {
      await join(client, channel);
      expect(await client.receive()).toEqual({ event: 'e', channel, data: 'for all' });
    }
  });
});
