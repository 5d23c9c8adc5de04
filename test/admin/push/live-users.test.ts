import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { clientFrame } from '../../../testing/clients/raw-client.ts';
import { APP, type Fanfare } from '../../../testing/servers/fanfare.ts';
import { INSTANCE, startPush } from '../../protocol/push/exchange.ts';
import {
  answers,
  EVENT,
  planned,
  publishesLive,
  registers,
  userConnects,
} from '../../protocol/push/publishes/live-users.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush({ instance: { app: APP.id } });
});
afterAll(() => server[Symbol.asyncDispose]());

const of = `/instances/${INSTANCE.id}`;
const fcm = { notification: { title: 'Hi' } };

describe('the admin API shows of a publish with a live part', () => {
  it('its result, and that of each user, in pages', async () => {
    await registers(server, 'bob');
    await using ann = await userConnects(server, 'ann');
    const id = await publishesLive(server, ['ann', 'bob', 'cid']);
    await answers(ann);
    await planned(server, id);
    const { json: shown } = await admin(server, 'GET', `${of}/publishes/${id}`);
    expect(shown).toMatchObject({
      live: { state: 'done', users: 3, reached: 1, silent: 0, absent: 2, why: null, advice: null },
      rule: null,
    });
    const users = (query = '') => admin(server, 'GET', `${of}/publishes/${id}/users${query}`);
    const { json } = await users();
    expect(json).toEqual({
      users: [
        {
          user: 'ann',
          state: 'reached',
          connections: 1,
          answeredAfterMs: expect.any(Number),
          notified: null,
        },
        expect.objectContaining({ user: 'bob', state: 'absent', connections: 0 }),
        expect.objectContaining({ user: 'cid', state: 'absent', notified: null }),
      ],
      next: null,
    });
    expect((await users('?limit=2')).json).toMatchObject({ next: 'bob' });
    expect((await users('?limit=2&after=bob')).json).toMatchObject({
      users: [{ user: 'cid' }],
      next: null,
    });
    expect((await users('?state=silent')).json).toEqual({ users: [], next: null });
    expect((await users('?state=x')).status).toBe(400);
    const other = `pubid-${crypto.randomUUID()}`;
    expect((await admin(server, 'GET', `${of}/publishes/${other}/users`)).status).toBe(404);
  });
});

describe('a preview of a publish with a live part', () => {
  const preview = (body: object) => admin(server, 'POST', `${of}/previews`, { body });

  it('asks the connections of its users, and sends them nothing', async () => {
    await using ann = await userConnects(server, 'dan');
    const asked = preview({ users: ['dan', 'eve'], live: EVENT, fcm });
    const ping = await ann.receive();
    ann.writeBytes(clientFrame(10, String(ping.data)));
    expect((await asked).json).toMatchObject({
      faults: [],
      live: { asked: 2, reached: 1, silent: 0, absent: 1 },
    });
    await ann.receiveNothing();
  });

  it('names the rules that the live part breaks', async () => {
    const { json } = await preview({ users: ['dan'], live: { ...EVENT, waitSeconds: 0 }, fcm });
    expect(json).toMatchObject({ faults: [{ field: 'live.waitSeconds' }], live: null });
    const { json: ofInterests } = await preview({ interests: ['a'], live: EVENT, fcm });
    expect(ofInterests).toMatchObject({ faults: [{ field: 'live' }], live: null });
  });
});
