import { describe, expect, it } from 'bun:test';
import { answer } from '../answer.ts';
import type { App } from '../app.ts';
import { appWith, channelName, hubWith, sessionOf, VECTOR } from '../hub.fixture.ts';
import { publish } from '../publish.ts';
import { sign } from '../signatures/signature.ts';
import { unsubscribe } from '../subscribing/subscribe.ts';
import { readClientMessage } from '../wire.ts';

/** What counts as a message of the daily quota. Source: Channels protocol, precedence table and §14.4. */

function stage(settings: Partial<App> = {}) {
  const app = appWith({ subscriptionCounts: true, watchlists: true, ...settings });
  const hub = hubWith();
  let charged = { backend: 0, clients: 0 };
  const session = (id: string) => {
    const one = sessionOf(app, id);
    const send = (event: string, data: object) =>
      answer(hub, one, readClientMessage(JSON.stringify({ event, data })));
    return {
      session: one,
      send,
      received: () => one.peer.received(),
      subscribes(channel: string, userId?: string) {
        const data = userId === undefined ? undefined : JSON.stringify({ user_id: userId });
        const text = [one.socketId, channel, ...(data === undefined ? [] : [data])].join(':');
        const auth = `${VECTOR.key}:${sign(VECTOR.secret, text)}`;
        void send('pusher:subscribe', { channel, auth, channel_data: data });
      },
    };
  };
  return {
    app,
    hub,
    session,
    /** The messages that were counted since this was last asked, by who caused them. */
    charges: () => {
      const before = charged;
      charged = { ...hub.usage.todayOf(app) };
      return {
        backend: charged.backend - before.backend,
        clients: charged.clients - before.clients,
      };
    },
    publishes: (channel: string) =>
      publish(hub, {
        app,
        channel: channelName(channel),
        name: 'event',
        data: 'data',
        except: undefined,
      }),
  };
}

describe('one message is counted', () => {
  it('for each connection that an event is delivered to', () => {
    const { session, charges, publishes } = stage();
    for (const id of ['1.1', '1.2', '1.3']) session(id).subscribes('news');
    charges();
    void publishes('news');
    void publishes('empty');
    expect(charges()).toEqual({ backend: 3, clients: 0 });
  });

  it('for each connection that a client event is passed on to', () => {
    const { hub, session, charges } = stage();
    const [ann, bob] = [session('1.1'), session('1.2')];
    for (const one of [ann, bob]) one.subscribes('private-x');
    charges();
    const event = { event: 'client-e', channel: 'private-x', data: 1 };
    void answer(hub, ann.session, readClientMessage(JSON.stringify(event)));
    // The double of the audience does not leave out the sender.
    expect(charges()).toEqual({ backend: 0, clients: 2 });
  });

  it('for each member who is notified of another joining or leaving', () => {
    const { hub, session, charges } = stage();
    session('1.1').subscribes('presence-x', 'ann');
    expect(charges()).toEqual({ backend: 0, clients: 0 });
    const bob = session('1.2');
    bob.subscribes('presence-x', 'bob');
    expect(charges()).toEqual({ backend: 0, clients: 1 });
    void unsubscribe(hub, bob.session, 'presence-x');
    expect(charges()).toEqual({ backend: 0, clients: 1 });
  });

  it('for the event that a cache channel begins with, and not for a miss', () => {
    const { session, charges, publishes } = stage();
    const [ann, bob] = [session('1.1'), session('1.2')];
    ann.subscribes('cache-x');
    expect(charges()).toEqual({ backend: 0, clients: 0 });
    void publishes('cache-x');
    charges();
    bob.subscribes('cache-x');
    expect(bob.received()).toContain('event');
    expect(charges()).toEqual({ backend: 0, clients: 1 });
  });

  it('for each webhook event, however many endpoints want it', () => {
    const endpoint = { events: ['channel_occupied'] as const, batching: true };
    const { session, charges } = stage({
      webhooks: [
        { ...endpoint, url: 'http://a/' },
        { ...endpoint, url: 'http://b/' },
      ],
    });
    session('1.1').subscribes('news');
    expect(charges()).toEqual({ backend: 0, clients: 1 });
  });
});

it('pings, subscriptions, sign-ins, watchlists, counts and refusals are not counted', () => {
  const { hub, session, charges } = stage();
  const ann = session('1.1');
  ann.subscribes('news');
  session('1.2').subscribes('news');
  void ann.send('pusher:ping', {});
  void ann.send('pusher:subscribe', { channel: 'private-x', auth: 'forged' });
  const user_data = '{"id":"ann","watchlist":["bob"]}';
  const auth = `${VECTOR.key}:${sign(VECTOR.secret, `1.1::user::${user_data}`)}`;
  void ann.send('pusher:signin', { auth, user_data });
  void unsubscribe(hub, ann.session, 'news');
  expect(new Set(ann.received())).toEqual(
    new Set([
      'pusher_internal:subscription_succeeded',
      'pusher_internal:subscription_count',
      'pusher:pong',
      'pusher:error',
      'pusher:subscription_error',
      'pusher:signin_success',
      'pusher_internal:watchlist_events',
    ]),
  );
  expect(charges()).toEqual({ backend: 0, clients: 0 });
});
