import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin, makeApp } from '../../../../testing/clients/admin-api.ts';
import { PushRequests } from '../../../../testing/clients/push-requests.ts';
import { RawClient } from '../../../../testing/clients/raw-client.ts';
import { RawHttp } from '../../../../testing/clients/raw-http.ts';
import { channelAuth, trigger } from '../../../../testing/clients/sign.ts';
import { eventually } from '../../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../../testing/servers/fanfare.ts';
import { fresh } from '../../websocket/conversation.ts';
import { ask, BACKEND, INSTANCE, publishes, UNKNOWN } from '../exchange.ts';
import { answers, NATIVE, planned, registers, userConnects } from './live-users.ts';

/** Rules that make publishes of events; §4.7 of the specification of live publishes. */

const fcm = { notification: { title: '{{title}}' } };
const rule = (channels: string, more: object) => ({
  channels,
  events: ['alert'],
  instance: INSTANCE.id,
  fcm,
  perSecond: 1_000,
  ...more,
});

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: {
      clientEvents: true,
      pushRules: [
        rule('alerts-*', { interest: 'on-*' }),
        rule('private-room-*', { users: 'to', events: ['alert', 'client-alert'] }),
        rule('presence-room-*', { users: 'message.to' }),
        rule('slow', { interest: 'slow', perSecond: 1 }),
        rule('lost', { interest: 'lost', instance: UNKNOWN }),
        rule('small', { users: 'to', fcm: { data: { a: '{{a}}'.repeat(3) } } }),
      ],
    },
    config: {
      push: {
        host: '127.0.0.1',
        port: 0,
        instances: [
          { id: INSTANCE.id, secretKeys: [INSTANCE.secretKey], limits: { publishesPerSecond: 0 } },
        ],
      },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const requests = new PushRequests(INSTANCE);

/** Registers a device with an interest. Without a user, nobody knows whose it is. */
async function follows(interest: string, user?: string): Promise<string> {
  await using connection = await RawHttp.open({ port: server.pushPort });
  const registered = requests.registerFcm(crypto.randomUUID());
  const { id } = JSON.parse((await connection.request(registered)).body);
  await connection.request(requests.setInterests(id, [interest]));
  if (user !== undefined) await connection.request(requests.setUser(id, user));
  return id;
}

const send = (channel: string, data: object, more: object = {}) =>
  trigger(server, { name: 'alert', channel, data: JSON.stringify(data), ...more });

/** The ids of the publishes of an event, newest first. */
async function publishesOf(channel: string): Promise<readonly string[]> {
  const { json } = await admin(server, 'GET', `/instances/${INSTANCE.id}/publishes?limit=100`);
  const { publishes: listed } = json as { publishes: readonly { id: string }[] };
  const statuses = await Promise.all(listed.map(({ id }) => planned(server, id)));
  return listed.flatMap(({ id }, index) =>
    (statuses[index] as { rule?: { channel: string } }).rule?.channel === channel ? id : [],
  );
}

/** The publish of an event, once it is planned. */
async function publishOf(channel: string) {
  const [id = ''] = await eventually(
    () => publishesOf(channel),
    (ids) => ids.length > 0,
  );
  return planned(server, id);
}

/** Events that all servers have counted so far. */
async function counted(result: string): Promise<number> {
  const of = async (node: Fanfare) => {
    const { text } = await admin(node, 'GET', '//metrics');
    const series = `fanfare_push_rule_events_total{result="${result}"} `;
    const line = text.split('\n').find((one) => one.startsWith(series));
    return Number(line?.slice(series.length));
  };
  const counts = await Promise.all(server.nodes.map(of));
  return counts.reduce((sum, one) => sum + one, 0);
}

describe('a push rule with an interest', () => {
  it('notifies devices of that interest, but not those of users who got the event in the app', async () => {
    const name = fresh('x');
    const channel = `alerts-${name}`;
    const device = await follows(`on-${name}`, 'ann');
    for (const user of ['bob', undefined]) await follows(`on-${name}`, user);
    await follows('on-other', 'cid');
    await using ann = await userConnects(server, 'ann');
    await using bob = await userConnects(server, 'bob');
    await using stranger = await RawClient.connect(server);
    for (const client of [ann, stranger]) await client.subscribe(channel);
    await send(channel, { title: 'Fire' });
    await answers(ann);
    expect(await stranger.receive()).toMatchObject({ event: 'alert' });
    expect(await publishOf(channel)).toMatchObject({
      rule: { app: '3', channel, event: 'alert' },
      live: { state: 'done', users: 1, reached: 1, silent: 0, connections: 1 },
      // Bob's, who is not subscribed to the channel, and the one of nobody.
      platforms: { fcm: { planned: 2 } },
    });
    for (const client of [stranger, bob]) await client.receiveNothing();
    const [id] = await publishesOf(channel);
    const path = publishes(`/${id}/devices/${device}`);
    const explained = await ask(server, 'GET', path, { headers: BACKEND });
    expect(explained.json).toMatchObject({
      events: [
        { what: 'registered' },
        { detail: `A push rule of the app 3 made the publish of the event alert in ${channel}.` },
        { what: 'live-reached', advice: null },
      ],
    });
  });

  it('notifies all devices if nobody is subscribed to the channel, or nobody answers', async () => {
    const name = fresh('x');
    for (const user of ['dan', 'eve']) await follows(`on-${name}`, user);
    await send(`alerts-${name}`, { title: 'Fire' });
    expect(await publishOf(`alerts-${name}`)).toMatchObject({
      live: { state: 'done', users: 0 },
      platforms: { fcm: { planned: 2 } },
    });
  });
});

describe('a push rule with users', () => {
  it('notifies those users whom the data names and who did not get the event in the app', async () => {
    const channel = fresh('private-room-');
    for (const user of ['fay', 'gus']) await registers(server, user);
    await using fay = await userConnects(server, 'fay');
    await fay.subscribe(channel, channelAuth(fay.socketId, channel));
    await send(channel, { title: 'Fire', to: ['fay', 'gus'] });
    await answers(fay);
    await fay.receiveNothing();
    expect(await publishOf(channel)).toMatchObject({
      live: { users: 2, reached: 1, absent: 1 },
      platforms: { fcm: { planned: 1 } },
    });
  });

  it('asks members of presence channels, who need not sign in', async () => {
    const channel = fresh('presence-room-');
    await registers(server, 'hal');
    await using hal = await RawClient.connect(server, { path: NATIVE });
    const auth = channelAuth(hal.socketId, channel, JSON.stringify({ user_id: 'hal' }));
    await hal.subscribe(channel, auth);
    await send(channel, { title: 1, message: { to: 'hal' } });
    await answers(hal);
    expect(await publishOf(channel)).toMatchObject({
      live: { users: 1, reached: 1 },
      platforms: { fcm: { planned: 0 } },
    });
  });

  it('accepts client events that it names', async () => {
    const channel = fresh('private-room-');
    await registers(server, 'ina');
    await using client = await RawClient.connect(server);
    await client.subscribe(channel, channelAuth(client.socketId, channel));
    const data = { title: 'Hi', to: 'ina' };
    client.send({ event: 'client-other', channel, data: JSON.stringify(data) });
    client.send({ event: 'client-alert', channel, data: JSON.stringify(data) });
    expect(await publishOf(channel)).toMatchObject({
      rule: { event: 'client-alert' },
      platforms: { fcm: { planned: 1 } },
    });
    expect(await publishesOf(channel)).toHaveLength(1);
  });
});

describe('a push rule', () => {
  it('publishes an event once that is repeated with its key', async () => {
    const channel = fresh('alerts-');
    const more = { idempotency_key: fresh('k') };
    for (let n = 0; n < 3; n++) await send(channel, { title: 'Fire' }, more);
    await send(channel, { title: 'Fire' });
    await eventually(
      () => publishesOf(channel),
      (ids) => ids.length === 2,
    );
    const last = fresh('alerts-');
    await send(last, { title: 'Fire' });
    await publishOf(last);
    expect(await publishesOf(channel)).toHaveLength(2);
  });

  it.each([
    ['unfit', 'alerts-unfit', { no: 1 }, /the field title of the data is no text or number/],
    ['unfit', 'private-room-unfit', { title: '' }, /the field to of the data has no ids of users/],
    ['refused', 'private-room-many', { title: '', to: Array(1_001).fill('u') }, /1001 entries/],
    ['refused', 'lost', { title: '' }, /there is no push instance/],
  ])(
    'publishes nothing, counts it as %s and logs it once a minute: %s',
    async (result, channel, data, why) => {
      const before = await counted(result);
      const logged = server.logsNext(why);
      await send(channel, data);
      expect(JSON.parse(await logged)).toMatchObject({
        level: 'warn',
        message: 'A push rule did not publish an event',
        app: '3',
        channel,
      });
      expect(await counted(result)).toBe(before + 1);
      expect(await publishesOf(channel)).toEqual([]);
    },
  );

  it('leaves out events over its rate, and counts them', async () => {
    for (let n = 0; n < 20; n++) await send('slow', { title: `${n}` });
    await eventually(
      () => counted('over-rate'),
      (events) => events >= 15,
    );
    expect((await publishesOf('slow')).length).toBeWithin(1, 5);
  });

  it('ignores the event of a publish with a live part, other events, and other channels', async () => {
    const before = await counted('published');
    await trigger(server, { name: 'other', channel: 'alerts-x', data: '{"title":"a"}' });
    await send('other-x', { title: 'a' });
    const last = fresh('alerts-');
    await send(last, { title: 'Fire' });
    await publishOf(last);
    expect(await counted('published')).toBe(before + 1);
  });

  it('is refused by the admin API if its payload is wrong for every event', async () => {
    const app = await makeApp(server);
    const wrong = rule('b', { interest: 'b', fcm: { ...fcm, priority: 'soon' } });
    const body = { pushRules: [rule('a', { interest: 'a' }), wrong] };
    for (const [method, path] of [
      ['POST', '/apps'],
      ['PATCH', `/apps/${app.id}`],
      ['PATCH', `/apps/${app.id}?dry-run`],
    ] as const) {
      expect(await admin(server, method, path, { body })).toMatchObject({
        status: 400,
        json: {
          field: 'pushRules[1].fcm.priority',
          error: expect.stringMatching(/^pushRules\[1\]\.fcm\.priority: must be /),
        },
      });
    }
    const { json } = await admin(server, 'GET', `/apps/${app.id}`);
    expect(json).toMatchObject({ pushRules: [] });
  });
});
