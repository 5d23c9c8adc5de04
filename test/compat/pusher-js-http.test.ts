import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  connect as connectClient,
  type HandledEvent,
  optionsFor,
} from '../../testing/clients/official-client.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { clientInNode, subscribed } from './client-process.ts';

/** The official JavaScript client, unchanged from npm, where it has no WebSocket. Source: HTTP transports, §6.3, §12. */

let server: Fanfare;
let backend: AppBackend;

beforeAll(async () => {
  server = await startFanfare({ app: { limits: { eventDataBytes: 300_000 } } });
  backend = startAppBackend(server);
});

afterAll(async () => {
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const TRANSPORTS = ['xhr_streaming', 'xhr_polling'] as const;

describe.each(TRANSPORTS)('pusher-js over %s', (transport) => {
  const forced = { enabledTransports: [transport] };

  it('misses nothing of 2,000 events in a hurry, in their order', async () => {
    using client = connectClient(server, forced);
    const channel = `hurry-${transport}`;
    const received = client.subscribe(channel);
    await received.subscribed();
    const errors: HandledEvent[] = [];
    client.pusher.connection.bind('error', (error: unknown) => errors.push(['error', error]));
    // Together more than 16 times what a client reads of one response.
    const text = '€'.repeat(2000);
    const batches = Array.from({ length: 200 }, (_, batch) =>
      Array.from({ length: 10 }, (__, n) => ({
        channel,
        name: 'e',
        data: { number: batch * 10 + n, text },
      })),
    );

    for (const batch of batches) await backend.library.triggerBatch(batch);

    for (let number = 0; number < 2000; number++) {
      const [, data] = await received.next();
      expect((data as { number: number }).number).toBe(number);
    }
    expect(errors).toEqual([]);
    expect(client.pusher.connection.state).toBe('connected');
  });

  it('gets one event that is longer than what it reads of one response', async () => {
    using client = connectClient(server, forced);
    const received = client.subscribe(`long-${transport}`);
    await received.subscribed();
    const text = 'x'.repeat(290_000);
    for (const name of ['a', 'b', 'c'])
      await backend.library.trigger(`long-${transport}`, name, text);
    for (const name of ['a', 'b', 'c']) expect(await received.next()).toEqual([name, text]);
  });

  it('does the same in Node, on a private channel', async () => {
    const channel = `private-node-${transport}`;
    const options = optionsFor(server, { backend, user: 'ann', ...forced });
    using client = clientInNode(options, [channel]);
    await subscribed(client, [channel]);
    const text = 'x'.repeat(290_000);
    for (const name of ['a', 'b', 'c']) await backend.library.trigger(channel, name, text);
    for (const name of ['a', 'b', 'c']) {
      expect(await client.printed.next()).toEqual([channel, name, text]);
    }
  });

  it('learns that the server has forgotten its session, and subscribes again', async () => {
    await using restarted = await startFanfare({ onlyOne: 'restart' });
    using client = connectClient(restarted, forced);
    const received = client.subscribe('news');
    await received.subscribed();
    const { port } = restarted;
    await restarted.stop('SIGKILL');
    await using again = await startFanfare({ channels: { port }, onlyOne: 'restart' });
    using ofAgain = startAppBackend(again);

    await received.subscribed();
    await ofAgain.library.trigger('news', 'headline', 'here again');

    expect(await received.next()).toEqual(['headline', 'here again']);
  });
});
