import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { clientFrame, pathOf, RawClient, WS_PING } from '../../../../testing/clients/raw-client.ts';
import { channelAuth } from '../../../../testing/clients/sign.ts';
import { eventually } from '../../../../testing/eventually.ts';
import { APP, type Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  BACKEND,
  fieldRefusal,
  NEIGHBOUR,
  publish,
  published,
  publishes,
  startPush,
} from '../exchange.ts';
import {
  answers,
  EVENT,
  hearsAsk,
  NATIVE,
  planned,
  publishesLive,
  registers,
  statusOf,
  userConnects,
} from './live-users.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush({ instance: { app: APP.id } });
});
afterAll(() => server[Symbol.asyncDispose]());

const WEB = { notification: { title: 'New message' } };

describe('the live part of a publish', () => {
  it.each<[field: string, live: unknown]>([
    ['live', 'text'],
    ['live.event', { data: 1 }],
    ['live.event', { event: 7, data: 1 }],
    ['live.event', { event: '', data: 1 }],
    ['live.event', { event: 'x'.repeat(201), data: 1 }],
    ['live.event', { event: 'pusher:ping', data: 1 }],
    ['live.data', { event: 'a' }],
    ['live.data', { event: 'a', data: 'x'.repeat(10_241) }],
    ['live.channel', { ...EVENT, channel: 'a b' }],
    ['live.channel', { ...EVENT, channel: 7 }],
    ['live.channel', { ...EVENT, channel: 'private-encrypted-a' }],
    ['live.waitSeconds', { ...EVENT, waitSeconds: 0 }],
    ['live.waitSeconds', { ...EVENT, waitSeconds: 61 }],
    ['live.waitSeconds', { ...EVENT, waitSeconds: '4' }],
    ['live.waitSeconds', { ...EVENT, waitSeconds: 1.5 }],
    ['live.push', { ...EVENT, push: 'never' }],
    ['live', { ...EVENT, chanel: 'presence-room' }],
  ])('is refused because of %s', async (field, live) => {
    const answer = await publish(server, '/users', { users: ['ann'], live, web: WEB });
    expect(answer).toMatchObject(fieldRefusal(field));
  });

  it('is refused because its data nest deeper than the stack is', async () => {
    const data = `${'['.repeat(60_000)}${']'.repeat(60_000)}`;
    const live = `{"event":"a","data":${data}}`;
    const body = `{"users":["ann"],"live":${live},"web":${JSON.stringify(WEB)}}`;
    expect(await publish(server, '/users', body)).toMatchObject(fieldRefusal('live.data'));
  });

  it('is refused in a publish to interests, which name no users', async () => {
    const answer = await publish(server, '/interests', { interests: ['a'], live: EVENT, web: WEB });
    expect(answer).toMatchObject(fieldRefusal('live'));
  });

  it('is refused if the instance has no app', async () => {
    const at = { pushPort: server.pushPort, ...NEIGHBOUR };
    const body = { users: ['ann'], live: EVENT, web: WEB };
    const answer = await publish(at, '/users', body);
    expect(answer).toMatchObject(fieldRefusal('live'));
    expect(answer.text).toContain('push.instances[].app');
  });

  it('does not replace the payload for a platform, which a publish must have', async () => {
    const answer = await publish(server, '/users', { users: ['ann'], live: EVENT });
    expect(answer.status).toBe(422);
  });

  it('is absent from the status of a publish without one', async () => {
    const id = await published(server, { users: ['nobody'], web: WEB });
    expect(await statusOf(server, id)).not.toHaveProperty('live');
  });
});

describe('a publish with a live part', () => {
  const inASecond = () => `"sendAt":"${new Date(Date.now() + 1_000).toISOString()}",`;
  it.each([
    ['now', () => ''],
    ['scheduled', inASecond],
    // Its stored body is written again without the field.
    ['scheduled, with a field that is not documented', () => `${inASecond()}"note":1,`],
  ])('sends numbers as they were written, however large: %s', async (_, others) => {
    await using ida = await userConnects(server, 'ida');
    const data =
      '{"id":12345678901234567890,"ratio":0.10000000000000000001,"sum":1e400,"e":"\u00e9"}';
    const live = `{"event":"order","data":${data.replace(':', ' : ')}}`;
    const body = `{"users":["ida"],${others()}"live":${live},"web":${JSON.stringify(WEB)}}`;
    expect(await publish(server, '/users', body)).toMatchObject({ status: 200 });
    expect(await ida.receive()).toMatchObject({ event: 'order', data });
  });

  it('reaches a user in the app and those who are not there by push', async () => {
    for (const user of ['ann', 'bob']) await registers(server, user);
    await using ann = await userConnects(server, 'ann');
    const id = await publishesLive(server, ['ann', 'bob']);
    expect(await ann.receive()).toEqual({
      event: 'new-message',
      channel: '#server-to-user-ann',
      data: '{"room":7}',
    });
    const ping = await ann.receive();
    expect(ping.event).toBe(WS_PING);
    ann.writeBytes(clientFrame(10, String(ping.data)));
    expect(await planned(server, id)).toMatchObject({
      live: {
        state: 'done',
        push: 'absent',
        users: 2,
        reached: 1,
        silent: 0,
        absent: 1,
        connections: 1,
        why: null,
      },
      platforms: { fcm: { planned: 1 } },
    });
  });

  it('is finished without a notification if everybody was reached', async () => {
    await registers(server, 'cora');
    await using cora = await userConnects(server, 'cora');
    const id = await publishesLive(server, ['cora']);
    await answers(cora);
    expect(await planned(server, id)).toMatchObject({
      state: 'finished',
      live: { state: 'done', reached: 1 },
      platforms: { fcm: { planned: 0 } },
    });
  });

  it('goes to everybody by push too if it requests that', async () => {
    await registers(server, 'dan');
    await using dan = await userConnects(server, 'dan');
    const id = await publishesLive(server, ['dan'], { live: { push: 'always' } });
    await answers(dan);
    expect(await planned(server, id)).toMatchObject({
      live: { push: 'always', reached: 1 },
      platforms: { fcm: { planned: 1 } },
    });
  });

  it('counts a client of pusher-js only when its JavaScript has answered, and not what it owed before', async () => {
    await registers(server, 'eve');
    await using eve = await userConnects(server, 'eve', { path: pathOf(7) });
    const first = await publishesLive(server, ['eve'], { live: { waitSeconds: 1 } });
    const ping = await hearsAsk(eve);
    expect(await eve.receive()).toMatchObject({ event: 'pusher:ping' });
    eve.writeBytes(clientFrame(10, ping));
    expect(await planned(server, first)).toMatchObject({
      live: { reached: 0, silent: 1 },
      platforms: { fcm: { planned: 1 } },
    });
    const second = await publishesLive(server, ['eve'], { live: { waitSeconds: 60 } });
    await hearsAsk(eve);
    await eve.receive();
    // The answer to the first ping, which was owed.
    eve.send({ event: 'pusher:pong', data: {} });
    await eve.serverSettled();
    expect(await statusOf(server, second)).toMatchObject({ live: { state: 'asking' } });
    eve.send({ event: 'pusher:pong', data: {} });
    expect(await planned(server, second)).toMatchObject({
      live: { reached: 1 },
      platforms: { fcm: { planned: 0 } },
    });
  });

  it('goes by push to users whose clients are connected and answer nothing', async () => {
    await registers(server, 'fay');
    await using fay = await userConnects(server, 'fay');
    const id = await publishesLive(server, ['fay'], { live: { waitSeconds: 1 } });
    const ping = await hearsAsk(fay);
    // Not an answer: another number.
    fay.writeBytes(clientFrame(10, `${ping}0`));
    expect(await planned(server, id)).toMatchObject({
      live: { reached: 0, silent: 1, connections: 1 },
      platforms: { fcm: { planned: 1 } },
    });
    // Too late: the notification is on its way.
    fay.writeBytes(clientFrame(10, ping));
    await fay.serverSettled();
    expect(await statusOf(server, id)).toMatchObject({ live: { reached: 0 } });
  });

  it('has reached a user with one of two connections', async () => {
    await registers(server, 'gus');
    await using dead = await userConnects(server, 'gus');
    await using alive = await userConnects(server, 'gus');
    const id = await publishesLive(server, ['gus'], { live: { waitSeconds: 60 } });
    await answers(alive);
    await hearsAsk(dead);
    expect(await planned(server, id)).toMatchObject({
      live: { reached: 1, connections: 2 },
      platforms: { fcm: { planned: 0 } },
    });
  });

  it('does not count connections that are away, of programs, or that are not subscribed to the channel', async () => {
    for (const user of ['hal', 'ina', 'jon']) await registers(server, user);
    await using away = await userConnects(server, 'hal');
    away.send({ event: 'fanfare:away', data: { away: true } });
    await using program = await userConnects(server, 'ina', { live: false });
    await using other = await userConnects(server, 'jon');
    other.send({ event: 'pusher:unsubscribe', data: { channel: '#server-to-user-jon' } });
    await Promise.all([away, program, other].map((client) => client.ping()));
    const id = await publishesLive(server, ['hal', 'ina', 'jon'], { live: { waitSeconds: 60 } });
    expect(await planned(server, id)).toMatchObject({
      live: { absent: 3, connections: 0 },
      platforms: { fcm: { planned: 3 } },
    });
    // They receive everything.
    for (const client of [away, program]) {
      expect((await client.receive()).event).toBe('new-message');
      await client.receiveNothing();
    }
    away.send({ event: 'fanfare:away', data: '{"away":false}' });
    const back = await publishesLive(server, ['hal']);
    await answers(away);
    expect(await planned(server, back)).toMatchObject({ live: { reached: 1 } });
  });

  it('refuses a message about being away without a valid value', async () => {
    await using client = await RawClient.connect(server);
    client.send({ event: 'fanfare:away', data: { away: 'yes' } });
    expect(await client.receive()).toMatchObject({
      event: 'pusher:error',
      data: { message: 'Invalid fanfare:away message: data.away must be true or false' },
    });
  });

  it('sends the event once to one channel, and asks the users in it', async () => {
    for (const user of ['kim', 'lea']) await registers(server, user);
    await using kim = await userConnects(server, 'kim');
    await using lea = await userConnects(server, 'lea');
    await using stranger = await RawClient.connect(server);
    for (const client of [kim, stranger]) {
      await client.subscribe('private-room', channelAuth(client.socketId, 'private-room'));
    }
    const live = { channel: 'private-room', data: 'a text' };
    const id = await publishesLive(server, ['kim', 'lea'], { live });
    await answers(kim);
    expect(await stranger.receive()).toEqual({
      event: 'new-message',
      channel: 'private-room',
      data: 'a text',
    });
    expect(await planned(server, id)).toMatchObject({
      live: { reached: 1, absent: 1, connections: 1 },
      platforms: { fcm: { planned: 1 } },
    });
    await stranger.receiveNothing();
    await lea.receiveNothing();
  });

  it('asks the members of a presence channel too, who need not sign in', async () => {
    for (const user of ['nia', 'oli']) await registers(server, user);
    await using nia = await RawClient.connect(server, { path: NATIVE });
    const data = JSON.stringify({ user_id: 'nia' });
    const auth = channelAuth(nia.socketId, 'presence-live', data);
    await nia.subscribe('presence-live', auth);
    const live = { channel: 'presence-live' };
    const id = await publishesLive(server, ['nia', 'oli'], { live });
    await answers(nia);
    expect(await planned(server, id)).toMatchObject({
      live: { reached: 1, absent: 1, connections: 1 },
      platforms: { fcm: { planned: 1 } },
    });

    nia.send({ event: 'pusher:unsubscribe', data: { channel: 'presence-live' } });
    await nia.subscribe('news');
    const after = await publishesLive(server, ['nia'], { live });
    expect(await planned(server, after)).toMatchObject({ live: { absent: 1, connections: 0 } });
  });

  it('asks once however often it is repeated with its key', async () => {
    await using mia = await userConnects(server, 'mia');
    const body = { users: ['mia'], live: EVENT, web: WEB };
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const [first, second] = [
      await published(server, body, headers),
      await published(server, body, headers),
    ];
    expect(second).toBe(first);
    await answers(mia);
    await planned(server, first);
    await mia.receiveNothing();
  });

  it('asks when it is due', async () => {
    await using noa = await userConnects(server, 'noa');
    await registers(server, 'noa');
    const sendAt = new Date(Date.now() + 1_000).toISOString();
    const id = await publishesLive(server, ['noa'], { sendAt });
    expect(await statusOf(server, id)).toMatchObject({ live: { state: 'scheduled' } });
    await answers(noa);
    expect(await planned(server, id)).toMatchObject({
      live: { state: 'done', reached: 1 },
      platforms: { fcm: { planned: 0 } },
    });
  });

  it('notifies nobody if it is cancelled while its users are asked', async () => {
    await registers(server, 'ole');
    await using ole = await userConnects(server, 'ole');
    const id = await publishesLive(server, ['ole'], { live: { waitSeconds: 60 } });
    const ping = await hearsAsk(ole);
    await ask(server, 'DELETE', publishes(`/${id}`), { headers: BACKEND });
    ole.writeBytes(clientFrame(10, ping));
    const status = await eventually(
      () => statusOf(server, id),
      ({ live }) => 'state' in live && live.state === 'done',
    );
    expect(status).toMatchObject({ state: 'cancelled', platforms: { fcm: { planned: 0 } } });
  });

  it('is explained for the devices of its users', async () => {
    const device = await registers(server, 'pam');
    await using pam = await userConnects(server, 'pam');
    const id = await publishesLive(server, ['pam'], { live: { waitSeconds: 60 } });
    await answers(pam);
    await planned(server, id);
    const path = publishes(`/${id}/devices/${device}`);
    const { json } = await ask(server, 'GET', path, { headers: BACKEND });
    expect((json as { events: readonly { what: string }[] }).events.at(-1)).toMatchObject({
      what: 'live-reached',
      detail: expect.stringMatching(/^The user got it in the app: its connection answered after /),
    });
  });
});
