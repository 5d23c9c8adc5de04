import { expect, it } from 'bun:test';
import { admin, everyServerTakes } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp, TestApp } from '../../../testing/servers/test-app.ts';

/** Each loop learns by itself that an app is gone, so one may still hold what the home of a channel believes to be gone. */
it('an app that is deleted while clients of all threads are in its channels begins anew without a trace of them', async () => {
  await using server = await startFanfare({ threads: 3 });
  const app = await newApp(server);
  const clients = await Promise.all(Array.from({ length: 12 }, () => app.connect()));
  for (const [n, client] of clients.entries()) {
    const channelData = JSON.stringify({ user_id: `user-${n}` });
    for (const room of ['presence-a', 'presence-b', 'presence-c', 'presence-d']) {
      await client.subscribe(room, app.auth(client, room, channelData));
    }
  }

  expect((await admin(server, 'DELETE', `/apps/${app.id}`)).status).toBe(200);
  await Promise.all(clients.map((client) => client.closed));
  const key = { key: app.key, secret: app.secret };
  const again = await admin(server, 'POST', '/apps', { body: { id: app.id, keys: [key] } });
  expect(again.status).toBe(201);
  await everyServerTakes(server, `/apps/${app.id}`);

  const same = new TestApp(server, app);
  await eventually(
    async () => await (await same.api('GET', '/channels')).text(),
    (text) => text === '{"channels":{}}',
  );
  await using client = await same.connect();
  await client.subscribe('presence-a', same.auth(client, 'presence-a', '{"user_id":"new"}'));
  const users = await same.api('GET', '/channels/presence-a/users');
  expect(await users.json()).toEqual({ users: [{ id: 'new' }] });
});
