import { expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api, channelAuth } from '../../testing/clients/sign.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';

const MEMBERS = 10;
const CHANNEL = 'presence-room';

it('detects that clients have vanished without closing, and notifies the members who stay', async () => {
  await using server = await startFanfare({
    // On a slow machine, the watcher may need seconds to answer a ping.
    channels: { activityTimeoutSeconds: 1, pongTimeoutSeconds: 10 },
  });
  const join = async (userId: string) => {
    const client = await RawClient.connect(server);
    const data = JSON.stringify({ user_id: userId });
    await client.subscribe(CHANNEL, channelAuth(client.socketId, CHANNEL, data));
    return client;
  };
  const vanishing: Awaited<ReturnType<typeof join>>[] = [];
  await using watcher = await join('watcher');
  for (let n = 0; n < MEMBERS; n++) vanishing.push(await join(`gone-${n}`));
  /** Answers pings, and returns the next message that is none. */
  const watched = async () => {
    for (;;) {
      const message = await watcher.receive();
      if (message.event !== 'pusher:ping') return message;
      watcher.send({ event: 'pusher:pong', data: {} });
    }
  };
  for (let n = 0; n < MEMBERS; n++) {
    expect(await watched()).toMatchObject({ event: 'pusher_internal:member_added' });
  }

  // No FIN, no RST, and nothing is read: their cable is cut.
  for (const client of vanishing) client.pauseReading();

  const left = new Set<unknown>();
  while (left.size < MEMBERS) {
    const { event, data } = await watched();
    if (event === 'pusher_internal:member_removed') left.add(JSON.parse(String(data)).user_id);
  }

  expect(left).toEqual(new Set(vanishing.map((_, n) => `gone-${n}`)));
  const users = await api(server, 'GET', `/apps/${APP.id}/channels/${CHANNEL}/users`);
  expect(await users.json()).toEqual({ users: [{ id: 'watcher' }] });
  for (const client of vanishing) {
    client.resumeReading();
    expect(await client.closed).toMatchObject({ code: 4201 });
  }
});
