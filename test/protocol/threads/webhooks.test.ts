import { expect, it } from 'bun:test';
import { withWebhooks } from '../../../testing/servers/app-with-webhooks.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';
import { close, eightClients, entersAs } from './several-clients.ts';

const ROOMS = ['presence-a', 'presence-b', 'presence-c', 'presence-d', 'presence-e', 'presence-f'];

it.concurrent.each([2, 4])(
  'webhook events of %d threads are sent once, in the order in which they happened',
  async (threads) => {
    using endpoint = startWebhookEndpoint();
    await using server = await startFanfare({
      threads,
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    const app = await newApp(server, withWebhooks([{ url: endpoint.url, batching: true }]));
    const clients = await eightClients(app);
    const happened: string[] = [];
    for (const [place, client] of clients.entries()) {
      for (const room of ROOMS) {
        await entersAs(app, client, room, `user-${place}`);
        if (place === 0) happened.push(`channel_occupied ${room}`);
        happened.push(`member_added ${room} user-${place}`);
        // Events of one millisecond have no order across channels.
        await Bun.sleep(2);
      }
    }

    const received: string[] = [];
    while (received.length < happened.length) {
      const { name, channel, user_id: userId } = await endpoint.events.next();
      received.push(userId === undefined ? `${name} ${channel}` : `${name} ${channel} ${userId}`);
    }
    expect(received.toSorted()).toEqual(happened.toSorted());
    for (const room of ROOMS) {
      const ofRoom = (event: string) => event.includes(room);
      expect(received.filter(ofRoom)).toEqual(happened.filter(ofRoom));
    }
    for (const body of endpoint.bodies) {
      const places = JSON.parse(body).events.map(
        (event: { name: string; channel: string; user_id?: string }) =>
          happened.indexOf([event.name, event.channel, event.user_id].filter(Boolean).join(' ')),
      );
      expect(places).toEqual(places.toSorted((a: number, b: number) => a - b));
    }

    await close(clients);
    const gone = ROOMS.flatMap((room) => [
      `channel_vacated ${room}`,
      ...clients.map((_, place) => `member_removed ${room} user-${place}`),
    ]);
    const receivedGone: string[] = [];
    while (receivedGone.length < gone.length) {
      const { name, channel, user_id: userId } = await endpoint.events.next();
      receivedGone.push(
        userId === undefined ? `${name} ${channel}` : `${name} ${channel} ${userId}`,
      );
    }
    expect(receivedGone.sort()).toEqual(gone.sort());
    expect(await server.stop()).toBe(0);
    expect(endpoint.bodies.flatMap((body) => JSON.parse(body).events)).toHaveLength(
      happened.length + gone.length,
    );
  },
);
