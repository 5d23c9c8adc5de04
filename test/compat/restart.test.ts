import { expect, it } from 'bun:test';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { startAppBackend } from '../../testing/servers/app-backend.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { clientInNode, subscribed } from './client-process.ts';

/**
 * pusher-js reconnects at once after a stop. If no server listens at that moment, its next attempt is 15 s later.
 * Milliseconds.
 */
const COMES_BACK_MAX_MS = 180_000;

const CHANNELS = ['news', 'private-orders', 'private-encrypted-diary', 'presence-room'];

for (const [signal, what] of [
  ['SIGTERM', 'a restart'],
  ['SIGKILL', 'a crash'],
] as const) {
  it.concurrent(
    `has its clients back after ${what}, in all their channels`,
    async () => {
      await using before = await startFanfare({ app: { clientEvents: true } });
      using backend = startAppBackend(before);
      const { library } = backend;
      using ann = clientInNode(optionsFor(before, { backend, user: 'ann' }), CHANNELS);
      using bob = clientInNode(optionsFor(before, { backend, user: 'bob' }), CHANNELS);
      await Promise.all([subscribed(ann, CHANNELS), subscribed(bob, CHANNELS)]);
      backend.asked.length = 0;

      await using _after = await restart(before, signal);

      await Promise.all([subscribed(ann, CHANNELS), subscribed(bob, CHANNELS)]);
      const { asked } = backend;
      // Two each: Ann and Bob were authorised again.
      expect(asked.toSorted()).toEqual(
        CHANNELS.slice(1)
          .flatMap((name) => [name, name])
          .sort(),
      );
      for (const channel of CHANNELS) {
        await library.trigger(channel, 'event', { after: what });
        for (const client of [ann, bob]) {
          const received = await client.printed.first(([, event]) => event === 'event');
          expect(received).toEqual([channel, 'event', { after: what }]);
        }
      }
      const users = await library.get({
        path: '/channels/presence-room',
        params: { info: 'user_count' },
      });
      expect(await users.json()).toEqual({ occupied: true, user_count: 2 });
      ann.send(['presence-room', 'client-wave', { from: 'ann' }]);
      const wave = await bob.printed.first(([, event]) => event === 'client-wave');
      expect(wave).toEqual(['presence-room', 'client-wave', { from: 'ann' }]);
    },
    COMES_BACK_MAX_MS,
  );
}
