import { expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

const LONG_MS = 180_000;
const LIMIT_BYTES = 500_000;
const DATA = 'x'.repeat(60_000);
const SLOW = 5;

/** Events that the system's own buffers cannot take up for one connection. */
const EVENTS_MAX = 1000;

async function subscriber(server: Fanfare, channels: readonly string[]) {
  const client = await RawClient.connect(server);
  for (const channel of channels) await client.subscribe(channel);
  return client;
}

it(
  'closes, logs and counts each of several slow readers, on hot and quiet channels, and the others miss nothing',
  async () => {
    await using server = await startFanfare({
      // The log lines of several threads may come in another order.
      threads: 1,
      channels: { sendBufferBytes: LIMIT_BYTES },
      app: { limits: { eventDataBytes: DATA.length + 100 } },
    });
    await using healthyHot = await subscriber(server, ['hot']);
    await using healthyQuiet = await subscriber(server, ['quiet']);
    await using healthyBoth = await subscriber(server, ['hot', 'quiet']);
    // These read nothing either, but are sent too little to be slow.
    await using quietOnly = await subscriber(server, ['quiet']);
    quietOnly.pauseReading();
    const slow: Awaited<ReturnType<typeof subscriber>>[] = [];
    for (let n = 0; n < SLOW; n++) slow.push(await subscriber(server, ['hot', 'quiet']));
    for (const client of slow) client.pauseReading();
    let allClosed = false;
    const last = server.logged(new RegExp(`read too slowly.*"closedSoFar":${SLOW}\\b`)).then(() => {
      allClosed = true;
    });

    let hot = 0;
    let quiet = 0;
    while (!allClosed && hot < EVENTS_MAX) {
      await trigger(server, { name: 'e', channel: 'hot', data: `${hot++}:${DATA}` });
      if (hot % 10 === 0)
        await trigger(server, { name: 'e', channel: 'quiet', data: `${quiet++}` });
      // Readers that read are in step; what they read is compared below, in the order in which it came.
      const { data } = await healthyHot.receive();
      expect(String(data)).toStartWith(`${hot - 1}:`);
      if (hot % 10 === 0) {
        expect(await healthyQuiet.receive()).toMatchObject({
          channel: 'quiet',
          data: `${quiet - 1}`,
        });
      }
    }
    await last;

    const closed = server.output.stderr
      .split('\n')
      .filter((line) => line.includes('read too slowly'));
    expect(closed.map((line) => JSON.parse(line).closedSoFar)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(closed.map((line) => JSON.parse(line).connection))).toEqual(
      new Set(slow.map(({ socketId }) => socketId)),
    );
    const received = { hot: 0, quiet: 0 };
    while (received.hot < hot || received.quiet < quiet) {
      const { channel, data } = await healthyBoth.receive();
      if (channel === 'hot') expect(String(data)).toStartWith(`${received.hot++}:`);
      else expect(String(data)).toBe(`${received.quiet++}`);
    }
    quietOnly.resumeReading();
    for (let n = 0; n < quiet; n++)
      expect(await quietOnly.receive()).toMatchObject({ data: `${n}` });
    for (const client of [healthyHot, healthyQuiet, healthyBoth, quietOnly]) {
      await client.receiveNothing();
    }
    for (const client of slow) {
      client.resumeReading();
      // No close frame: there was no room for one.
      expect(await client.closed).toMatchObject({ code: undefined });
    }
  },
  LONG_MS,
);
