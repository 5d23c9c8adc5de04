import { expect, it } from 'bun:test';
import { readOverCuts } from '../../testing/clients/resuming-reader.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';

const CHANNELS = ['private-a', 'private-b', 'presence-c'];
const ROUNDS = 4;
const EVENTS_PER_ROUND = 30;

it('gives a reader each event once and in order over restarts of its server and cuts', async () => {
  await using parts = new AsyncDisposableStack();
  let server = parts.use(
    await startFanfare({
      app: { history: [{ channels: '*' }] },
      onlyOne: 'restart',
    }),
  );
  const proxy = parts.use(await TcpProxy.start(server.port));
  const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>();
  const events = ROUNDS * EVENTS_PER_ROUND;
  const read = readOverCuts([proxy], CHANNELS, { events, begun });
  await hasBegun;
  const sent = new Map<string, string[]>(CHANNELS.map((channel) => [channel, []]));
  for (let n = 0; n < events; n++) {
    const channel = CHANNELS[n % CHANNELS.length] ?? '';
    sent.get(channel)?.push(`${n}`);
    await trigger(server, { name: 'e', channel, data: `${n}` });
    if (n % 11 === 10) proxy.cut();
    if (n % EVENTS_PER_ROUND === EVENTS_PER_ROUND - 1 && n < events - 1) {
      server = parts.use(await restart(server));
    }
  }
  const { heard, gaps } = await read;
  expect(heard).toEqual(sent);
  expect(gaps).toEqual([]);
});
