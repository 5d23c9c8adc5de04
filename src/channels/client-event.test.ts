import { describe, expect, it } from 'bun:test';
import { relay } from './client-event.ts';
import {
  appWith,
  channelName,
  type FakeHub,
  hubWith,
  sessionOf,
  settled,
  subscriptionTo,
} from './hub.fixture.ts';
import type { Session, Subscription } from './subscribing/session.ts';

function send(hub: FakeHub, session: Session, channel: string, data = '"d"'): void {
  void relay(hub, session, {
    type: 'client-event',
    event: 'client-x',
    channel,
    dataLiteral: data,
    dataBytes: data.length - 2,
  });
}

/** A connection that is in one channel. */
function speakerIn(channel: string, state: Subscription['state'] = 'joined', app = appWith()) {
  const session = sessionOf(app);
  const presence = channel.startsWith('presence-');
  const member = presence ? { userId: 'u', userInfo: '{"a":1}' } : undefined;
  session.add(subscriptionTo(app, channel, member, state));
  return session;
}

describe('a client event', () => {
  it('goes to everybody in the channel but its sender', () => {
    const hub = hubWith();
    const session = speakerIn('private-x');

    send(hub, session, 'private-x');

    expect<unknown>(hub.audience.sent).toEqual([
      {
        topic: 'app/private-x',
        frame: '{"event":"client-x","channel":"private-x","data":"d"}',
        except: session.socketId,
      },
    ]);
    expect(hub.audience.sentSoon).toEqual([]);
    expect(session.peer.received()).toEqual([]);
  });

  it.each([
    ['presence-x', true],
    ['presence-cache-x', true],
    ['private-x', true],
    ['private-cache-x', true],
    ['private-encrypted-x', true],
    ['x', false],
    ['cache-x', false],
    ['#server-to-user-x', false],
  ])('is accepted in channels that the backend lets clients into: %s', (channel, taken) => {
    const hub = hubWith();
    const session = speakerIn(channel);

    send(hub, session, channel);

    expect(hub.audience.sent).toHaveLength(taken ? 1 : 0);
    expect(session.peer.received()).toEqual(taken ? [] : ['pusher:error']);
  });

  it('is not accepted before the subscription is confirmed', () => {
    const hub = hubWith();
    const session = speakerIn('private-x', 'joining');

    send(hub, session, 'private-x');

    expect(hub.audience.sent).toEqual([]);
    expect(JSON.parse(session.peer.frames[0] ?? '').data.message).toBe(
      'Cannot broadcast client event (connection not subscribed to channel private-x)',
    );
  });

  it('is counted per connection, and not at all if it is refused for another reason', () => {
    const hub = hubWith();
    const session = speakerIn('private-x');
    const other = speakerIn('private-x');

    for (let count = 0; count < 20; count++) send(hub, session, 'private-elsewhere');
    expect(session.peer.received()).toHaveLength(20);
    for (let count = 0; count < 11; count++) send(hub, session, 'private-x');
    expect(hub.audience.sent).toHaveLength(10);
    expect(JSON.parse(session.peer.frames[0] ?? '').data).toEqual({
      code: 4301,
      message: 'Client event rejected due to rate limit',
    });
    send(hub, other, 'private-x');
    expect(hub.audience.sent).toHaveLength(11);

    hub.clock.advance(100);
    send(hub, session, 'private-x');
    send(hub, session, 'private-x');
    expect(hub.audience.sent).toHaveLength(12);
  });

  it('is refused with 4301 while the engine fails, and reported to no webhook', async () => {
    const hub = hubWith();
    const events = ['client_event'] as const;
    const webhooks = [{ url: 'http://localhost/', events, batching: true }];
    const session = speakerIn('private-x', 'joined', appWith({ webhooks }));
    hub.memory.publish = () => Promise.reject(new Error('no answer')) as never;

    send(hub, session, 'private-x');
    await settled();

    expect(JSON.parse(session.peer.frames[0] ?? '')).toEqual({
      event: 'pusher:error',
      data: {
        code: 4301,
        message: 'Client event rejected: the server cannot send it now, try again later',
      },
    });
    expect(hub.reported).toEqual([]);
    expect(hub.logged.map(({ message }) => message)).toEqual([
      'Client event not sent: the engine cannot answer',
    ]);
  });

  it('is never remembered', () => {
    const hub = hubWith();

    send(hub, speakerIn('private-cache-x'), 'private-cache-x');

    expect(hub.memory.cached(appWith(), channelName('private-cache-x'))).toBeUndefined();
  });
});
