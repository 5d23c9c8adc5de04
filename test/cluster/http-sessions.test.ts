import { expect, it } from 'bun:test';
import { messagesOf, SessionRequests } from '../../testing/clients/session-requests.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { startCluster } from './cluster.ts';

/** Source: HTTP transports, §14.8. */

const CHANNEL = 'news';
const SUBSCRIBE = { event: 'pusher:subscribe', data: { channel: CHANNEL } };

it('a session over HTTP may be reached through every server, and begins anew if its own has died', async () => {
  await using cluster = await startCluster(2);
  const [home, other] = cluster.servers;
  if (home === undefined || other === undefined) throw new Error('There are two');
  // The same session through both.
  const session = crypto.randomUUID().slice(0, 8);
  const [here, there] = [home, other].map((server) => new SessionRequests(server, { session }));
  if (here === undefined || there === undefined) throw new Error('There are two');
  await here.pollOpen();
  // Each request of a page has a number of its own.
  while (there.skip() < 10);

  const confirmed = there.poll();
  expect(await here.send(SUBSCRIBE)).toBe(204);
  expect(messagesOf((await confirmed).text)[0]?.event).toBe(
    'pusher_internal:subscription_succeeded',
  );
  using stream = await there.stream();
  await trigger(other, { name: 'headline', channel: CHANNEL, data: 'one' });
  let received = await stream.messages();
  while (received.length === 0) received = await stream.messages();
  expect(received[0]).toEqual({ event: 'headline', channel: CHANNEL, data: 'one' });
  expect(await there.send({ event: 'pusher:ping' })).toBe(204);
  expect((await stream.messages())[0]?.event).toBe('pusher:pong');

  home.process.kill('SIGKILL');

  await stream.ended();
  // An unknown session gets `o`, from which the client learns that its own is lost.
  using again = await there.stream();
  await again.opens();
  expect(await there.send(SUBSCRIBE)).toBe(204);
  expect((await again.messages())[0]?.event).toBe('pusher_internal:subscription_succeeded');
}, 90_000);
