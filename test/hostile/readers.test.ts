import { expect, it } from 'bun:test';
import { EventReader } from '../../testing/clients/event-reader.ts';
import { signedTarget, trigger } from '../../testing/clients/sign.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';

/** Readers that have the server send them as much as they can. */

const EVENTS = 50;
const DATA = 'x'.repeat(8_000);

it('makes an address wait that comes back again and again for the same events', async () => {
  await using server = await startFanfare({
    app: { history: [{ channels: 'kept' }] },
    // A minute's worth may come at once: 60 frames of 4 KiB.
    channels: { addressLimits: { framesPerSecond: 1 } },
  });
  const ids: string[] = [];
  for (let n = 0; n < EVENTS; n++) {
    const answer = await trigger(server, { name: 'e', channel: 'kept', data: DATA });
    ids.push(JSON.parse(answer).event_ids.kept);
  }
  const target = signedTarget('GET', `/apps/${APP.id}/channels/kept/stream`);
  let hasWaited = false;
  const waits = server.logged(/A subscription waits/);
  void waits.then(() => (hasWaited = true));
  let connections = 0;
  while (!hasWaited) {
    await using reader = await EventReader.open(server, target, { 'last-event-id': ids[0] ?? '' });
    connections++;
    await Promise.race([reader.confirmed(), waits]);
  }
  expect(JSON.parse(await waits)).toMatchObject({
    app: APP.id,
    setting: 'channels.addressLimits.framesPerSecond',
  });
  expect(connections).toBeLessThan(10);
});
