import { afterAll, beforeAll, expect, it } from 'bun:test';
import { connect, optionsFor } from '../../testing/clients/official-client.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, startPush } from '../protocol/push/exchange.ts';
import { EVENT, planned, registers } from '../protocol/push/publishes/live-users.ts';
import { type ReceivedEvent, userInNode } from './client-process.ts';
import type { JsonProcess } from './json-process.ts';
import { PushLibraryProcess } from './push-library-process.ts';

/** Publishes with a live part, with the official libraries of both products, unchanged from npm. */

let server: Fanfare;
let backend: AppBackend;
let library: PushLibraryProcess;

beforeAll(async () => {
  server = await startPush({ instance: { app: APP.id } });
  backend = startAppBackend(server);
  const { id: instanceId, secretKey } = INSTANCE;
  library = PushLibraryProcess.start('node', server).as(server, { instanceId, secretKey });
});
afterAll(async () => {
  library[Symbol.dispose]();
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Publishes with the official library. Returns its result in the app, and the notifications that are due. */
async function publishes(users: readonly string[], live: object = {}) {
  // The types of the library know no such field.
  const request = { fcm: { notification: { title: 'Hi' } }, live: { ...EVENT, ...live } };
  const { publishId } = (await library.publishToUsers(users, request)) as { publishId: string };
  const { live: became, platforms } = await planned(server, publishId);
  return { ...became, notified: platforms.fcm.planned };
}

async function inNode(user: string): Promise<JsonProcess<ReceivedEvent>> {
  const client = userInNode(optionsFor(server, { backend, user }));
  await client.printed.first(([, event]) => event === 'signed in');
  return client;
}

it('reaches users of pusher-js in Node and in Bun, and notifies others', async () => {
  for (const user of ['ann', 'bob', 'cid']) await registers(server, user);
  using ann = await inNode('ann');
  using bob = connect(server, { backend, user: 'bob' });
  const received = await bob.signedIn();
  expect(await publishes(['ann', 'bob', 'cid'], { waitSeconds: 60 })).toMatchObject({
    state: 'done',
    reached: 2,
    absent: 1,
    connections: 2,
    notified: 1,
  });
  expect(await ann.printed.next()).toEqual(['user', EVENT.event, EVENT.data]);
  expect(await received.next()).toEqual([EVENT.event, EVENT.data]);
});

it('notifies a user whose pusher-js is stopped, and reaches the user again when it continues', async () => {
  await registers(server, 'dan');
  using dan = await inNode('dan');
  dan.signal('SIGSTOP');
  expect(await publishes(['dan'], { waitSeconds: 1 })).toMatchObject({ silent: 1, notified: 1 });
  dan.signal('SIGCONT');
  // The answer to the first ping comes too, and does not count for the second one.
  expect(await publishes(['dan'], { waitSeconds: 60 })).toMatchObject({ reached: 1, notified: 0 });
});

it('does not ask a pusher-js that is away', async () => {
  await registers(server, 'eve');
  using eve = connect(server, { backend, user: 'eve' });
  await eve.signedIn();
  eve.pusher.send_event('fanfare:away', { away: true });
  await eve.subscribe('public-after-it').subscribed();
  expect(await publishes(['eve'], { waitSeconds: 60 })).toMatchObject({ absent: 1, notified: 1 });
});
