import { expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api, channelAuth } from '../../testing/clients/sign.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';

const MEMBERS = 10;
const CHANNEL = 'presence-room';

it('detects that clients have vanished without closing, and notifies the members who stay', async () => {
  await using server = await startFanfare({
    channels: { activityTimeoutSeconds: 1, pongTimeoutSeconds: 1 },
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
  for (let n = 0; n < MEMBERS; n++) {
    expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_added' });
  }

  // No FIN, no RST, and nothing is read: their cable is cut.
  for (const client of vanishing) client.pauseReading();

  const left = new Set<unknown>();
  while (left.size < MEMBERS) {
    const { event, data } = await watcher.receive();
    if (event === 'pusher:ping') watcher.send({ event: 'pusher:pong', data: {} });
    else if (event === 'pusher_internal:member_removed') left.add(JSON.parse(String(data)).user_id);
  }

  expect(left).toEqual(new Set(vanishing.map((_, n) => `gone-${n}`)));
  const users = await api(server, 'GET', `/apps/${APP.id}/channels/${CHANNEL}/users`);
  expect(await users.json()).toEqual({ users: [{ id: 'watcher' }] });
  for (const client of vanishing) {
    client.resumeReading();
    expect(await client.closed).toMatchObject({ code: 4201 });
  }
});
