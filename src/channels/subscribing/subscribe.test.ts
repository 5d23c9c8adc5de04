import { describe, expect, it } from 'bun:test';
import type { App } from '../app.ts';
import {
  appWith,
  channelName,
  hubWith,
  LateEngine,
  sessionOf,
  settled,
  transition,
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
      for (const one of channelsToLeave(session)) void leaveChannel(hub, session, one);
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

describe('a subscription that the roster has not answered yet', () => {
  it('is neither confirmed nor delivered to', async () => {
    const { engine, hub, peer, subscribes } = stage();

    subscribes('x');
    await settled();

    expect(peer.received()).toEqual([]);
    expect(hub.audience.members.get('app/x' as never)).toBeUndefined();
    await engine.answers('join x', transition({ occupied: true }));
    expect(peer.received()).toEqual([SUCCEEDED]);
  });

  it('stands in the way of a second one', async () => {
    const { engine, peer, subscribes } = stage();

    subscribes('x');
    subscribes('x');

    expect(JSON.parse(peer.frames[0] ?? '').data.message).toBe(
      'Existing subscription to channel x',
    );
    peer.received();
    await engine.answers('join x', transition({ occupied: true }));
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
    await engine.answers('join x', transition({ occupied: true }));
    expect(peer.received()).toEqual([SUCCEEDED]);
    disconnects();
    await engine.answers('leave x', transition({ vacated: true }));
    await isGone();
  });

  it('leaves the roster exactly once when the client disconnects meanwhile', async () => {
    const { engine, hub, peer, subscribes, disconnects, isGone } = stage();

    subscribes('presence-x', '1');
    disconnects();
    disconnects();
    await settled();
    expect(engine.calls).toEqual(['join presence-x 1']);
    await engine.answers('join presence-x 1', transition({ occupied: true, memberAdded: true }));
    await engine.answers('leave presence-x 1', transition({ vacated: true, memberRemoved: true }));

    await isGone();
    expect(engine.calls).toEqual(['join presence-x 1', 'leave presence-x 1']);
    expect(peer.received()).toEqual([]);
    expect(hub.audience.members.size).toBe(0);
  });

  it('leaves nothing when the channel turns out to be full', async () => {
    const { engine, peer, subscribes, disconnects, isGone } = stage();

    subscribes('presence-x', '1');
    await engine.answers('join presence-x 1', 'full');
    expect(peer.received()).toEqual(['pusher:error', 'pusher:subscription_error']);
    await isGone();

    // There is room for it later, and no room again, but by then it is gone.
    subscribes('presence-x', '1');
    disconnects();
    await engine.answers('join presence-x 1', 'full');
    await isGone();
    expect(engine.calls).toEqual(['join presence-x 1', 'join presence-x 1']);
  });
});

describe('a presence subscription whose members have not been read yet', () => {
  async function joining() {
    const staged = stage();
    staged.subscribes('presence-x', '1');
    const { engine } = staged;
    await engine.answers('join presence-x 1', transition({ occupied: true, memberAdded: true }));
    expect(staged.peer.received()).toEqual([]);
    return staged;
  }

  it('is confirmed with the members when they are there', async () => {
    const { engine, hub, peer } = await joining();

    await engine.answers('members presence-x', [{ userId: '1', userInfo: undefined }]);

    expect(JSON.parse(peer.frames[0] ?? '').data).toContain('"count":1');
    // The others were notified before it joined the audience, so it got no event about itself.
    expect(hub.audience.sent.map(({ topic, frame }) => [topic, JSON.parse(frame).event])).toEqual([
      [TOPIC, 'pusher_internal:member_added'],
    ]);
    expect(peer.received()).toEqual([SUCCEEDED]);
  });

  it('is not confirmed when it was given up meanwhile', async () => {
    const { engine, peer, unsubscribes, isGone } = await joining();

    void unsubscribes('presence-x');
    await engine.answers('members presence-x', []);
    await engine.answers('leave presence-x 1', transition({ vacated: true }));

    expect(peer.received()).toEqual([]);
    await isGone();
  });

  it('is confirmed once when it was given up and taken up again meanwhile', async () => {
    const { engine, peer, subscribes, unsubscribes } = await joining();

    void unsubscribes('presence-x');
    subscribes('presence-x', '2');
    await engine.answers('members presence-x', []);
    await engine.answers('leave presence-x 1', transition({ vacated: true, memberRemoved: true }));
    await engine.answers('join presence-x 2', transition({ occupied: true, memberAdded: true }));
    await engine.answers('members presence-x', [{ userId: '2', userInfo: undefined }]);

    expect(peer.received()).toEqual([SUCCEEDED]);
  });

  it('leaves the roster exactly once when the client disconnects meanwhile', async () => {
    const { engine, peer, disconnects, isGone } = await joining();

    disconnects();
    await engine.answers('members presence-x', []);
    await engine.answers('leave presence-x 1', transition({ vacated: true }));
    disconnects();

    await isGone();
    expect(peer.received()).toEqual([]);
    expect(engine.calls.filter((call) => call.startsWith('leave'))).toHaveLength(1);
  });
});

describe('a cache channel whose event has not been read yet', () => {
  it('sends it after the confirmation', async () => {
    const { engine, peer, subscribes } = stage();
    subscribes('cache-x');
    await engine.answers('join cache-x', transition({ occupied: true }));
    expect(peer.received()).toEqual([SUCCEEDED]);

    await engine.answers('get app/cache-x', { name: 'last', data: 'd', expiresAt: 1 });

    expect(peer.frames).toEqual(['{"event":"last","channel":"cache-x","data":"d"}']);
  });

  it('says that there is none after the confirmation', async () => {
    const { engine, peer, subscribes } = stage();
    subscribes('presence-cache-x', '1');
    await engine.answers('join presence-cache-x 1', transition({ occupied: true }));
    await engine.answers('members presence-cache-x', []);

    await engine.answers('get app/presence-cache-x', undefined);

    expect(peer.received()).toEqual([SUCCEEDED, 'pusher:cache_miss']);
  });

  it('sends nothing to who gave it up meanwhile', async () => {
    const { engine, peer, subscribes, unsubscribes, isGone } = stage();
    subscribes('cache-x');
    await engine.answers('join cache-x', transition({ occupied: true }));
    peer.received();

    void unsubscribes('cache-x');
    await engine.answers('get app/cache-x', { name: 'last', data: 'd', expiresAt: 1 });
    await engine.answers('leave cache-x', transition({ vacated: true }));

    expect(peer.received()).toEqual([]);
    await isGone();
  });
});

describe('a subscription that was given up', () => {
  it('takes effect at once, however late the roster answers', async () => {
    const { engine, hub, session, peer, subscribes, unsubscribes, disconnects, isGone } = stage();
    subscribes('x');
    await engine.answers('join x', transition({ occupied: true }));
    peer.received();

    void unsubscribes('x');
    expect(session.subscriptionCount).toBe(0);
    expect([...(hub.audience.members.get(`app/${channelName('x').text}`) ?? [])]).toEqual([]);
    void unsubscribes('x');
    expect(peer.received()).toEqual(['pusher:error']);
    disconnects();
    await engine.answers('leave x', transition({ vacated: true }));

    await isGone();
    expect(engine.calls).toEqual(['join x', 'leave x']);
  });

  it('can be repeated before the roster has answered', async () => {
    const { engine, peer, subscribes, unsubscribes, disconnects, isGone } = stage();
    subscribes('x');
    await engine.answers('join x', transition({ occupied: true }));

    void unsubscribes('x');
    subscribes('x');
    // In the order in which they were asked, or the roster would count wrongly.
    expect(engine.calls).toEqual(['join x', 'leave x', 'join x']);
    await engine.answers('leave x', transition({ vacated: true }));
    await engine.answers('join x', transition({ occupied: true }));

    expect(peer.received()).toEqual([SUCCEEDED, SUCCEEDED]);
    disconnects();
    await engine.answers('leave x', transition({ vacated: true }));
    await isGone();
  });

  it('notifies the others if it was the last of its user, and only then', async () => {
    for (const memberRemoved of [true, false]) {
      const { engine, hub, subscribes, unsubscribes } = stage();
      subscribes('presence-x', '1');
      await engine.answers('join presence-x 1', transition());
      await engine.answers('members presence-x', []);

      void unsubscribes('presence-x');
      await engine.answers('leave presence-x 1', transition({ memberRemoved }));

      expect(hub.audience.sent.map(({ frame }) => JSON.parse(frame).event)).toEqual(
        memberRemoved ? ['pusher_internal:member_removed'] : [],
      );
    }
  });
});

describe('a client that disconnects', () => {
  it('leaves each of its channels once, including those it was still joining', async () => {
    const { engine, subscribes, disconnects, isGone } = stage();
    for (const channel of ['a', 'b', 'c']) subscribes(channel);
    await engine.answers('join a', transition({ occupied: true }));
    await engine.answers('join b', transition({ occupied: true }));

    disconnects();
    await engine.answers('join c', transition({ occupied: true }));
    for (const channel of ['a', 'b', 'c']) await engine.answers(`leave ${channel}`, transition());

    await isGone();
    expect(engine.calls.toSorted()).toEqual(
      ['a', 'b', 'c'].flatMap((channel) => [`join ${channel}`, `leave ${channel}`]).toSorted(),
    );
  });
});

describe('a refusal', () => {
  it('is logged with the text that the client got, and does not ask the roster', () => {
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
