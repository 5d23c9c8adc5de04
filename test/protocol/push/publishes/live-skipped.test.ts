import { expect, it } from 'bun:test';
import { APP, type Fanfare } from '../../../../testing/servers/fanfare.ts';
import { reconfigure, startPush } from '../exchange.ts';
import { planned, publishesLive, registers, statusOf, userConnects } from './live-users.ts';

/** Why nobody is asked in the app. Everybody is then notified. */

const startWith = (app: object) =>
  startPush({
    instance: { app: APP.id },
    config: {
      channels: {
        host: '127.0.0.1',
        port: 0,
        apps: [{ id: APP.id, keys: [{ key: APP.key, secret: APP.secret }], ...app }],
      },
    },
  });

async function skips(server: Fanfare, id: string, why: string): Promise<void> {
  expect(await planned(server, id)).toMatchObject({
    live: { state: 'skipped', why, reached: 0 },
    platforms: { fcm: { planned: 1 } },
  });
}

it('the app is disabled', async () => {
  await using server = await startWith({ enabled: false });
  await registers(server, 'ann');
  await skips(server, await publishesLive(server, ['ann']), 'app-disabled');
});

it('the app is over its daily quota', async () => {
  await using server = await startWith({ limits: { messagesPerDay: 1 } });
  await registers(server, 'ann');
  await planned(server, await publishesLive(server, ['ann']));
  await using ann = await userConnects(server, 'ann');
  await skips(server, await publishesLive(server, ['ann']), 'over-quota');
  await ann.receiveNothing();
});

it('the instance is unlinked from its app before the publish is due', async () => {
  await using server = await startPush({ instance: { app: APP.id } });
  await registers(server, 'ann');
  await using ann = await userConnects(server, 'ann');
  const sendAt = new Date(Date.now() + 5_000).toISOString();
  const id = await publishesLive(server, ['ann'], { sendAt });
  await reconfigure(server, {});
  expect(await statusOf(server, id)).toMatchObject({ live: { state: 'scheduled' } });
  await skips(server, id, 'not-allowed');
  await ann.receiveNothing();
});
