import { describe, expect, it } from 'bun:test';
import type { App } from '../app.ts';
import {
  appWith,
  channelName,
  hubWith,
  LateEngine,
  sessionOf,
  settled,
  VECTOR,
} from '../hub.fixture.ts';
import { sign } from '../signatures/signature.ts';
import { channelsToLeave, disconnect, leaveChannel, subscribe, unsubscribe } from './subscribe.ts';

/** Subscriptions on an engine that takes its time, as one in a cluster does. */

const SUCCEEDED = 'pusher_internal:subscription_succeeded';
const TOPIC = 'app/presence-x';

function stage(app: App = appWith()) {
  const engine = new LateEngine();
  const hub = hubWith(engine);
  const session = sessionOf(app);
  const { peer } = session;
  return {
    engine,
    hub,
    session,
    peer,
    subscribes(channel: string, userId?: string) {
      const channelData = userId === undefined ? undefined : JSON.stringify({ user_id: userId });
      const text = [session.socketId, channel, ...(channelData === undefined ? [] : [channelData])];
      const auth = `${VECTOR.key}:${sign(VECTOR.secret, text.join(':'))}`;
      void subscribe(hub, session, { type: 'subscribe', channel, auth, channelData });
    },
    unsubscribes: (channel: string) => unsubscribe(hub, session, channel),
    disconnects: () => {
      void disconnect(hub, session);
      for (const one of channelsToLeave(session, 100)) void leaveChannel(hub, session, one);
    },
    /** Fails unless nothing is left of the connection, and nothing is waited for. */
    async isGone() {
      await settled();
      expect(engine.questions).toEqual([]);
      expect(session.subscriptionCount).toBe(0);
      expect([...hub.audience.members.values()].flatMap((peers) => [...peers])).toEqual([]);
    },
  };
}

describe('a subscription that the authority has not answered yet', () => {
  it('is neither confirmed nor delivered to', async () => {
    const { engine, hub, peer, subscribes } = stage();

    subscribes('x');
    await settled();

    expect(peer.received()).toEqual([]);
    expect(hub.audience.members.get('app/x' as never)).toBeUndefined();
    await engine.answers('join x');
    expect(peer.received()).toEqual([SUCCEEDED]);
  });

  it('prevents a second one', async () => {
    const { engine, peer, subscribes } = stage();

    subscribes('x');
    subscribes('x');

    expect(JSON.parse(peer.frames[0] ?? '').data.message).toBe(
      'Existing subscription to channel x',
    );
    peer.received();
    await engine.answers('join x');
    expect(peer.received()).toEqual([SUCCEEDED]);
    expect(engine.calls).toEqual(['join x']);
  });

  it('counts for the limit of the connection', async () => {
    const app = appWith();
    const { engine, peer, subscribes } = stage({
      ...app,
      limits: { ...app.limits, channelsPerConnection: 1 },
    });

    subscribes('x');
    subscribes('y');

    expect(peer.received()).toEqual(['pusher:error', 'pusher:subscription_error']);
    expect(engine.calls).toEqual(['join x']);
  });

  it('cannot be given up, and is confirmed after all', async () => {
    const { engine, peer, subscribes, unsubscribes, disconnects, isGone } = stage();

    subscribes('x');
    void unsubscribes('x');

    expect(JSON.parse(peer.frames[0] ?? '').data.message).toBe(
      'No current subscription to channel x, or subscription in progress',
    );
    peer.received();
    await engine.answers('join x');
    expect(peer.received()).toEqual([SUCCEEDED]);
    disconnects();
    await engine.answers('leave x 0');
    await isGone();
  });

  it('leaves exactly once when the client disconnects meanwhile', async () => {
    const { engine, hub, peer, subscribes, disconnects, isGone } = stage();

    subscribes('presence-x', '1');
    disconnects();
    disconnects();
    await settled();
    expect(engine.calls).toEqual(['join presence-x 1']);
    await engine.answers('join presence-x 1');
    await engine.answers('leave presence-x 0 1');

    await isGone();
    expect(engine.calls).toEqual(['join presence-x 1', 'leave presence-x 0 1']);
    expect(peer.received()).toEqual([]);
    expect(hub.audience.members.size).toBe(0);
  });

  it('leaves nothing when the channel turns out to be full', async () => {
    const { engine, peer, subscribes, disconnects, isGone } = stage();

    subscribes('presence-x', '1');
    await engine.isFullFor('join presence-x 1');
    await engine.answers('leave presence-x 0 1');
    expect(peer.received()).toEqual(['pusher:error', 'pusher:subscription_error']);
    await isGone();

    // There is room for it later, and no room again, but by then it is gone.
    subscribes('presence-x', '1');
    disconnects();
    await engine.isFullFor('join presence-x 1');
    await engine.answers('leave presence-x 0 1');
    await isGone();
  });
});

describe('a presence subscription', () => {
  it('is confirmed with the members, and gets no event about itself', async () => {
    const { engine, hub, peer, subscribes } = stage();
    subscribes('presence-x', '1');
    await engine.answers('join presence-x 1');
    expect(JSON.parse(peer.frames[0] ?? '').data).toContain('"count":1');
    // The others were notified before it joined the audience.
    expect(hub.audience.sent.map(({ topic, frame }) => [topic, JSON.parse(frame).event])).toEqual([
      [TOPIC, 'pusher_internal:member_added'],
    ]);
    expect(peer.received()).toEqual([SUCCEEDED]);
  });

  it('reports that its user has left only with the last connection', async () => {
    const { engine, hub, subscribes, unsubscribes } = stage();
    const again = sessionOf(appWith(), '1.2');
    subscribes('presence-x', '1');
    await engine.answers('join presence-x 1');
    const channelData = '{"user_id":"1"}';
    const auth = `${VECTOR.key}:${sign(VECTOR.secret, `1.2:presence-x:${channelData}`)}`;
    const message = { type: 'subscribe', channel: 'presence-x', auth, channelData } as const;
    void subscribe(hub, again, message);
    await engine.answers('join presence-x 1');
    void unsubscribes('presence-x');
    await engine.answers('leave presence-x 1');
    void unsubscribe(hub, again, 'presence-x');
    await engine.answers('leave presence-x 0 1');
  });
});

describe('a cache channel', () => {
  it('sends its last event after the confirmation', async () => {
    const { engine, hub, peer, subscribes } = stage();
    hub.memory.publish({
      app: appWith(),
      channel: channelName('cache-x').text,
      makeFrame: () => '',
      cause: 'backend',
      remember: { name: 'last', data: 'd' },
    });
    subscribes('cache-x');
    await engine.answers('join cache-x');
    expect(peer.frames.slice(1)).toEqual(['{"event":"last","channel":"cache-x","data":"d"}']);
    expect(peer.received()).toEqual([SUCCEEDED, 'last']);
  });

  it('sends a cache miss after the confirmation', async () => {
    const { engine, peer, subscribes } = stage();
    subscribes('presence-cache-x', '1');
    await engine.answers('join presence-cache-x 1');
    expect(peer.received()).toEqual([SUCCEEDED, 'pusher:cache_miss']);
  });
});

describe('a subscription that was given up', () => {
  it('takes effect at once, however late the authority answers', async () => {
    const { engine, hub, session, peer, subscribes, unsubscribes, disconnects, isGone } = stage();
    subscribes('x');
    await engine.answers('join x');
    peer.received();

    void unsubscribes('x');
    expect(session.subscriptionCount).toBe(0);
    expect([...(hub.audience.members.get(`app/${channelName('x').text}`) ?? [])]).toEqual([]);
    void unsubscribes('x');
    expect(peer.received()).toEqual(['pusher:error']);
    disconnects();
    await engine.answers('leave x 0');

    await isGone();
    expect(engine.calls).toEqual(['join x', 'leave x 0']);
  });

  it('can be repeated before the authority has answered', async () => {
    const { engine, peer, subscribes, unsubscribes, disconnects, isGone } = stage();
    subscribes('x');
    await engine.answers('join x');

    void unsubscribes('x');
    subscribes('x');
    // In the order in which they were asked, or the authority would keep a state that is over.
    expect(engine.calls).toEqual(['join x', 'leave x 0', 'join x']);
    await engine.answers('leave x 0');
    await engine.answers('join x');

    expect(peer.received()).toEqual([SUCCEEDED, SUCCEEDED]);
    disconnects();
    await engine.answers('leave x 0');
    await isGone();
  });
});

describe('a client that disconnects', () => {
  it('leaves each of its channels once, including those it was still joining', async () => {
    const { engine, subscribes, disconnects, isGone } = stage();
    for (const channel of ['a', 'b', 'c']) subscribes(channel);
    await engine.answers('join a');
    await engine.answers('join b');

    disconnects();
    await engine.answers('join c');
    for (const channel of ['a', 'b', 'c']) await engine.answers(`leave ${channel} 0`);

    await isGone();
    expect(engine.calls.toSorted()).toEqual(
      ['a', 'b', 'c'].flatMap((channel) => [`join ${channel}`, `leave ${channel} 0`]).toSorted(),
    );
  });
});

describe('a refusal', () => {
  it('is logged with the text that the client got, and does not ask the authority', () => {
    const { engine, hub, peer, session } = stage();

    void subscribe(hub, session, {
      type: 'subscribe',
      channel: 'private-x',
      auth: 'nobody:x',
      channelData: undefined,
    });

    expect(peer.received()).toEqual(['pusher:error', 'pusher:subscription_error']);
    expect(engine.calls).toEqual([]);
    expect(hub.logged).toEqual([
      {
        level: 'info',
        message: 'Subscription refused',
        fields: {
          app: 'app',
          connection: '1.1',
          channel: 'private-x',
          why: "Invalid key in subscription auth data: 'nobody'",
        },
      },
    ]);
  });
});

describe('a member whose last connection ends', () => {
  const rule = { channels: 'presence-x', members: null, shown: null, named: 0 };
  const presence = [{ ...rule, graceSeconds: 7 }];

  async function entered() {
    const all = stage(appWith({ presence }));
    all.subscribes('presence-x', 'ann');
    await settled();
    await all.engine.answers('join presence-x ann');
    return all;
  }

  it('stays, because the client may come back', async () => {
    const { hub, engine, disconnects } = await entered();
    disconnects();
    await settled();
    await engine.answers('leave presence-x 0 ann');
    expect(hub.memory.counts(appWith({ presence }), channelName('presence-x')).users).toBe(1);
    hub.clock.advance(7000);
    expect(hub.memory.counts(appWith({ presence }), channelName('presence-x')).users).toBe(0);
  });

  it('does not stay if it has unsubscribed, or if the end of its connection says that the user is gone', async () => {
    for (const isUnsubscribed of [true, false]) {
      const { hub, engine, session, disconnects, unsubscribes } = await entered();
      if (!isUnsubscribed) session.endForGood();
      if (isUnsubscribed) void unsubscribes('presence-x');
      else disconnects();
      await settled();
      await engine.answers('leave presence-x 0 ann');
      expect(hub.memory.counts(appWith({ presence }), channelName('presence-x')).users).toBe(0);
    }
  });

  it('does not stay beyond the limit of members that do', async () => {
    const { hub, engine, disconnects } = await entered();
    const app = appWith({ presence });
    while (hub.stays.take(app, 60));
    disconnects();
    await settled();
    await engine.answers('leave presence-x 0 ann');
    expect(hub.memory.counts(app, channelName('presence-x')).users).toBe(0);
  });
});
