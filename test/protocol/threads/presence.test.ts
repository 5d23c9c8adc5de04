import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { close, dataOf, eightClients, entersAs } from './several-clients.ts';

const ROOM = 'presence-room';

async function usersOf(app: TestApp): Promise<readonly string[]> {
  const answer = await app.api('GET', `/channels/${ROOM}/users`);
  const { users } = (await answer.json()) as { users: readonly { id: string }[] };
  return users.map(({ id }) => id);
}

/** Reads member events up to the event `mark`. Returns the members after them. */
async function membersAfter(client: AppClient, before: readonly string[]): Promise<string[]> {
  const members = [...before];
  for (;;) {
    const received = await client.receive();
    if (received.event === 'mark') return members;
    const { user_id: userId } = dataOf(received) as { user_id: string };
    const place = members.indexOf(userId);
    if (received.event === 'pusher_internal:member_added') {
      expect(place).toBe(-1);
      members.push(userId);
    } else {
      expect(received.event).toBe('pusher_internal:member_removed');
      expect(place).not.toBe(-1);
      members.splice(place, 1);
    }
  }
}

/** The next event is that a member left. */
async function hearsRemoved(clients: readonly AppClient[], userId: string): Promise<void> {
  for (const client of clients) {
    const received = await client.receive();
    expect(received.event).toBe('pusher_internal:member_removed');
    expect(dataOf(received)).toEqual({ user_id: userId });
  }
}

describe.each([2, 4])('members on %d threads', (threads) => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({ threads });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('see the same members, in the same order, while all come at once and some go', async () => {
    const app = await newApp(server);
    const clients = await eightClients(app);
    const found = await Promise.all(
      // Seven and eight are second connections of two users.
      clients.map((client, place) => entersAs(app, client, ROOM, `user-${place % 6}`)),
    );
    const leaving = clients.slice(3, 5);
    for (const client of leaving) {
      client.send({ event: 'pusher:unsubscribe', data: { channel: ROOM } });
    }
    await eventually(
      () => usersOf(app),
      (users) => users.length === 4,
    );
    await app.trigger({ name: 'mark', channel: ROOM, data: '' });

    const users = await usersOf(app);
    expect(users.toSorted()).toEqual(['user-0', 'user-1', 'user-2', 'user-5']);
    for (const [place, client] of clients.entries()) {
      if (leaving.includes(client)) continue;
      expect(await membersAfter(client, found[place] ?? [])).toEqual([...users]);
    }
    await close(clients);
  });

  it('are notified once that a member left whose connection was killed', async () => {
    const app = await newApp(server);
    const clients = await eightClients(app);
    for (const [place, client] of clients.entries()) {
      await entersAs(app, client, ROOM, `user-${place}`);
    }
    await app.trigger({ name: 'mark', channel: ROOM, data: '' });
    for (const client of clients) await membersAfter(client, []);

    const [killed, ...left] = clients;
    await killed?.[Symbol.asyncDispose]();

    await hearsRemoved(left, 'user-0');
    await app.trigger({ name: 'mark', channel: ROOM, data: '' });
    for (const client of left) expect(await client.receive()).toMatchObject({ event: 'mark' });
    expect(await usersOf(app)).not.toContain('user-0');
    await close(left);
  });

  it('are notified that a user with connections on several threads left when the last of them is gone', async () => {
    const app = await newApp(server);
    const [watcher, ...ofAnn] = await eightClients(app);
    if (watcher === undefined) throw new Error('No client');
    await entersAs(app, watcher, ROOM, 'bob');
    for (const client of ofAnn) await entersAs(app, client, ROOM, 'ann');
    expect(dataOf(await watcher.receive())).toEqual({ user_id: 'ann' });

    await close(ofAnn.slice(1));
    await app.trigger({ name: 'mark', channel: ROOM, data: '' });
    expect(await watcher.receive()).toMatchObject({ event: 'mark' });
    await close(ofAnn.slice(0, 1));
    await hearsRemoved([watcher], 'ann');
    await watcher[Symbol.asyncDispose]();
  });

  it('are refused by all threads together once a channel is full', async () => {
    const app = await newApp(server, { limits: { presenceMembers: 5 } });
    const clients = await eightClients(app);
    const entered = await Promise.all(
      clients.map((client, place) =>
        entersAs(app, client, ROOM, `user-${place}`).then(
          () => true,
          () => false,
        ),
      ),
    );
    expect(entered.filter(Boolean)).toHaveLength(5);
    expect(await usersOf(app)).toHaveLength(5);
    await close(clients);
  });
});
