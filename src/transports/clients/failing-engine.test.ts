import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { appWith, channelName, FakeClock, hubWith, VECTOR } from '../../channels/hub.fixture.ts';
import { sign } from '../../channels/signatures/signature.ts';
import { requestTarget } from '../request-target.ts';
import { stageOf } from './clients.fixture.ts';
import { FakeConnection } from './connection.fixture.ts';
import { type EngineMode, FailingEngine } from './failing-engine.fixture.ts';

const ROOM = 'presence-cache-room';

function stage(mode: EngineMode) {
  const app = appWith({ watchlists: true });
  const clock = { now: () => Date.now() };
  const monotonic = new FakeClock();
  const fake = hubWith();
  const engine = new FailingEngine(mode, fake.memory);
  const hub = { ...fake, clock, authority: engine.authority };
  const { clients, api } = stageOf({
    hub,
    apps: { byId: () => app, byKey: () => app },
    monotonic,
  });

  const connect = (id: string, userId: string) => {
    const connection = new FakeConnection({ id, app });
    connection.onClose = () => void clients.closed(connection);
    expect(clients.makeRoomFor(connection)).toBeUndefined();
    clients.open(connection);
    const send = (event: string, data: object, channel?: string) => {
      if (connection.isOpen) {
        clients.received(connection, JSON.stringify({ event, data, channel }));
      }
    };
    const signed = (text: string) => `${VECTOR.key}:${sign(VECTOR.secret, `${id}:${text}`)}`;
    const channelData = JSON.stringify({ user_id: userId });
    const userData = JSON.stringify({ id: userId, watchlist: ['bob'] });
    return {
      connection,
      signsIn: () =>
        send('pusher:signin', { auth: signed(`:user::${userData}`), user_data: userData }),
      entersRoom: () =>
        send('pusher:subscribe', {
          channel: ROOM,
          auth: signed(`${ROOM}:${channelData}`),
          channel_data: channelData,
        }),
      subscribes: (channel: string) => send('pusher:subscribe', { channel }),
      unsubscribes: (channel: string) => send('pusher:unsubscribe', { channel }),
      waves: () => send('client-wave', {}, ROOM),
      pings: () => send('pusher:ping', {}),
      leaves: () => connection.terminate(),
      /** The events it got since the last call. */
      received: () =>
        connection.sent
          .splice(0)
          .map((frame) => (frame.startsWith('{') ? JSON.parse(frame).event : frame)),
    };
  };
  const call = async (method: 'GET' | 'POST', path: string, query = {}, body?: string) => {
    const signed = { key: VECTOR.key, secret: VECTOR.secret, query };
    const target = signedTarget(
      method,
      `/apps/${app.id}${path}`,
      body === undefined ? signed : { ...signed, body },
    );
    const url = `http://localhost${target}`;
    const request = new Request(url, body === undefined ? { method } : { method, body });
    return await api.answer(request, requestTarget(url), () => '');
  };
  const triggers = (name: string) =>
    call(
      'POST',
      '/events',
      {},
      JSON.stringify({ name, channel: ROOM, data: 'x', info: 'user_count' }),
    );
  return { app, hub, engine, monotonic, clients, connect, call, triggers };
}

/** Lets engines answer, and the loop go round. */
async function answered(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await nextTurn();
}

/** A client and its backend use every call of the engines, while another client looks on. `failAt`: see `FailingEngine`. */
async function play(mode: EngineMode, failAt: number) {
  const given = stage(mode);
  const { engine, clients, connect, call, triggers } = given;
  const bob = connect('2.2', 'bob');
  bob.entersRoom();
  await answered();
  engine.failAt(failAt);
  const ann = connect('1.1', 'ann');
  const steps = [
    () => ann.signsIn(),
    () => ann.entersRoom(),
    () => ann.subscribes('news'),
    () => ann.waves(),
    () => ann.unsubscribes('news'),
    () => ann.pings(),
  ];
  for (const step of steps) {
    step();
    await answered();
  }
  const statuses: number[] = [];
  for (const response of [
    await triggers('first'),
    await call('GET', '/channels'),
    await call('GET', `/channels/${ROOM}`, { info: 'cache' }),
    await call('GET', `/channels/${ROOM}/users`),
    await call('GET', `/channels/${ROOM}/stats`),
    await call('POST', '/users/eve/terminate_connections', {}, '{}'),
  ]) {
    statuses.push(response.status);
  }
  ann.leaves();
  await answered();
  await clients.departures.done();
  const calls = [...engine.calls];
  engine.failAt(0);
  bob.received();
  expect((await triggers('last')).status).toBe(200);
  await answered();
  return { ...given, ann, bob, statuses, calls };
}

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => void process.off('unhandledRejection', note));

describe.each(['throws', 'rejects'] as const)('an engine that %s', (mode) => {
  it('may fail at any of its calls: nothing is left behind, and nobody else is disturbed', async () => {
    const { calls, statuses } = await play(mode, 0);
    expect(new Set(calls)).toEqual(
      new Set([
        ...['signIn', 'watch', 'unwatch', 'signOut', 'join', 'publish', 'leave'],
        ...['members', 'counts', 'cached', 'channelCountOf', 'channels', 'page', 'terminate'],
      ]),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    // The first publish is that of the client.
    const firstOfApi = calls.indexOf('publish', calls.indexOf('publish') + 1) + 1;
    const lastOfApi = calls.indexOf('terminate') + 1;

    for (let failAt = 1; failAt <= calls.length; failAt++) {
      const { app, hub, engine, ann, bob, statuses: got } = await play(mode, failAt);
      const scene = `${mode} at call ${failAt}, ${engine.failed}`;
      const isOfClient = failAt < firstOfApi;
      // The client's own publish is its event, which is refused without an end.
      const isClientEvent = isOfClient && engine.failed === 'publish';
      const isOfApi = failAt >= firstOfApi && failAt <= lastOfApi;

      const heard: string[] = ann.received();
      if (isClientEvent) expect(heard).toContain('pusher:error');
      const closed = heard.filter((text) => text.startsWith('closed'));
      expect([scene, closed]).toEqual([
        scene,
        isOfClient && !isClientEvent
          ? ['closed with 4100: Server cannot answer now, please reconnect later']
          : [],
      ]);
      const failures = got.filter((status) => status === 503).length;
      expect([scene, failures]).toEqual([scene, isOfApi ? 1 : 0]);
      expect([scene, bob.received(), bob.connection.isOpen]).toEqual([scene, ['last'], true]);
      const errors = hub.logged.filter(({ level }) => level === 'error');
      expect([scene, errors.length]).toEqual([scene, 1]);
      expect(JSON.stringify(errors)).toContain(`No answer to ${engine.failed}`);

      expect({
        scene,
        subscriptions: ann.connection.subscriptionCount,
        channels: hub.channels.size,
        subscribers: [...hub.audience.members].flatMap(([topic, peers]) =>
          [...peers].map(({ socketId }) => `${topic} ${socketId}`),
        ),
        room: hub.memory.counts(app, channelName(ROOM)),
        news: hub.memory.counts(app, channelName('news')),
        online: hub.memory.home.loopsWith(app, 'ann')?.total ?? 0,
        sessions: hub.sessions.of(app, 'ann').length,
      }).toEqual({
        scene,
        subscriptions: 0,
        channels: 1,
        subscribers: [`${app.id}/${ROOM} 2.2`],
        room: { subscriptions: 1, users: 1 },
        news: { subscriptions: 0, users: 0 },
        online: 0,
        sessions: 0,
      });
    }
    expect(unhandled).toEqual([]);
  }, 60_000);
});

describe('an engine that answers late', () => {
  it('does not change the order of the messages of a connection', async () => {
    const { connect } = stage('rejects');
    const [ann, bob] = [connect('1.1', 'ann'), connect('2.2', 'bob')];
    bob.entersRoom();
    await answered();
    ann.received();
    bob.received();
    ann.entersRoom();
    ann.waves();
    ann.subscribes('news');
    ann.unsubscribes('news');
    ann.subscribes('news');
    ann.unsubscribes('sport');
    expect(ann.received()).toEqual([]);
    await answered();
    await answered();
    const SUCCEEDED = 'pusher_internal:subscription_succeeded';
    // The cache miss follows the room; the error is about leaving `sport`.
    expect(ann.received().filter((event: string) => event !== 'client-wave')).toEqual([
      SUCCEEDED,
      'pusher:cache_miss',
      SUCCEEDED,
      SUCCEEDED,
      'pusher:error',
    ]);
    expect(bob.received()).toEqual(['pusher_internal:member_added', 'client-wave']);
  });

  it('does not keep a ping waiting for more than a second or two, and no ping overtakes a prompt answer', async () => {
    const { clients, monotonic, connect } = stage('rejects');
    const ann = connect('1.1', 'ann');
    ann.received();
    ann.subscribes('news');
    ann.pings();
    clients.checkPart(1);
    expect(ann.received()).toEqual([]);
    monotonic.advance(1000);
    clients.checkPart(1);
    expect(ann.received()).toEqual(['pusher:pong']);
    await answered();
    expect(ann.received()).toEqual(['pusher_internal:subscription_succeeded']);
  });

  it('does not answer what a connection sent before it ended', async () => {
    const { connect, engine } = stage('rejects');
    const ann = connect('1.1', 'ann');
    engine.failAt(0);
    ann.subscribes('news');
    ann.subscribes('sport');
    ann.leaves();
    await answered();
    expect(engine.calls).toEqual(['join', 'leave']);
  });
});
